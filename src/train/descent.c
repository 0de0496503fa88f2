/* The graph is built once: loss, gradients, norm, factor, updates, in this order; three programs run parts of it over
 * one storage:
 *
 *     step      micro   micro   micro            check              update
 *               forward and backward of          loss, norm of      every parameter, its moments
 *               a micro-batch each               all gradients
 *     writes    running sums (loss, gradients)   held_norm, by host  weights, states
 *               ----------- goes on from --------^ reads only        ^ reads sums and held_norm
 *
 * A sum over a step's tokens lives in a leaf of its own and goes on from one micro-batch to the next, in the order of the
 * tokens: so the cut into micro-batches is in no bit. Only the third program writes what lasts, and it runs when the
 * host has seen that loss and norm are finite: a step that is refused has changed nothing, and may be tried again or
 * left. What breaks it: a weight that is read after its update (the graph refuses that), or a gradient that is no sum
 * (hn_diff refuses that by name). */
#include "train/descent.h"

#include "diff/diff.h"
#include "graph/plan_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct hn_descent {
    hn_heap *heap;
    hn_graph *g;
    hn_node *loss;
    int n_params;
    hn_node **params, **grads, **updated;
    hn_node *norm_sq, *hyper, *held_norm;
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    hn_executable *x;
    float hyper_values[2];
    double norm_value;
    int64_t n_done;
    bool is_open, is_checked;
    int64_t n_micro; /* of the step that is open */
};

enum { MICRO, CHECK, UPDATE };

static float or_else(float value, double fallback)
{
    return value > 0 ? value : (float)fallback;
}

/* One parameter's update, as an op on its own device. */
static hn_node *update(hn_descent *s, int p, hn_node *clip, const hn_descent_options *o)
{
    const hn_optimizer_spec *spec = hn_optimizer_spec_of(o->optimizer);
    const hn_decay decay = o->decays ? o->decays[p] : (hn_decay){ .share = o->decay };
    const hn_update_site site = { .g = s->g, .w = s->params[p], .gradient = s->grads[p],
                                  .hyper = s->hyper, .clip = clip,
                                  .beta1 = or_else(o->beta1, spec->beta1),
                                  .beta2 = or_else(o->beta2, spec->beta2),
                                  .decay = decay.share, .toward = decay.toward, .o = o };
    return spec->update(&site);
}

/* An option that changes nothing was meant for another optimiser. */
static hn_status check_taken(const hn_descent_options *o)
{
    const hn_optimizer_spec *spec = hn_optimizer_spec_of(o->optimizer);
    const struct {
        const char *what;
        int takes;
        bool is_given;
    } all[] = { { "moments in bf16", HN_TAKES_MOMENTS, o->moments == HN_BF16 },
                { "rounding by chance", HN_TAKES_CHANCE, o->stochastic },
                { "an f32 master", HN_TAKES_MASTER, o->master } };
    for (int i = 0; i < 3; i++)
        HN_REQUIRE(!all[i].is_given || (spec->takes & all[i].takes), HN_ERR_UNSUPPORTED,
                   "optimizer %s: it has no %s", spec->name, all[i].what);
    return HN_OK;
}

static hn_status build(hn_descent *s, const hn_descent_options *o)
{
    hn_graph *g = s->g;
    HN_TRY(check_taken(o));
    const hn_diff_options diff = { .recompute_every = o->recompute_every, .accumulate = true };
    for (int p = 0; p < s->n_params; p++)
        HN_REQUIRE(s->params[p]->leaf && s->params[p]->leaf->kind == HN_LEAF_WEIGHT &&
                       !s->params[p]->by,
                   HN_ERR_ARGUMENT, "parameter %d is no weight of the graph", p);
    HN_TRY(hn_diff(g, s->loss, s->n_params, s->params, &diff, s->grads));
    hn_graph_scope(g, "step");
    s->hyper = hn_graph_leaf(g, HN_LEAF_STEP, "hyper", HN_F32, 1, (int64_t[]){ 2 });
    s->held_norm = hn_graph_leaf(g, HN_LEAF_STEP, "norm_sq", HN_F64, 0, NULL);
    for (int p = 0; p < s->n_params; p++)
        s->norm_sq = hn_sum_sq(g, s->grads[p], s->norm_sq);
    hn_node *clip = NULL;
    if (o->clip_norm > 0)
        clip = hn_clip_factor(g, s->held_norm, o->clip_norm);
    for (int p = 0; p < s->n_params; p++)
        s->updated[p] = update(s, p, clip, o);
    return hn_graph_finish(g);
}

static int running_sums(const hn_descent *s, hn_node **out)
{
    int n = 0;
    for (int i = 0; i < s->g->n_leaves; i++)
        if (s->g->leaves[i]->kind == HN_LEAF_ACC)
            out[n++] = s->g->leaves[i]->node;
    return n;
}

static hn_status plan(hn_descent *s, int which, int n_wanted, hn_node *const *wanted,
                      const hn_descent_options *o)
{
    const hn_plan_options options = { .mode = o->mode, .sums_are_given = which != MICRO,
                                      .results_are_judged = true }; /* hn_descent_check */
    return hn_executable_plan(s->x, n_wanted, wanted, &options);
}

static hn_status plan_all(hn_descent *s, const hn_descent_options *o)
{
    hn_heap *heap = s->heap;
    hn_node **sums = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)s->g->n_leaves + 1, sizeof *sums);
    hn_node **checked = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)s->n_params + 2, sizeof *checked);
    hn_status status = sums && checked ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK) {
        checked[0] = s->loss;
        checked[1] = s->norm_sq;
        for (int p = 0; p < s->n_params; p++)
            checked[2 + p] = s->grads[p];
        status = plan(s, MICRO, running_sums(s, sums), sums, o);
    }
    if (status == HN_OK)
        status = plan(s, CHECK, s->n_params + 2, checked, o);
    if (status == HN_OK)
        status = plan(s, UPDATE, s->n_params, s->updated, o);
    hn_free(heap, sums);
    hn_free(heap, checked);
    return status;
}

static hn_status open_all(hn_descent *s)
{
    HN_TRY(hn_executable_new(&s->x, s->g, s->n_devices, s->devices));
    hn_storage *storage = hn_executable_storage(s->x);
    HN_TRY(hn_storage_bind(storage, s->hyper->leaf, s->hyper_values, sizeof s->hyper_values));
    return hn_storage_bind(storage, s->held_norm->leaf, &s->norm_value, sizeof s->norm_value);
}

hn_status hn_descent_new(hn_descent **out, hn_graph *g, hn_node *loss, int n_params,
                      hn_node *const *params, int n_devices, hn_device *const *devices,
                      const hn_descent_options *options)
{
    *out = NULL;
    HN_TRY(hn_graph_finish(g));
    hn_descent *s = hn_alloc(g->heap, HN_TAG_PLAN, sizeof *s);
    if (!s)
        return HN_ERR_MEMORY;
    s->heap = g->heap;
    s->g = g;
    s->loss = loss;
    s->n_params = n_params;
    s->n_devices = n_devices;
    memcpy(s->devices, devices, (size_t)n_devices * sizeof *devices);
    const size_t n = (size_t)n_params + 1;
    s->params = hn_alloc_array(g->heap, HN_TAG_PLAN, n, sizeof *s->params);
    s->grads = hn_alloc_array(g->heap, HN_TAG_PLAN, n, sizeof *s->grads);
    s->updated = hn_alloc_array(g->heap, HN_TAG_PLAN, n, sizeof *s->updated);
    hn_status status = s->params && s->grads && s->updated ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK) {
        memcpy(s->params, params, (size_t)n_params * sizeof *params);
        status = build(s, options);
    }
    if (status == HN_OK)
        status = open_all(s);
    if (status == HN_OK)
        status = plan_all(s, options);
    if (status != HN_OK) {
        hn_descent_free(s);
        return status;
    }
    *out = s;
    return HN_OK;
}

void hn_descent_free(hn_descent *s)
{
    if (!s)
        return;
    hn_executable_free(s->x);
    hn_free(s->heap, s->params);
    hn_free(s->heap, s->grads);
    hn_free(s->heap, s->updated);
    hn_free(s->heap, s);
}

hn_storage *hn_descent_storage(hn_descent *s)
{
    return hn_executable_storage(s->x);
}

const hn_plan *hn_descent_plan(const hn_descent *s)
{
    return hn_executable_look(s->x, MICRO);
}

hn_executable_bytes hn_descent_measure(const hn_descent *s)
{
    return hn_executable_measure(s->x);
}

const hn_executable *hn_descent_executable(const hn_descent *s)
{
    return s->x;
}

hn_status hn_descent_operations(const hn_descent *s, const int64_t *sizes, double *micro, double *once)
{
    double *const to[] = { [MICRO] = micro, [CHECK] = once, [UPDATE] = once };
    *micro = *once = 0;
    for (int which = MICRO; which <= UPDATE; which++) {
        hn_plan_work work;
        HN_TRY(hn_plan_work_new(hn_executable_look(s->x, which), s->heap, sizes, &work));
        *to[which] += work.all.flops;
        hn_plan_work_free(&work, s->heap);
    }
    return HN_OK;
}

hn_status hn_descent_make(hn_descent *s)
{
    return hn_executable_make(s->x);
}

int64_t hn_descent_count(const hn_descent *s)
{
    return s->n_done;
}

void hn_descent_set_count(hn_descent *s, int64_t count)
{
    s->n_done = count;
}

hn_status hn_descent_set_extent(hn_descent *s, int extent, int64_t size)
{
    return hn_program_set_extent(hn_executable_program(s->x, MICRO), extent, size);
}

hn_status hn_descent_begin(hn_descent *s)
{
    HN_REQUIRE(hn_executable_program(s->x, MICRO), HN_ERR_ARGUMENT,
               "a step that was planned and not made");
    s->is_open = true;
    s->is_checked = false;
    s->n_micro = 0;
    return hn_storage_zero_sums(hn_executable_storage(s->x));
}

hn_status hn_descent_micro(hn_descent *s, const hn_run_options *options)
{
    HN_REQUIRE(s->is_open, HN_ERR_ARGUMENT, "a micro-batch outside a step: begin one first");
    const hn_status status = hn_program_run(hn_executable_program(s->x, MICRO), options);
    if (status != HN_OK) /* the sums are spoiled: only a new step may use them */
        s->is_open = false;
    s->n_micro++;
    return status;
}

hn_status hn_descent_check(hn_descent *s, hn_descent_result *out)
{
    HN_REQUIRE(s->is_open, HN_ERR_ARGUMENT, "no step to finish: begin one first");
    HN_REQUIRE(s->n_micro, HN_ERR_ARGUMENT,
               "a step without a micro-batch: expected one at least before it is finished");
    HN_TRY(hn_program_run(hn_executable_program(s->x, CHECK), NULL));
    hn_tensor loss, norm;
    HN_TRY(hn_program_result(hn_executable_program(s->x, CHECK), 0, &loss));
    HN_TRY(hn_program_result(hn_executable_program(s->x, CHECK), 1, &norm));
    s->norm_value = hn_get(&norm, 0);
    *out = (hn_descent_result){ .loss = hn_get(&loss, 0), .grad_norm = sqrt(s->norm_value) };
    s->is_checked = true;
    if (isfinite(out->loss) && isfinite(out->grad_norm))
        return HN_OK;
    s->is_open = false;
    return hn_fail(HN_ERR_NUMERIC, "step %lld: loss %g, gradient norm %g: nothing was updated",
                   (long long)s->n_done + 1, out->loss, out->grad_norm);
}

hn_status hn_descent_finish(hn_descent *s, float learning_rate, hn_descent_result *out)
{
    HN_REQUIRE(isfinite(learning_rate) && learning_rate >= 0, HN_ERR_ARGUMENT,
               "learning rate %g: expected a finite number, not negative", (double)learning_rate);
    HN_TRY(hn_descent_check(s, out));
    s->hyper_values[0] = learning_rate;
    s->hyper_values[1] = (float)(s->n_done + 1);
    s->is_open = false;
    HN_TRY(hn_program_run(hn_executable_program(s->x, UPDATE), NULL));
    s->n_done++;
    return HN_OK;
}

hn_status hn_descent_gradient(hn_descent *s, int index, hn_tensor *out)
{
    HN_REQUIRE(index >= 0 && index < s->n_params && s->is_checked, HN_ERR_ARGUMENT,
               "gradient %d: expected 0 to %d, after a check", index, s->n_params - 1);
    return hn_program_result(hn_executable_program(s->x, CHECK), 2 + index, out);
}
