/* The objective's graph without its backward, in sums that nobody divides; a batch's rows go through the head some
 * at a time, so logits take a bounded room whatever the batch. */
#include "train/evaluator.h"

#include <string.h>

#include "graph/plan_work.h"
#include "infer/fit.h"
#include "train/feed.h"

enum { LOGITS_BYTES = 64 << 20 }; /* of the rows at a time */

struct hn_evaluator {
    hn_heap *heap;
    const hn_model *model;
    hn_graph *g;
    hn_objective objective;
    hn_executable *x;
    hn_storage *storage; /* its */
    hn_program *program; /* its, once it is made */
    hn_micro micro;
    int64_t rows; /* at a time */
    int64_t max_tokens, max_pairs;
    hn_step_numbers ones; /* sums are wanted, undivided */
    hn_batch mismatched;
    bool is_grouped;
};

static hn_status plan(hn_evaluator *e, const hn_model *model, const hn_tuning *tuning,
                      const hn_adapters *adapters, hn_run_spec run,
                      const hn_objective_options *options)
{
    hn_objective_options o = *options;
    o.balance = o.z = 0;
    o.is_evaluation = true;
    o.adapters = adapters;
    o.run = run;
    e->is_grouped = hn_goal_groups(hn_goal_spec_of(o.goal));
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    const int64_t fit = LOGITS_BYTES / (4 * (vocab > 0 ? vocab : 1));
    e->rows = e->is_grouped || fit > o.max_tokens ? o.max_tokens : fit > 1 ? fit : 1;
    o.wants_logits = !e->is_grouped;
    o.max_rows = e->rows;
    o.max_pairs = e->is_grouped ? o.max_tokens / 2 : 0;
    e->ones = (hn_step_numbers){ .count = 1, .n_sequences = 1, .n_tokens = 1 };
    HN_TRY(hn_graph_new(&e->g, e->heap));
    HN_TRY(hn_objective_build(&e->objective, e->g, model, tuning, &o));
    hn_node *wanted[2] = { e->objective.loss,
                           e->is_grouped ? e->objective.margins
                                       : hn_argmax(e->g, e->objective.logits, -1, false) };
    HN_TRY(hn_graph_finish(e->g));
    const hn_plan_options plain = { 0 };
    e->max_tokens = o.max_tokens;
    e->max_pairs = o.max_pairs;
    HN_TRY(hn_executable_new(&e->x, e->g, run.n_devices, run.devices));
    HN_TRY(hn_feed_bind_weights(hn_executable_storage(e->x), &e->objective));
    return hn_executable_plan(e->x, 2, wanted, &plain);
}

typedef struct trial {
    hn_heap *heap;
    const hn_model *model;
    const hn_tuning *tuning;
    const hn_adapters *adapters;
    const hn_objective_options *options;
} trial;

static hn_status try_split(void *context, const hn_run_spec *run, hn_device_bytes *on)
{
    const trial *t = context;
    hn_evaluator *e;
    HN_TRY(hn_evaluator_plan(&e, t->heap, t->model, t->tuning, t->adapters, *run, t->options));
    hn_fit_count(run, 1, (const hn_executable *const[]){ e->x }, on);
    hn_evaluator_free(e);
    return HN_OK;
}

hn_status hn_evaluator_plan(hn_evaluator **out, hn_heap *heap, const hn_model *model,
                            const hn_tuning *tuning, const hn_adapters *adapters, hn_run_spec run,
                            const hn_objective_options *options)
{
    trial t = { heap, model, tuning, adapters, options };
    *out = NULL;
    HN_TRY(hn_fit_layers(&run, hn_model_hparams(model)->n_layer, try_split, &t));
    hn_evaluator *e = hn_alloc(heap, HN_TAG_PLAN, sizeof *e);
    if (!e)
        return HN_ERR_MEMORY;
    e->heap = heap;
    e->model = model;
    e->mismatched = hn_batch_on(heap);
    const hn_status status = plan(e, model, tuning, adapters, run, options);
    if (status != HN_OK) {
        hn_evaluator_free(e);
        return hn_fail_within(status, "%s: ", hn_model_path(model));
    }
    *out = e;
    return HN_OK;
}

hn_status hn_evaluator_make(hn_evaluator *e)
{
    hn_storage *storage = hn_executable_storage(e->x);
    HN_TRY(hn_micro_new(&e->micro, e->heap, e->max_tokens, e->max_tokens, e->max_pairs));
    HN_TRY(hn_feed_bind(storage, &e->objective, &e->micro, &e->ones));
    HN_TRY(hn_executable_make(e->x));
    e->program = hn_executable_program(e->x, 0);
    e->storage = storage;
    return HN_OK;
}

hn_status hn_evaluator_new(hn_evaluator **out, hn_heap *heap, const hn_model *model,
                           const hn_tuning *tuning, const hn_adapters *adapters, hn_run_spec run,
                           const hn_objective_options *options)
{
    HN_TRY(hn_evaluator_plan(out, heap, model, tuning, adapters, run, options));
    const hn_status status = hn_evaluator_make(*out);
    if (status != HN_OK) {
        hn_evaluator_free(*out);
        *out = NULL;
    }
    return status;
}

void hn_evaluator_free(hn_evaluator *e)
{
    if (!e)
        return;
    hn_executable_free(e->x);
    hn_graph_free(e->g);
    hn_micro_free(&e->micro);
    hn_batch_free(&e->mismatched);
    hn_free(e->heap, e);
}

/* Of the rows from `from` on that the program has just run. */
static hn_status take(const hn_evaluator *e, int64_t from, int64_t n, hn_evaluation *sums)
{
    hn_tensor loss, judged;
    HN_TRY(hn_program_result(e->program, 0, &loss));
    HN_TRY(hn_program_result(e->program, 1, &judged));
    sums->loss += hn_get(&loss, 0);
    if (e->is_grouped) {
        const bool weighed = e->objective.goal->counts == HN_COUNTS_WEIGHTS;
        for (int64_t i = 0; i < e->micro.n_pairs; i++) {
            const double beyond = hn_get(&judged, i) - (double)e->ones.anchor;
            sums->gains += hn_get(&judged, i);
            sums->accuracy += beyond * (double)e->micro.example_labels[i] > 0;
            sums->weight += weighed ? (double)e->micro.pair_weights[i] : 1;
        }
        sums->n += e->micro.n_pairs;
        return HN_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!(e->micro.weights[from + i] > 0))
            continue;
        sums->accuracy += hn_get_int(&judged, i) == e->micro.labels[from + i];
        sums->weight += (double)e->micro.weights[from + i];
        sums->n++;
    }
    return HN_OK;
}

static hn_status add(hn_evaluator *e, const hn_batch *batch, const hn_run_options *options,
                     hn_evaluation *sums)
{
    const hn_objective *o = &e->objective;
    HN_REQUIRE(e->program, HN_ERR_ARGUMENT, "an evaluator that was planned and not made");
    for (size_t from = 0, to; from < batch->n_examples; from = to) {
        HN_TRY(hn_pack_run(batch->tokens, batch->n_examples, from, (size_t)e->micro.max_tokens,
                           &to));
        if (e->is_grouped && to - from > (size_t)e->micro.max_pairs)
            to = from + (size_t)e->micro.max_pairs;
        HN_TRY(hn_micro_fill(&e->micro, o->policy.hp, batch, from, to));
        HN_TRY(hn_program_set_extent(e->program, o->policy.tokens_extent,
                                     (int64_t)e->micro.pack.n));
        if (e->is_grouped)
            HN_TRY(hn_program_set_extent(e->program, o->pairs_extent, e->micro.n_pairs));
        for (int64_t row = 0, n; row < e->micro.n_rows; row += n) {
            n = e->micro.n_rows - row < e->rows ? e->micro.n_rows - row : e->rows;
            HN_TRY(hn_feed_bind_rows(e->storage, o, &e->micro, row));
            HN_TRY(hn_program_set_extent(e->program, o->policy.rows_extent, n));
            HN_TRY(hn_program_run(e->program, options));
            HN_TRY(take(e, row, n, sums));
        }
    }
    return HN_OK;
}

hn_status hn_evaluator_anchor(hn_evaluator *e, const hn_batch *batch, const hn_run_options *options,
                              float *out)
{
    hn_evaluation sums = { 0 };
    *out = e->ones.anchor = 0;
    if (batch->n_examples < 2)
        return HN_OK;
    hn_batch_clear(&e->mismatched);
    HN_TRY(hn_batch_mismatch(batch, &e->mismatched));
    HN_TRY(add(e, &e->mismatched, options, &sums));
    const double mean = sums.gains / (double)batch->n_examples;
    *out = mean > 0 ? (float)mean : 0;
    return HN_OK;
}

hn_status hn_evaluator_add(hn_evaluator *e, const hn_batch *batch, const hn_run_options *options,
                           hn_evaluation *sums)
{
    float anchor = 0;
    if (e->objective.goal->needs_anchor)
        HN_TRY(hn_evaluator_anchor(e, batch, options, &anchor));
    e->ones.anchor = anchor;
    return add(e, batch, options, sums);
}

size_t hn_evaluator_together(const hn_evaluator *e)
{
    enum { TOGETHER = 16 };
    return e->objective.goal->needs_anchor ? TOGETHER : 1;
}

void hn_evaluation_finish(hn_evaluation *sums)
{
    sums->loss = sums->weight > 0 ? sums->loss / sums->weight : 0;
    sums->accuracy = sums->n > 0 ? sums->accuracy / (double)sums->n : 0;
}

static hn_status run_held(hn_evaluator *e, const hn_dataset *dataset, uint64_t most,
                          const hn_run_options *options, hn_example *example, hn_batch *batch,
                          hn_evaluation *out)
{
    const uint64_t n = most && most < dataset->n_held ? most : dataset->n_held;
    for (uint64_t i = 0; i < n; i++) {
        HN_TRY(hn_dataset_read(dataset, dataset->held[i], example));
        HN_TRY(hn_batch_add(batch, example));
        if (batch->n_examples < hn_evaluator_together(e) && i + 1 < n)
            continue;
        HN_TRY(hn_evaluator_add(e, batch, options, out));
        hn_batch_clear(batch);
    }
    hn_evaluation_finish(out);
    return HN_OK;
}

hn_status hn_evaluator_run(hn_evaluator *e, const hn_dataset *dataset, uint64_t most,
                           const hn_run_options *options, hn_evaluation *out)
{
    hn_example example = hn_example_on(e->heap);
    hn_batch batch = hn_batch_on(e->heap);
    *out = (hn_evaluation){ 0 };
    const hn_status status = run_held(e, dataset, most, options, &example, &batch, out);
    hn_batch_free(&batch);
    hn_example_free(&example);
    return status;
}

const hn_executable *hn_evaluator_executable(const hn_evaluator *e)
{
    return e->x;
}

hn_status hn_evaluator_operations(const hn_evaluator *e, int64_t tokens, int64_t rows, double *out)
{
    int64_t sizes[HN_MAX_EXTENTS];
    hn_plan_work work;
    hn_objective_sizes(&e->objective, tokens, rows, sizes);
    HN_TRY(hn_plan_work_new(hn_executable_look(e->x, 0), e->heap, sizes, &work));
    *out = work.all.flops;
    hn_plan_work_free(&work, e->heap);
    return HN_OK;
}

size_t hn_evaluator_memory(const hn_evaluator *e)
{
    const hn_executable_bytes all = hn_executable_measure(e->x);
    return all.workspace + all.states + all.sums + all.inputs + all.programs;
}
