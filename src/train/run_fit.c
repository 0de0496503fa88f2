/* A run's memory: the largest micro-batches that fit, and as little recomputation. Smaller ones
 * change no bit of the result, only how often weights are read. Everything is a plan until one fits:
 * what does not fit is never asked for. */
#include "train/run_parts.h"

#include "base/option_value.h"
#include "base/os/memory.h"
#include "infer/compiled.h"
#include "infer/fit.h"
#include "io/weights_writer.h"
#include "train/prompts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ENOUGH_TOKENS = 512, MOST_TOKENS = 8192, LOOKED_AT = 2000, PROGRAM_BYTES = 6 << 20,
       STEP_BYTES = 128 << 10, TOKEN_BYTES = 32 }; /* a step as it is read, its lines and blocks */

/* Tokens of one example, trained or held out; and of the largest step, and the mean of them, of as many as a look at
 * them is quick. A larger one that comes later is cut into micro-batches. */
static hn_status measure_examples(hn_train_run *r, int64_t *longest, int64_t *step)
{
    const hn_dataset *d = r->on.dataset;
    *longest = 1;
    for (uint64_t i = 0; i < d->n; i++)
        if ((d->fates[i] == HN_FATE_TRAINED || d->fates[i] == HN_FATE_HELD) && d->tokens[i] > *longest)
            *longest = d->tokens[i];
    const int64_t n = r->n_steps < LOOKED_AT ? r->n_steps : LOOKED_AT;
    int64_t all = 0, examples = 0;
    *step = *longest;
    for (int64_t k = 0; k < n; k++) {
        int64_t sum = 0;
        HN_TRY(hn_steps_at(&r->steps, (uint64_t)k, &r->data_step));
        for (size_t i = 0; i < r->data_step.n; i++)
            sum += d->tokens[r->data_step.examples[i]];
        *step = sum > *step ? sum : *step;
        all += sum;
        examples += (int64_t)r->data_step.n;
    }
    r->step_tokens = (double)all / (double)n;
    r->step_examples = (double)examples / (double)n;
    return HN_OK;
}

/* What of the model is read: all of it, and what of that stays mapped rather than copied, by the host or to a device. */
static void count_weights(const hn_train_run *r, size_t *all, size_t *mapped)
{
    const nn_build *b = &hn_learner_objective(r->learner)->policy;
    const hn_executable *parts[HN_LEARNER_PARTS];
    hn_learner_parts(r->learner, parts);
    *all = *mapped = 0;
    for (int i = 0; i < b->n_bound; i++) {
        const nn_weight *w = b->bound[i].weight;
        bool own = false;
        for (int k = 0; k < r->tuning->n_tensors; k++)
            own = own || w == &r->tuning->tensors[k].weight;
        const size_t bytes = own ? 0 : hn_type_bytes(&w->type);
        *all += bytes;
        const bool is_copied = hn_model_owns(r->on.model, w->data) ||
                               !hn_executable_reads_in_place(parts[0], b->bound[i].leaf->leaf);
        *mapped += own || is_copied ? 0 : bytes;
    }
}

/* Copies of weights and of what is trained on devices that do not see the host's memory. */
static size_t count_uploads(const hn_run_spec *run, int n, const hn_executable *const *all)
{
    hn_device_bytes on[HN_MAX_DEVICES] = { 0 };
    size_t bytes = 0;
    hn_fit_count(run, n, all, on);
    for (int d = 0; d < run->n_devices; d++)
        if (!hn_device_is_host(run->devices[d]) && on[d].weights > on[d].held)
            bytes += on[d].weights - on[d].held;
    return bytes;
}

/* All that stand beside each other while it learns. */
static int parts_of(const hn_train_run *r, const hn_executable *out[HN_LEARNER_PARTS + 1])
{
    int n = hn_learner_parts(r->learner, out);
    if (r->evaluator)
        out[n++] = hn_evaluator_executable(r->evaluator);
    return n;
}

/* ---- the phases ---- */

/* A run takes memory three times over: while it learns; when its adapter is tried; and for the answers
 * before and after. Each gives its own back before the next begins, so the largest of them counts.
 *
 *     learns    workspaces, sums, moments, evaluation
 *     is tried  what was trained once more, in the file's order; logits of a few tokens
 *     answers   a session of the longest prompt that samples take; with --samples-along beside what learns
 */
static hn_status plan_sequence(const hn_train_run *r, int64_t tokens, int64_t rows, int64_t capacity,
                               size_t *out, hn_device_bytes *on)
{
    hn_compiled c = { 0 };
    nn_build_options o = { .max_tokens = tokens, .max_rows = rows, .capacity = capacity };
    o.numerics = r->on.run.numerics;
    hn_tuning_apply(r->tuning, &o);
    o.has_dropout = false;
    hn_status status = hn_compiled_build(&c, r->heap, r->on.model, r->on.run, &o);
    if (status == HN_OK)
        status = hn_compiled_plan(&c, 1, &c.result, NULL);
    if (status == HN_OK) {
        const hn_executable_bytes bytes = hn_executable_measure(c.x);
        *out = bytes.workspace + bytes.states + bytes.programs +
               count_uploads(&c.run, 1, (const hn_executable *const[]){ c.x });
        hn_fit_count(&c.run, 1, (const hn_executable *const[]){ c.x }, on);
    }
    hn_compiled_free(&c);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", hn_model_path(r->on.model));
}

static hn_status plan_ending(hn_train_run *r, hn_device_bytes on_trial[HN_MAX_DEVICES],
                             hn_device_bytes on_answer[HN_MAX_DEVICES])
{
    hn_train_plan *p = &r->plan;
    const hn_model *model = r->on.model;
    const int64_t most = hn_hparams_longest(hn_model_hparams(model));
    const int64_t context = most > 0 && most < HN_PROMPTS_CONTEXT ? most : HN_PROMPTS_CONTEXT;
    size_t tried = 0, answers = 0;
    if (!hn_model_embeds_only(model)) {
        HN_TRY(plan_sequence(r, HN_RUN_TEST_TOKENS, 0, 0, &tried, on_trial));
        if (r->on.makes_samples || r->config.samples_along)
            HN_TRY(plan_sequence(r, context < HN_PROMPTS_BATCH ? context : HN_PROMPTS_BATCH, 1,
                                 context, &answers, on_answer));
    }
    const size_t trained = (size_t)r->tuning->n_params * sizeof(float);
    p->ending_bytes = trained + (tried > answers ? tried : answers);
    p->samples_bytes = r->config.samples_along ? answers : 0;
    return HN_OK;
}

/* What is planned as resident: what is there already, the base where it is mapped, and the phase that
 * takes the most. */
static void sum_up(hn_train_run *r)
{
    hn_train_plan *p = &r->plan;
    const hn_executable *parts[HN_LEARNER_PARTS + 1];
    size_t mapped;
    count_weights(r, &p->weights_bytes, &mapped);
    const size_t learns = p->bytes.workspace + p->bytes.sums + p->bytes.moments + p->bytes.inputs + p->bytes.programs +
                          p->evaluation_bytes + p->samples_bytes + p->step_bytes +
                          count_uploads(&r->on.run, parts_of(r, parts), parts);
    p->yet_bytes = learns > p->ending_bytes ? learns : p->ending_bytes;
    p->total_bytes =
        mapped + PROGRAM_BYTES + (size_t)atomic_load(&r->heap->live_bytes) + p->yet_bytes;
    p->mapped_bytes = mapped;
}

static hn_status plan_evaluator(hn_train_run *r, int64_t longest)
{
    hn_learner_options o;
    if (!r->on.dataset->n_held)
        return HN_OK;
    hn_evaluator_free(r->evaluator);
    r->evaluator = NULL;
    HN_TRY(hn_train_config_learner(&r->config, &o));
    o.objective.max_tokens = longest;
    HN_TRY(hn_evaluator_plan(&r->evaluator, r->heap, r->on.model, r->tuning, NULL, r->on.run,
                             &o.objective));
    r->plan.evaluation_bytes = hn_evaluator_memory(r->evaluator);
    return HN_OK;
}

static hn_status plan_learner(hn_train_run *r, int64_t tokens, int64_t recompute)
{
    hn_learner_options o;
    HN_TRY(hn_train_config_learner(&r->config, &o));
    o.objective.max_tokens = tokens;
    o.descent.recompute_every = (int)recompute;
    hn_learner_free(r->learner);
    r->learner = NULL;
    HN_TRY(hn_learner_plan(&r->learner, r->heap, r->on.model, r->tuning, r->on.run, &o));
    r->plan.micro_tokens = tokens;
    r->plan.recompute = recompute;
    r->plan.bytes = hn_learner_memory(r->learner);
    sum_up(r);
    return HN_OK;
}

/* ---- layers over devices ---- */

typedef struct trial {
    hn_train_run *run;
    int64_t longest, tokens, recompute;
    bool rest_is_planned; /* what does not depend on the micro-batches */
} trial;

/* Of the phases each device sees the one that takes most there. */
static void take_larger(hn_device_bytes *on, const hn_device_bytes *other)
{
    for (int d = 0; d < HN_MAX_DEVICES; d++)
        if (hn_device_needs(&other[d]) > hn_device_needs(&on[d]))
            on[d] = other[d];
}

/* The weights are the same. */
static void add_beside(hn_device_bytes *on, const hn_device_bytes *other)
{
    for (int d = 0; d < HN_MAX_DEVICES; d++) {
        on[d].states += other[d].states;
        on[d].inputs += other[d].inputs;
        on[d].workspace += other[d].workspace;
    }
}

static hn_status try_split(void *context, const hn_run_spec *run, hn_device_bytes *on)
{
    const trial *t = context;
    hn_train_run *r = t->run;
    hn_device_bytes tried[HN_MAX_DEVICES] = { 0 }, answers[HN_MAX_DEVICES] = { 0 };
    const hn_executable *parts[HN_LEARNER_PARTS + 1];
    r->on.run = *run;
    if (!t->rest_is_planned)
        HN_TRY(plan_evaluator(r, t->longest));
    if (!t->rest_is_planned)
        HN_TRY(plan_ending(r, tried, answers));
    HN_TRY(plan_learner(r, t->tokens, t->recompute));
    hn_fit_count(run, parts_of(r, parts), parts, on);
    if (r->config.samples_along)
        add_beside(on, answers);
    take_larger(on, tried);
    take_larger(on, answers);
    return HN_OK;
}

/* Everything planned for micro-batches of so many tokens, on devices as they were asked for. */
static hn_status plan_all(const trial *t, const hn_run_spec *asked)
{
    hn_run_spec run = *asked;
    hn_device_bytes on[HN_MAX_DEVICES] = { 0 };
    trial own = *t;
    HN_TRY(hn_fit_layers(&run, hn_model_hparams(t->run->on.model)->n_layer, try_split, &own));
    return try_split(&own, &run, on);
}

/* ---- what may be taken ---- */

/* As told, or nine tenths of what the machine and the groups of the process have free. */
static hn_status find_limits(hn_train_run *r, size_t *total, size_t *yet)
{
    enum { SLACK = 160 << 20 }; /* of address space: stacks, and what the C library sets apart for threads */
    const hn_free_memory left = hn_memory_free();
    const size_t live = (size_t)atomic_load(&r->heap->live_bytes);
    if (r->config.memory)
        HN_TRY(hn_memory_parse(r->config.memory, total));
    else
        *total = left.physical / 10 * 9 < SIZE_MAX - live ? left.physical / 10 * 9 + live : SIZE_MAX;
    *yet = left.address == SIZE_MAX ? SIZE_MAX : left.address > SLACK ? left.address - SLACK : 0;
    return HN_OK;
}

/* The heap's limit leaves what is not taken now, by graphs and plans too. */
static size_t left_in_heap(const hn_train_run *r)
{
    const size_t live = (size_t)atomic_load(&r->heap->live_bytes), most = r->heap->limit_bytes;
    return !most ? SIZE_MAX : most > live ? most - live : 0;
}

static bool fits(const hn_train_run *r, size_t total, size_t yet)
{
    return r->plan.total_bytes <= total && r->plan.yet_bytes <= yet &&
           r->plan.yet_bytes <= left_in_heap(r);
}

static hn_status refuse(const hn_train_run *r, size_t total, size_t yet)
{
    const hn_train_plan *p = &r->plan;
    const bool is_total = p->total_bytes > total;
    yet = left_in_heap(r) < yet ? left_in_heap(r) : yet;
    return hn_fail(HN_ERR_MEMORY,
                   "%.3g GiB are needed%s, with micro-batches of %lld tokens and every layer "
                   "recomputed (weights %.3g, workspace %.3g, trained tensors with gradients and "
                   "moments %.3g), and %.3g are there: shorter examples (--max-length) or fewer "
                   "targets need less",
                   (double)(is_total ? p->total_bytes : p->yet_bytes) / 0x1p30,
                   is_total ? "" : " beside what is taken already", (long long)p->micro_tokens,
                   (double)p->weights_bytes / 0x1p30, (double)p->bytes.workspace / 0x1p30,
                   (double)(p->bytes.parameters + p->bytes.sums + p->bytes.moments) / 0x1p30,
                   (double)(is_total ? total : yet) / 0x1p30);
}

/* --memory holds by itself from here on: what was not planned is not given. */
static hn_status hold_to(hn_train_run *r, size_t total)
{
    const size_t others = r->plan.mapped_bytes + PROGRAM_BYTES;
    const size_t own = total > others ? total - others : 1, before = r->heap->limit_bytes;
    if (r->config.memory && (!before || own < before))
        r->heap->limit_bytes = own;
    return HN_OK;
}

/* As `plan_all`; HN_ERR_MEMORY of the devices is no end: `why` has its words. */
static hn_status plan_and_judge(const trial *t, const hn_run_spec *asked, hn_str *why, bool *fits_devices)
{
    const hn_status status = plan_all(t, asked);
    *fits_devices = status == HN_OK;
    if (status != HN_ERR_MEMORY || !asked->fits)
        return status;
    hn_str_clear(why);
    hn_str_add(why, hn_error_message());
    return hn_str_status(why);
}

typedef struct bounds {
    int64_t longest, step, most;
    size_t total, yet;
} bounds;

static hn_status search(hn_train_run *r, const bounds *b, hn_str *why)
{
    const hn_run_spec asked = r->on.run;
    const int64_t n_layer = hn_model_hparams(r->on.model)->n_layer;
    const int64_t every[] = { 0, n_layer / 4 > 2 ? n_layer / 4 : 2, 2, 1 };
    const int64_t enough = b->longest > ENOUGH_TOKENS ? b->longest : ENOUGH_TOKENS;
    bool on_devices = true, is_first = true;
    for (int k = 0; k < 4; k++) {
        if (r->config.recompute >= 0 && k > 0)
            break;
        const int64_t recompute = r->config.recompute >= 0 ? r->config.recompute : every[k];
        for (int64_t tokens = b->most;; tokens /= 2) {
            /* short of recomputing everything, small micro-batches are not worth it */
            const int64_t least = k == 3 || r->config.recompute >= 0 ? b->longest : enough;
            const int64_t at = tokens > least ? tokens : least < b->most ? least : b->most;
            const trial t = { r, b->longest, at, recompute, !is_first && !asked.fits };
            is_first = false;
            HN_TRY(plan_and_judge(&t, &asked, why, &on_devices));
            if (on_devices && fits(r, b->total, b->yet))
                return hold_to(r, b->total);
            if (at != tokens || r->config.micro_tokens || tokens <= least)
                break;
        }
    }
    return on_devices ? refuse(r, b->total, b->yet) : hn_fail(HN_ERR_MEMORY, "%s", why->text);
}

hn_status hn_run_fit(hn_train_run *r)
{
    bounds b;
    HN_TRY(measure_examples(r, &b.longest, &b.step));
    HN_TRY(find_limits(r, &b.total, &b.yet));
    hn_goal goal;
    HN_TRY(hn_goal_parse(r->config.goal, &goal));
    const size_t times = hn_goal_spec_of(goal)->needs_anchor ? 2 : 1; /* a program more, and a step of mismatches */
    r->plan.step_bytes = HN_WEIGHTS_PIECE + times * (STEP_BYTES + (size_t)b.step * TOKEN_BYTES);
    b.most = b.step < MOST_TOKENS ? b.step : MOST_TOKENS;
    b.most = b.most > b.longest ? b.most : b.longest;
    if (r->config.micro_tokens) {
        HN_REQUIRE(r->config.micro_tokens >= b.longest, HN_ERR_ARGUMENT,
                   "--micro-tokens %lld: the longest example has %lld",
                   (long long)r->config.micro_tokens, (long long)b.longest);
        b.most = r->config.micro_tokens;
    }
    hn_str why = hn_str_on(r->heap);
    const hn_status status = search(r, &b, &why);
    hn_str_free(&why);
    return status;
}

hn_status hn_train_run_operations(const hn_train_run *r, const hn_preflight *seen, double *out)
{
    double example, once;
    const double tokens = r->step_tokens / r->step_examples;
    const double labelled = seen->n_tokens ? (double)seen->n_supervised / (double)seen->n_tokens : 1;
    HN_TRY(hn_learner_operations(r->learner, (int64_t)ceil(tokens), (int64_t)ceil(tokens * labelled), &example, &once));
    *out = r->step_examples * example + once;
    return HN_OK;
}

/* Memory of the learner and the evaluator, for a run that is to go on. */
hn_status hn_run_make(hn_train_run *r)
{
    if (r->is_made)
        return HN_OK;
    HN_TRY(hn_learner_make(r->learner));
    if (r->evaluator)
        HN_TRY(hn_evaluator_make(r->evaluator));
    r->is_made = true;
    return HN_OK;
}

void hn_run_release(hn_train_run *r)
{
    hn_learner_free(r->learner);
    hn_evaluator_free(r->evaluator);
    r->learner = NULL;
    r->evaluator = NULL;
    r->is_made = false;
}
