/* A step is one sum, over the whole batch, in as many micro-batches as memory asks for:
 *
 *     numbers    counts of the whole batch, the step's number, the anchor      before the first micro-batch
 *     begin      all sums are zero
 *     micro      ... micro ... micro      each divides by the batch's count, never by its own
 *     check      of loss and norm; then, or never, the update
 *
 * What a micro-batch reads beside its own columns is the same for all of them, so the cut is in no bit. Nothing
 * that lasts was written before the check: when it fails, the same micro-batches run again from zero sums and the
 * same numbers, every value looked at, and the first that is not finite is named.
 *
 * Weights and tensors that are trained are bound when it is planned, or memory would be counted for them; a
 * micro-batch's columns when it is made. No leaf that has memory of its own can be bound later. The objective's
 * nodes, the tuning's memory and the micro-batch's stay where they are until the learner is freed: programs know
 * their addresses. */
#include "train/learner.h"

#include "infer/fit.h"
#include "train/evaluator.h"
#include "train/feed.h"

#include <stdio.h>

struct hn_learner {
    hn_heap *heap;
    const hn_model *model;
    const hn_tuning *tuning;
    hn_graph *g;
    hn_objective objective;
    hn_descent *descent;
    hn_micro micro;
    hn_evaluator *anchor; /* where the goal needs one: it runs before the micro-batches */
    hn_step_numbers numbers;
    int64_t max_tokens, max_rows, max_pairs;
    float *load; /* of the route that was asked for last */
    int64_t n_load;
};

/* ---- making ---- */

/* Matrices decay, or what a target asks for by itself; norms, biases and magnitudes do not. A gain that
 * the model's class counts from one decays toward one, whatever the file stores. */
static hn_decay decay_of(const hn_tuning *t, int i, float usual)
{
    const hn_tunable *x = &t->tensors[i];
    const hn_tuned *of = &t->tuned[x->of];
    const float share = of->settings.has_decay ? (float)of->settings.decay
                        : x->weight.type.rank >= 2 ? usual : 0;
    return (hn_decay){ .share = share,
                       .toward = x->part == HN_TUNE_WEIGHT && of->base->is_shifted ? 1 : 0 };
}

static hn_status plan(hn_learner *l, hn_run_spec run, const hn_learner_options *options)
{
    hn_objective_options o = options->objective;
    o.max_rows = o.max_rows > 0 ? o.max_rows : o.max_tokens;
    if (!hn_goal_groups(hn_goal_spec_of(o.goal)))
        o.max_pairs = 0;
    else if (!o.max_pairs)
        o.max_pairs = o.max_tokens / 2;
    o.run = run;
    HN_REQUIRE(l->tuning->n_tensors > 0, HN_ERR_ARGUMENT, "nothing is to be trained");
    HN_TRY(hn_graph_new(&l->g, l->heap));
    HN_TRY(hn_objective_build(&l->objective, l->g, l->model, l->tuning, &o));
    hn_node **params = hn_alloc_array(l->heap, HN_TAG_GRAPH, (size_t)l->tuning->n_tensors,
                                      sizeof *params);
    if (!params)
        return HN_ERR_MEMORY;
    hn_status status = hn_objective_params(&l->objective, l->tuning, params);
    hn_decay *decays = hn_alloc_array(l->heap, HN_TAG_GRAPH, (size_t)l->tuning->n_tensors,
                                      sizeof *decays);
    hn_descent_options descent = options->descent;
    descent.decays = decays;
    if (!decays)
        status = HN_ERR_MEMORY;
    for (int i = 0; i < l->tuning->n_tensors && decays; i++)
        decays[i] = decay_of(l->tuning, i, options->descent.decay);
    if (status == HN_OK)
        status = hn_descent_new(&l->descent, l->g, l->objective.loss, l->tuning->n_tensors, params,
                                run.n_devices, run.devices, &descent);
    hn_free(l->heap, decays);
    hn_free(l->heap, params);
    if (status == HN_OK)
        status = hn_feed_bind_weights(hn_descent_storage(l->descent), &l->objective);
    if (status == HN_OK && l->objective.goal->needs_anchor)
        status = hn_evaluator_plan(&l->anchor, l->heap, l->model, l->tuning, NULL, run,
                                   &options->objective);
    l->max_tokens = o.max_tokens;
    l->max_rows = o.max_rows;
    l->max_pairs = o.max_pairs;
    return status;
}

hn_status hn_learner_make(hn_learner *l)
{
    HN_TRY(hn_micro_new(&l->micro, l->heap, l->max_tokens, l->max_rows, l->max_pairs));
    if (l->anchor)
        HN_TRY(hn_evaluator_make(l->anchor));
    HN_TRY(hn_feed_bind(hn_descent_storage(l->descent), &l->objective, &l->micro, &l->numbers));
    return hn_descent_make(l->descent);
}

int hn_learner_parts(const hn_learner *l, const hn_executable *out[HN_LEARNER_PARTS])
{
    int n = 0;
    out[n++] = hn_descent_executable(l->descent);
    if (l->anchor)
        out[n++] = hn_evaluator_executable(l->anchor);
    return n;
}

typedef struct trial {
    hn_heap *heap;
    const hn_model *model;
    const hn_tuning *tuning;
    const hn_learner_options *options;
} trial;

static hn_status try_split(void *context, const hn_run_spec *run, hn_device_bytes *on)
{
    const trial *t = context;
    const hn_executable *parts[HN_LEARNER_PARTS];
    hn_learner *l;
    HN_TRY(hn_learner_plan(&l, t->heap, t->model, t->tuning, *run, t->options));
    hn_fit_count(run, hn_learner_parts(l, parts), parts, on);
    hn_learner_free(l);
    return HN_OK;
}

hn_status hn_learner_plan(hn_learner **out, hn_heap *heap, const hn_model *model,
                          const hn_tuning *tuning, hn_run_spec run,
                          const hn_learner_options *options)
{
    trial t = { heap, model, tuning, options };
    *out = NULL;
    HN_TRY(hn_fit_layers(&run, hn_model_hparams(model)->n_layer, try_split, &t));
    hn_learner *l = hn_alloc(heap, HN_TAG_PLAN, sizeof *l);
    if (!l)
        return HN_ERR_MEMORY;
    l->heap = heap;
    l->model = model;
    l->tuning = tuning;
    const hn_status status = plan(l, run, options);
    if (status != HN_OK) {
        hn_learner_free(l);
        return hn_fail_within(status, "%s: ", hn_model_path(model));
    }
    *out = l;
    return HN_OK;
}

hn_status hn_learner_new(hn_learner **out, hn_heap *heap, const hn_model *model,
                         const hn_tuning *tuning, hn_run_spec run,
                         const hn_learner_options *options)
{
    HN_TRY(hn_learner_plan(out, heap, model, tuning, run, options));
    const hn_status status = hn_learner_make(*out);
    if (status != HN_OK) {
        hn_learner_free(*out);
        *out = NULL;
    }
    return status;
}

void hn_learner_free(hn_learner *l)
{
    if (!l)
        return;
    hn_descent_free(l->descent);
    hn_evaluator_free(l->anchor);
    hn_graph_free(l->g);
    hn_micro_free(&l->micro);
    hn_free(l->heap, l->load);
    hn_free(l->heap, l);
}

hn_learner_bytes hn_learner_memory(const hn_learner *l)
{
    const hn_executable_bytes all = hn_descent_measure(l->descent);
    return (hn_learner_bytes){ .workspace = all.workspace + (l->anchor ? hn_evaluator_memory(l->anchor) : 0),
                               .sums = all.sums, .moments = all.states,
                               .inputs = all.inputs, .programs = all.programs,
                               .parameters = (size_t)l->tuning->n_params * sizeof(float) };
}

hn_status hn_learner_operations(const hn_learner *l, int64_t tokens, int64_t rows, double *example, double *once)
{
    int64_t sizes[HN_MAX_EXTENTS];
    double anchor = 0;
    hn_objective_sizes(&l->objective, tokens, rows, sizes);
    HN_TRY(hn_descent_operations(l->descent, sizes, example, once));
    if (l->anchor)
        HN_TRY(hn_evaluator_operations(l->anchor, tokens, rows, &anchor));
    *example += anchor;
    return HN_OK;
}

/* ---- a step ---- */

static hn_status check_batch(const hn_learner *l, const hn_batch *batch)
{
    const int64_t vocab = hn_model_hparams(l->model)->n_vocab;
    const hn_goal_spec *goal = l->objective.goal;
    HN_REQUIRE(batch->n_examples > 0, HN_ERR_ARGUMENT, "a step without examples");
    HN_REQUIRE(batch->parts == (size_t)hn_goal_parts(goal), HN_ERR_ARGUMENT,
               "examples of %zu sequences: goal %s takes those of %d", batch->parts, goal->name,
               hn_goal_parts(goal));
    for (size_t i = 0; i < batch->n_examples; i++)
        HN_REQUIRE(!batch->labels[i] == (goal->examples != HN_LABELLED), HN_ERR_ARGUMENT,
                   "example %zu %s a label: goal %s", i + 1, batch->labels[i] ? "has" : "is without",
                   goal->name);
    HN_REQUIRE(batch->weight > 0, HN_ERR_ARGUMENT, "a step without a supervised token");
    for (size_t i = 0; i < batch->n_tokens; i++)
        HN_REQUIRE(batch->ids[i] >= 0 && batch->ids[i] < vocab, HN_ERR_ARGUMENT,
                   "token %d: the vocabulary has %lld", batch->ids[i], (long long)vocab);
    return HN_OK;
}

static hn_status run_micro(hn_learner *l, const hn_batch *batch, size_t from, size_t to,
                           const hn_run_options *options)
{
    HN_TRY(hn_micro_fill(&l->micro, hn_model_hparams(l->model), batch, from, to));
    const hn_objective *o = &l->objective;
    HN_TRY(hn_descent_set_extent(l->descent, o->policy.tokens_extent, (int64_t)l->micro.pack.n));
    HN_TRY(hn_descent_set_extent(l->descent, o->policy.rows_extent, l->micro.n_rows));
    if (hn_goal_groups(o->goal))
        HN_TRY(hn_descent_set_extent(l->descent, o->pairs_extent, l->micro.n_pairs));
    return hn_descent_micro(l->descent, options);
}

static hn_status run_all(hn_learner *l, const hn_batch *batch, const hn_run_options *options,
                         int *n_micro)
{
    *n_micro = 0;
    for (size_t from = 0, to; from < batch->n_examples; from = to) {
        HN_TRY(hn_pack_run(batch->tokens, batch->n_examples, from, (size_t)l->micro.max_tokens,
                           &to));
        if (hn_goal_groups(l->objective.goal) && to - from > (size_t)l->micro.max_pairs)
            to = from + (size_t)l->micro.max_pairs;
        HN_REQUIRE(!l->objective.o.balances_batch || (!from && to == batch->n_examples),
                   HN_ERR_ARGUMENT,
                   "the balance of a whole batch needs it in one micro-batch: its %zu tokens are "
                   "more than %lld", batch->n_tokens, (long long)l->micro.max_tokens);
        HN_TRY(run_micro(l, batch, from, to, options));
        ++*n_micro;
    }
    return HN_OK;
}

/* After a failure that may have come of a number: the same again, looking at every value. Its failure names the
 * first bad one; if it finds none, the first failure stands. */
static hn_status explain(hn_learner *l, const hn_batch *batch, hn_status failed)
{
    int n;
    char first[240], found[240];
    snprintf(first, sizeof first, "%s", hn_error_message());
    hn_status status = hn_descent_begin(l->descent);
    const hn_run_options scan = { .scan = true };
    if (status == HN_OK)
        status = run_all(l, batch, &scan, &n);
    if (status != HN_ERR_NUMERIC)
        return hn_fail(failed, "%s", first);
    snprintf(found, sizeof found, "%s", hn_error_message());
    return hn_fail(status, "%s; the first that is not finite: %s", first, found);
}

static hn_status accumulate(hn_learner *l, const hn_batch *batch, int64_t step,
                            const hn_run_options *options, int *n_micro)
{
    HN_TRY(check_batch(l, batch));
    HN_REQUIRE(l->micro.max_tokens, HN_ERR_ARGUMENT, "a learner that was planned and not made");
    const double counts[] = { [HN_COUNTS_TOKENS] = batch->weight,
                              [HN_COUNTS_EXAMPLES] = (double)batch->n_examples,
                              [HN_COUNTS_WEIGHTS] = batch->examples_weight };
    l->numbers = (hn_step_numbers){
        .count = (float)counts[l->objective.goal->counts],
        .n_sequences = (float)batch->n_sequences,
        .n_tokens = (float)batch->n_tokens,
        .step = (int32_t)(step & 0x7fffffff),
    };
    if (l->anchor)
        HN_TRY(hn_evaluator_anchor(l->anchor, batch, options, &l->numbers.anchor));
    HN_TRY(hn_descent_begin(l->descent));
    const hn_status status = run_all(l, batch, options, n_micro);
    /* Of scores that are no numbers no expert is the best: what reads the choice refuses it, before any check. */
    if (status != HN_ERR_ARGUMENT)
        return status;
    return hn_fail_within(explain(l, batch, status), "step %lld: ", (long long)hn_learner_count(l) + 1);
}

hn_status hn_learner_look(hn_learner *l, const hn_batch *batch, int64_t step,
                          const hn_run_options *options, hn_learned *out)
{
    hn_descent_result result;
    HN_TRY(accumulate(l, batch, step, options, &out->n_micro));
    const hn_status status = hn_descent_check(l->descent, &result);
    if (status == HN_ERR_NUMERIC)
        return explain(l, batch, status);
    out->loss = result.loss;
    out->grad_norm = result.grad_norm;
    return status;
}

hn_status hn_learner_step(hn_learner *l, const hn_batch *batch, int64_t step, float rate,
                          const hn_run_options *options, hn_learned *out)
{
    hn_descent_result result;
    HN_TRY(accumulate(l, batch, step, options, &out->n_micro));
    const hn_status status = hn_descent_finish(l->descent, rate, &result);
    if (status == HN_ERR_NUMERIC)
        return explain(l, batch, status);
    out->loss = result.loss;
    out->grad_norm = result.grad_norm;
    return status;
}

/* ---- what can be read ---- */

hn_status hn_learner_gradient(hn_learner *l, int i, hn_tensor *out)
{
    return hn_descent_gradient(l->descent, i, out);
}

hn_status hn_learner_load(hn_learner *l, int i, int *layer, int64_t *n_experts, const float **out)
{
    const nn_build *b = &l->objective.policy;
    *out = NULL;
    if (i >= b->n_routes)
        return HN_OK;
    const hn_leaf *leaf = l->objective.loads[i]->by->in[3]->leaf;
    const int64_t n = leaf->type.dim[0];
    if (n > l->n_load) {
        hn_free(l->heap, l->load);
        l->n_load = 0;
        l->load = hn_alloc_array(l->heap, HN_TAG_STATE, (size_t)n, sizeof *l->load);
        if (!l->load)
            return HN_ERR_MEMORY;
        l->n_load = n;
    }
    HN_TRY(hn_storage_read(hn_descent_storage(l->descent), leaf, 0, l->load, (size_t)n * sizeof *l->load));
    *layer = b->routes[i].layer;
    *n_experts = n;
    *out = l->load;
    return HN_OK;
}

const hn_leaf *hn_learner_state(const hn_learner *l, int i)
{
    for (int k = 0; k < l->g->n_leaves; k++)
        if (l->g->leaves[k]->kind == HN_LEAF_STATE && i-- == 0)
            return l->g->leaves[k];
    return NULL;
}

hn_status hn_learner_read_state(const hn_learner *l, const hn_leaf *state, size_t at, void *to, size_t bytes)
{
    return hn_storage_read(hn_descent_storage(l->descent), state, at, to, bytes);
}

hn_status hn_learner_write_state(hn_learner *l, const hn_leaf *state, const void *from)
{
    return hn_storage_write(hn_descent_storage(l->descent), state, 0, from, hn_type_bytes(&state->type));
}

int64_t hn_learner_count(const hn_learner *l)
{
    return hn_descent_count(l->descent);
}

void hn_learner_set_count(hn_learner *l, int64_t count)
{
    hn_descent_set_count(l->descent, count);
}

const hn_tuning *hn_learner_tuning(const hn_learner *l)
{
    return l->tuning;
}

const hn_objective *hn_learner_objective(const hn_learner *l)
{
    return &l->objective;
}

hn_descent *hn_learner_descent(hn_learner *l)
{
    return l->descent;
}
