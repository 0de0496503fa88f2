/* A few numbers are set small, and the rest follow as for any random model (random_numbers.c). Matrices of an
 * adapter that begin at zero are stirred, or what lies behind them would have no gradient to compare. */
#include "prove/instance.h"

#include "base/rng.h"
#include "convert/random_model.h"
#include "convert/random_numbers.h"

#include <string.h>

static bool has_row(const hn_arch *arch, const char *gguf)
{
    for (const hn_weight_spec *row = arch->weights; arch->build && row->gguf; row++)
        if (!strcmp(row->gguf, gguf))
            return true;
    return false;
}

bool hn_arch_may_be_dense(const hn_arch *arch)
{
    return has_row(arch, ".ffn_down.weight");
}

bool hn_arch_may_be_moe(const hn_arch *arch)
{
    return has_row(arch, ".ffn_down_exps.weight");
}

bool hn_arch_takes(const hn_arch *arch, hn_hp field)
{
    HN_EACH_KEY_ROW(row, arch->tables)
        if (row->to == (int)field)
            return true;
    return false;
}

/* ---- its numbers ---- */

static void set_shape(const hn_instance_spec *s, hn_hparams *hp)
{
    HN_HP_SET(hp, n_layer, s->n_layer ? s->n_layer : 2);
    HN_HP_SET(hp, width, s->width ? s->width : 24);
    HN_HP_SET(hp, n_ctx, 256);
    hn_hparams_fill(hp, HN_HP_n_head, s->n_head ? s->n_head : 2);
    hn_hparams_fill(hp, HN_HP_n_kv_head, s->n_kv_head ? s->n_kv_head : hp->n_head[0]);
    hn_hparams_fill(hp, HN_HP_ffn, s->ffn ? s->ffn : hp->width + 8);
    hp->n_vocab = s->vocab ? s->vocab : 61;
    hp->is_tied = s->is_tied;
    hp->rope_partial = 1;
    if (s->head_dim)
        HN_HP_SET(hp, head_dim, s->head_dim);
    if (s->window && hn_arch_takes(s->arch, HN_HP_window))
        HN_HP_SET(hp, window, s->window);
    if (s->n_expert) {
        HN_HP_SET(hp, n_expert, s->n_expert);
        HN_HP_SET(hp, n_used, s->n_used ? s->n_used : 2);
        HN_HP_SET(hp, expert_ffn, hp->ffn[0]);
    }
}

/* What other architectures have no rows for: theirs are as large as real models' unless they are given. */
static void set_small(const hn_arch *arch, hn_hparams *hp)
{
    if (has_row(arch, ".attn_kv_a_mqa.weight")) {
        HN_HP_SET(hp, kv_rank, 16);
        HN_HP_SET(hp, head_dim_mla, 12);
        HN_HP_SET(hp, value_dim_mla, 8);
        HN_HP_SET(hp, rope_dim, 4);
    }
    if (has_row(arch, ".inp_gate.weight"))
        HN_HP_SET(hp, ple_width, 8);
}

static hn_status make_numbers(const hn_instance_spec *s, hn_hparams *hp)
{
    set_shape(s, hp);
    set_small(s->arch, hp);
    for (int i = 0; s->settings[i]; i++)
        HN_TRY(hn_random_set(hp, s->settings[i]));
    return hn_random_complete(s->arch, hp);
}

static hn_status make_model(hn_instance *instance)
{
    const hn_instance_spec *s = &instance->spec;
    hn_random_options o = { .arch = s->arch, .seed = s->seed, .first = HN_FIRST_SPREAD, .name = s->name };
    HN_TRY(hn_recipe_named(s->type ? s->type : "f32", &o.recipe));
    hn_hparams *hp = hn_alloc(instance->heap, HN_TAG_PROVE, sizeof *hp);
    if (!hp)
        return HN_ERR_MEMORY;
    o.hp = hp;
    hn_status status = make_numbers(s, hp);
    if (status == HN_OK)
        status = hn_random_model_in_memory(instance->heap, &o, &instance->model);
    hn_free(instance->heap, hp);
    return status;
}

/* ---- its data ---- */

/* Most tokens are predicted, and of every sequence the last. */
static hn_status make_batch(hn_instance *instance)
{
    const hn_instance_spec *s = &instance->spec;
    const hn_rng_key key = hn_rng_seed(s->seed + 5);
    const uint32_t vocab = (uint32_t)hn_model_hparams(instance->model)->n_vocab;
    uint64_t at = 0;
    instance->batch = hn_batch_on(instance->heap);
    for (int k = 0; k < s->n_sequences; k++) {
        const size_t n = (size_t)s->length[k];
        int32_t *ids = hn_alloc_array(instance->heap, HN_TAG_PROVE, n, sizeof *ids);
        float *weights = hn_alloc_array(instance->heap, HN_TAG_PROVE, n, sizeof *weights);
        hn_status status = ids && weights ? HN_OK : HN_ERR_MEMORY;
        for (size_t i = 0; i < n && status == HN_OK; i++, at++) {
            ids[i] = (int32_t)hn_rng_below(key, 2 * at, vocab);
            weights[i] = i && (i + 1 == n || hn_rng_below(key, 2 * at + 1, 8)) ? 1 : 0;
        }
        const hn_sample sample = { .ids = ids, .weights = weights, .n = n };
        if (status == HN_OK)
            status = hn_batch_add_sample(&instance->batch, &sample);
        hn_free(instance->heap, ids);
        hn_free(instance->heap, weights);
        HN_TRY(status);
    }
    return HN_OK;
}

/* ---- the whole ---- */

hn_status hn_instance_open(hn_instance *instance, hn_heap *heap, const hn_instance_spec *spec)
{
    static const hn_tune_settings plain = { .how = HN_TUNE_LORA, .rank = 3 };
    *instance = (hn_instance){ .heap = heap, .spec = *spec };
    hn_status status = make_model(instance);
    if (status == HN_OK)
        status = make_batch(instance);
    if (status == HN_OK)
        status = hn_tune_targets_parse(heap, spec->targets, &plain, &instance->targets);
    if (status != HN_OK)
        hn_instance_close(instance);
    return status;
}

void hn_instance_close(hn_instance *instance)
{
    hn_tune_targets_free(instance->heap, &instance->targets);
    hn_batch_free(&instance->batch);
    hn_model_close(instance->model);
    *instance = (hn_instance){ .heap = instance->heap };
}

static void stir(const hn_tuning *t, int i, uint64_t seed)
{
    const hn_rng_key key = hn_rng_fold(hn_rng_seed(seed + 99), hn_hash_text(t->tensors[i].name));
    float *x = hn_tuning_data(t, i);
    for (int64_t e = 0; e < hn_count(&t->tensors[i].weight.type); e++)
        x[e] = (hn_rng_uniform(key, (uint64_t)e) - 0.5f) * 0.3f;
}

hn_status hn_instance_tune(const hn_instance *instance, hn_tuning **out)
{
    HN_TRY(hn_tuning_new(instance->heap, instance->model, &instance->targets, instance->spec.seed, out));
    for (int i = 0; i < (*out)->n_tensors; i++) {
        const hn_tunable *t = &(*out)->tensors[i];
        if (t->part == ((*out)->tuned[t->of].is_embedding ? HN_TUNE_A : HN_TUNE_B))
            stir(*out, i, instance->spec.seed);
    }
    return HN_OK;
}

hn_objective_options hn_instance_objective(const hn_instance *instance)
{
    return (hn_objective_options){ .balance = instance->spec.balance, .z = instance->spec.z,
                                   .max_tokens = (int64_t)instance->batch.n_tokens };
}
