/* A session, a text and a training step are planned by the very functions that run them, and then asked for their
 * sizes: nothing is estimated here. */
#include "engine/plan_look.h"

#include "base/word_list.h"

#include <stdio.h>
#include <string.h>

uint64_t hn_plan_weight_bytes(const hn_model *model, uint64_t *n_parameters)
{
    size_t n;
    uint64_t bytes = 0;
    const hn_arch_tensor *all = hn_model_tensors(model, &n);
    *n_parameters = 0;
    for (size_t i = 0; i < n; i++) {
        const nn_weight *w = hn_model_find(model, all[i].gguf);
        bool is_again = !w;
        for (size_t k = i; k-- > 0 && !is_again && all[k].layer == all[i].layer;)
            is_again = !strcmp(all[k].gguf, all[i].gguf); /* a tensor with several sources */
        bytes += is_again ? 0 : hn_type_bytes(&w->type);
        *n_parameters += is_again ? 0 : (uint64_t)hn_count(&w->type);
    }
    return bytes;
}

/* What is not in panels is read where it is mapped. */
static void put_weights(hn_plan_look *l, const hn_model *model, size_t packed)
{
    uint64_t unused;
    const uint64_t all = hn_plan_weight_bytes(model, &unused);
    l->memory[HN_PLAN_WEIGHTS] = all > packed ? all - packed : 0;
    l->memory[HN_PLAN_PACKED] = packed;
}

static void count_compiled(hn_plan_look *l, const hn_compiled *c)
{
    l->run = c->run;
    hn_fit_count(&l->run, 1, (const hn_executable *const[]){ c->x }, l->on);
}

static hn_status look_at_session(hn_plan_look *l, hn_heap *heap, const hn_model *model,
                                 const hn_run_spec *run, const hn_plan_asks *asks)
{
    hn_session_options o = { .n_ctx = asks->context, .max_batch = l->tokens, .keeps_all = asks->keeps_all,
                             .packs = !asks->mapped, .adapters = asks->adapters };
    HN_TRY(hn_session_cache_parse(asks->cache, &o.cache));
    HN_TRY(hn_session_plan(&l->session, heap, model, *run, &o));
    l->tokens = hn_session_batch(l->session);
    l->plan = hn_session_look(l->session);
    put_weights(l, model, hn_session_packed_bytes(l->session));
    count_compiled(l, hn_session_compiled(l->session));
    l->memory[HN_PLAN_CACHE] = hn_session_cache_bytes(l->session);
    l->memory[HN_PLAN_WORKSPACE] = hn_session_workspace(l->session);
    return HN_OK;
}

/* A model that embeds: a text at once, without a cache. */
static hn_status look_at_text(hn_plan_look *l, hn_heap *heap, const hn_model *model, const hn_run_spec *run,
                              const hn_plan_asks *asks)
{
    const int64_t longest = hn_hparams_longest(hn_model_hparams(model));
    if (longest > 0 && longest < l->tokens)
        l->tokens = longest;
    nn_build_options o = { .max_tokens = l->tokens, .gives_states = true };
    o.numerics = run->numerics;
    HN_TRY(hn_compiled_build(&l->compiled, heap, model, *run, &o));
    HN_TRY(hn_compiled_plan(&l->compiled, 1, &l->compiled.result, asks->mode));
    l->plan = hn_executable_look(l->compiled.x, 0);
    put_weights(l, model, 0);
    count_compiled(l, &l->compiled);
    l->memory[HN_PLAN_WORKSPACE] = hn_executable_measure(l->compiled.x).workspace;
    return HN_OK;
}

static hn_status make_tuning(hn_plan_look *l, hn_heap *heap, const hn_model *model, const hn_plan_asks *asks)
{
    const hn_tune_settings plain = { .how = HN_TUNE_LORA, .rank = asks->rank };
    hn_tune_targets targets;
    HN_TRY(hn_tune_targets_parse(heap, asks->targets ? asks->targets : hn_default_targets(model), &plain,
                                 &targets));
    const hn_status status = hn_tuning_new(heap, model, &targets, 1, &l->tuning);
    hn_tune_targets_free(heap, &targets);
    return status;
}

static hn_status look_at_training(hn_plan_look *l, hn_heap *heap, const hn_model *model, const hn_run_spec *run,
                            const hn_plan_asks *asks)
{
    hn_learner_options o = { .objective = { .max_tokens = l->tokens },
                             .descent = { .clip_norm = 1, .recompute_every = (int)asks->recompute } };
    if (asks->mode)
        HN_TRY(hn_plan_mode_parse(asks->mode, &o.descent.mode));
    if (asks->optimizer)
        HN_TRY(hn_optimizer_parse("--optimizer", asks->optimizer, &o.descent.optimizer));
    HN_TRY(make_tuning(l, heap, model, asks));
    HN_TRY(hn_learner_plan(&l->learner, heap, model, l->tuning, *run, &o));
    const hn_learner_bytes bytes = hn_learner_memory(l->learner);
    const hn_executable *parts[HN_LEARNER_PARTS];
    l->run = hn_learner_objective(l->learner)->o.run;
    hn_fit_count(&l->run, hn_learner_parts(l->learner, parts), parts, l->on);
    l->plan = hn_descent_plan(hn_learner_descent(l->learner));
    put_weights(l, model, 0);
    l->memory[HN_PLAN_WORKSPACE] = bytes.workspace + bytes.inputs;
    l->memory[HN_PLAN_PARAMETERS] = bytes.parameters;
    l->memory[HN_PLAN_MOMENTS] = bytes.moments;
    l->memory[HN_PLAN_SUMS] = bytes.sums;
    return HN_OK;
}

static void free_look(hn_plan_look *l, hn_heap *heap)
{
    hn_plan_work_free(&l->work, heap);
    hn_session_free(l->session);
    hn_compiled_free(&l->compiled);
    hn_learner_free(l->learner);
    hn_tuning_free(l->tuning);
    *l = (hn_plan_look){ 0 };
}

static const char *const kinds[HN_N_PLAN_KINDS] = { "token", "prompt", "training", "text" };

const char *hn_plan_kind_name(hn_plan_kind kind) { return kinds[kind]; }

hn_status hn_plan_kind_parse(const char *word, hn_plan_kind *out)
{
    for (int i = 0; i < HN_N_PLAN_KINDS; i++)
        if (!strcmp(word, kinds[i])) {
            *out = (hn_plan_kind)i;
            return HN_OK;
        }
    hn_word_text all;
    return hn_fail(HN_ERR_ARGUMENT, "--of %.40s: expected %s", word, hn_words_or(HN_N_PLAN_KINDS, kinds, &all));
}

static hn_status add(hn_plan_looks *looks, hn_plan_kind kind, const hn_model *model, const hn_run_spec *run,
                            const hn_plan_asks *asks)
{
    const int64_t tokens[HN_N_PLAN_KINDS] = { 1, asks->prompt, asks->micro_tokens, asks->prompt };
    hn_plan_look *l = &looks->at[looks->n];
    *l = (hn_plan_look){ .name = kinds[kind], .tokens = tokens[kind] };
    hn_status status = kind == HN_PLAN_OF_TRAINING
                           ? look_at_training(l, looks->heap, model, run, asks)
                       : kind == HN_PLAN_OF_TEXT ? look_at_text(l, looks->heap, model, run, asks)
                                        : look_at_session(l, looks->heap, model, run, asks);
    if (status == HN_OK)
        status = hn_plan_work_new(l->plan, looks->heap, NULL, &l->work);
    if (status == HN_OK)
        looks->n++;
    else
        free_look(l, looks->heap);
    return status;
}

static hn_status add_all(hn_plan_looks *looks, const hn_model *model, const hn_run_spec *run,
                            const hn_plan_asks *asks)
{
    if (hn_model_embeds_only(model))
        return add(looks, HN_PLAN_OF_TEXT, model, run, asks);
    HN_TRY(add(looks, HN_PLAN_OF_TOKEN, model, run, asks));
    HN_TRY(add(looks, HN_PLAN_OF_PROMPT, model, run, asks));
    const hn_status status = add(looks, HN_PLAN_OF_TRAINING, model, run, asks);
    if (status != HN_ERR_UNSUPPORTED)
        return status;
    snprintf(looks->refused, sizeof looks->refused, "training: %s", hn_error_message());
    return HN_OK;
}

hn_status hn_plan_looks_new(hn_plan_looks *looks, hn_heap *heap, const hn_model *model,
                            const hn_run_spec *run, const char *of, const hn_plan_asks *asks)
{
    *looks = (hn_plan_looks){ .heap = heap };
    hn_plan_kind kind = HN_N_PLAN_KINDS;
    hn_status status = of ? hn_plan_kind_parse(of, &kind) : HN_OK;
    hn_word_text others; /* before text, which is the last */
    if (kind == HN_PLAN_OF_TEXT && !hn_model_embeds_only(model))
        status = hn_fail(HN_ERR_ARGUMENT, "--of text: %s generates: expected %s", hn_model_arch(model)->name,
                         hn_words_or(HN_PLAN_OF_TEXT, kinds, &others));
    if (status == HN_OK)
        status = of ? add(looks, kind, model, run, asks)
                    : add_all(looks, model, run, asks);
    if (status != HN_OK)
        hn_plan_looks_free(looks);
    return status;
}

void hn_plan_looks_free(hn_plan_looks *looks)
{
    for (int i = 0; i < looks->n; i++)
        free_look(&looks->at[i], looks->heap);
    looks->n = 0;
}
