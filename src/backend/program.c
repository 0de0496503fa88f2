/* Types are inferred again whenever an extent changed, addresses whenever storage changed; in
 * between, a run is a walk over resolved calls. */
#include "backend/program.h"

#include "base/os/clock.h"

#include <math.h>
#include <string.h>

struct hn_program {
    const hn_plan *plan;
    hn_storage *storage;
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    hn_buffer workspace[HN_MAX_DEVICES];
    hn_tensor *values;    /* by value: type and address of this run */
    hn_call *calls;       /* by step */
    const void **binding; /* by step */
    int64_t extents[HN_MAX_EXTENTS];
    bool types_are_stale, is_fresh;
    uint64_t generation; /* of the storage that the addresses are of */
};

static hn_status allocate(hn_program *p)
{
    const hn_plan *plan = p->plan;
    hn_heap *heap = plan->heap;
    p->values = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)plan->n_values + 1, sizeof *p->values);
    p->calls = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)plan->n_steps + 1, sizeof *p->calls);
    p->binding = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)plan->n_steps + 1, sizeof *p->binding);
    if (!p->values || !p->calls || !p->binding)
        return HN_ERR_MEMORY;
    for (int d = 0; d < p->n_devices; d++)
        if (plan->workspace[d])
            HN_TRY(p->devices[d]->backend->buffer_new(p->devices[d], HN_TAG_WORKSPACE,
                                                      plan->workspace[d], &p->workspace[d]));
    return HN_OK;
}

/* Calls point into the table of values once and for all. */
static void link_calls(hn_program *p)
{
    const hn_plan *plan = p->plan;
    for (int v = 0; v < plan->n_values; v++)
        p->values[v] = hn_tensor_at(&plan->values[v].type, NULL);
    for (int s = 0; s < plan->n_steps; s++) {
        const hn_step *step = &plan->steps[s];
        hn_call *call = &p->calls[s];
        *call = (hn_call){ .op = step->op, .attrs = step->attrs, .n_in = step->n_in,
                           .n_out = step->n_out };
        for (int i = 0; i < step->n_in; i++)
            call->in[i] = step->in[i] >= 0 ? &p->values[step->in[i]] : NULL;
        for (int o = 0; o < step->n_out; o++)
            call->out[o] = step->out[o] >= 0 ? &p->values[step->out[o]] : NULL;
        hn_device *device = p->devices[step->device];
        p->binding[s] = hn_step_is_view(step) ? NULL : device->backend->bind(device, call);
    }
}

hn_status hn_program_new(hn_program **out, const hn_verified_plan *verified, hn_storage *storage,
                         int n_devices, hn_device *const *devices)
{
    const hn_plan *plan = hn_verified_plan_look(verified);
    *out = NULL;
    HN_REQUIRE(n_devices == plan->n_devices, HN_ERR_ARGUMENT,
               "%d devices given: the plan was made for %d", n_devices, plan->n_devices);
    hn_program *p = hn_alloc(plan->heap, HN_TAG_PLAN, sizeof *p);
    if (!p)
        return HN_ERR_MEMORY;
    p->plan = plan;
    p->storage = storage;
    p->n_devices = n_devices;
    p->types_are_stale = p->is_fresh = true;
    for (int d = 0; d < n_devices; d++)
        p->devices[d] = devices[d];
    for (int e = 0; e < plan->g->n_extents; e++)
        p->extents[e] = plan->g->extents[e].max;
    const hn_status status = allocate(p);
    if (status != HN_OK) {
        hn_program_free(p);
        return status;
    }
    link_calls(p);
    *out = p;
    return HN_OK;
}

void hn_program_free(hn_program *p)
{
    if (!p)
        return;
    for (int d = 0; d < p->n_devices; d++)
        if (p->workspace[d].device)
            p->devices[d]->backend->buffer_free(&p->workspace[d]);
    hn_heap *heap = p->plan->heap;
    hn_free(heap, p->values);
    hn_free(heap, p->calls);
    hn_free(heap, p->binding);
    hn_free(heap, p);
}

hn_status hn_program_set_extent(hn_program *p, int extent, int64_t size)
{
    HN_REQUIRE(p, HN_ERR_ARGUMENT, "a program that was planned and not made");
    const hn_graph *g = p->plan->g;
    HN_REQUIRE(extent >= 0 && extent < g->n_extents, HN_ERR_ARGUMENT, "unknown extent %d", extent);
    HN_REQUIRE(size >= 1 && size <= g->extents[extent].max, HN_ERR_ARGUMENT,
               "extent %s is %lld: expected 1 to %lld", g->extents[extent].name, (long long)size,
               (long long)g->extents[extent].max);
    if (p->extents[extent] != size) {
        p->extents[extent] = size;
        p->types_are_stale = true;
    }
    return HN_OK;
}

/* ---- resolving ---- */

static hn_status resolve_leaves(hn_program *p)
{
    const hn_plan *plan = p->plan;
    for (int l = 0; l < plan->g->n_leaves; l++) {
        const hn_leaf *leaf = plan->g->leaves[l];
        const int value = plan->leaf_value[l];
        if (value == HN_NO_VALUE)
            continue;
        void *data = hn_storage_data(p->storage, leaf);
        HN_REQUIRE(data, HN_ERR_ARGUMENT, "%s is not bound to memory", leaf->name);
        hn_type type = leaf->type;
        for (int i = 0; i < type.rank; i++)
            if (leaf->extent[i])
                type.dim[i] = p->extents[leaf->extent[i] - 1];
        hn_type_pack(&type);
        p->values[value] = hn_tensor_at(&type, data);
    }
    return HN_OK;
}

static void *base_of(const hn_program *p, int root_index)
{
    const hn_root *root = &p->plan->roots[root_index];
    if (root->leaf)
        return hn_storage_data(p->storage, root->leaf);
    return (char *)p->workspace[root->device].data + root->offset;
}

static hn_status resolve_step(hn_program *p, int s)
{
    const hn_step *step = &p->plan->steps[s];
    hn_type types[HN_MAX_OUT];
    int64_t view_at;
    HN_TRY(hn_call_infer(&p->calls[s], types, &view_at));
    for (int o = 0; o < step->n_out; o++) {
        const int v = step->out[o];
        if (v < 0)
            continue;
        void *data = hn_step_is_view(step)
                         ? (char *)p->values[step->in[step->op->view_of - 1]].data + view_at
                         : base_of(p, p->plan->values[v].root);
        p->values[v] = hn_tensor_at(&types[o], data);
        HN_REQUIRE(hn_type_span(&types[o]) <= p->plan->roots[p->plan->values[v].root].bytes,
                   HN_ERR_SHAPE, "%s: its output outgrew its memory", step->op->name);
    }
    return HN_OK;
}

static hn_status resolve(hn_program *p)
{
    const uint64_t generation = hn_storage_generation(p->storage);
    if (!p->types_are_stale && generation == p->generation)
        return HN_OK;
    HN_TRY(resolve_leaves(p));
    for (int s = 0; s < p->plan->n_steps; s++)
        HN_TRY(resolve_step(p, s));
    p->types_are_stale = false;
    p->generation = generation;
    return HN_OK;
}

/* ---- running ---- */

enum { NAN_BYTE = 0xff }; /* all bits set is a NaN in every float type */

static hn_status poison_all(hn_program *p)
{
    for (int d = 0; d < p->n_devices; d++)
        if (p->workspace[d].device)
            HN_TRY(p->devices[d]->backend->fill(p->devices[d], p->workspace[d].data, NAN_BYTE,
                                                p->workspace[d].bytes));
    return HN_OK;
}

static hn_status poison_dead(hn_program *p, int s)
{
    for (int r = 0; r < p->plan->n_roots; r++) {
        const hn_root *root = &p->plan->roots[r];
        if (root->leaf || root->last != s || !root->bytes)
            continue;
        hn_device *device = p->devices[root->device];
        HN_TRY(device->backend->wait(device));
        HN_TRY(device->backend->fill(device, base_of(p, r), NAN_BYTE, root->bytes));
    }
    return HN_OK;
}

static hn_status scan_step(const hn_program *p, int s)
{
    const hn_step *step = &p->plan->steps[s];
    char name[HN_NODE_TEXT], type[HN_TYPE_TEXT];
    for (int o = 0; o < step->n_out; o++) {
        if (step->out[o] < 0 || !hn_is_float(p->values[step->out[o]].type.dtype))
            continue;
        const hn_tensor *y = &p->values[step->out[o]];
        for (int64_t i = 0; i < hn_count(&y->type); i++)
            HN_REQUIRE(isfinite(hn_get(y, i)), HN_ERR_NUMERIC,
                       "%s: element %lld of its output %s is %g",
                       step->apply ? hn_apply_text(step->apply, name) : "copy", (long long)i,
                       hn_type_text(&y->type, type), hn_get(y, i));
    }
    return HN_OK;
}

static hn_status launch(hn_program *p, int s)
{
    const hn_step *step = &p->plan->steps[s];
    const hn_call *call = &p->calls[s];
    hn_device *device = p->devices[step->device];
    if (step->crosses) {
        const hn_root *from = &p->plan->roots[p->plan->values[step->in[0]].root];
        hn_device *source = p->devices[from->device];
        HN_TRY(source->backend->wait(source));
        return device->backend->copy(device, call->out[0]->data, source, call->in[0]->data,
                                     hn_type_bytes(&call->out[0]->type));
    }
    if (step->op->check) {
        HN_TRY(device->backend->wait(device));
        const hn_status status = step->op->check(call);
        char name[HN_NODE_TEXT];
        if (status != HN_OK)
            return step->apply ? hn_fail_within(status, "%s: ", hn_apply_text(step->apply, name))
                               : status;
    }
    const hn_launch l = { .call = call, .binding = p->binding[s],
                          .scratch = step->scratch >= 0 ? base_of(p, step->scratch) : NULL,
                          .shared_scratch = step->support.shared_scratch,
                          .thread_scratch = step->support.thread_scratch };
    return device->backend->submit(device, &l);
}

static hn_status run_step(hn_program *p, int s, const hn_run_options *options)
{
    const hn_plan *plan = p->plan;
    hn_device *device = p->devices[plan->steps[s].device];
    if (options->cancel && atomic_load(options->cancel))
        return hn_fail(HN_ERR_CANCELLED, "cancelled after %d of %d steps", s, plan->n_steps);
    if (!hn_step_is_view(&plan->steps[s])) {
        const int64_t start = options->step_ns ? hn_clock_ns() : 0;
        HN_TRY(launch(p, s));
        if (options->step_ns || options->scan)
            HN_TRY(device->backend->wait(device));
        if (options->step_ns)
            options->step_ns[s] += hn_clock_ns() - start;
        if (options->scan)
            HN_TRY(scan_step(p, s));
    }
    if (plan->options.mode == HN_PLAN_POISON)
        HN_TRY(poison_dead(p, s));
    return HN_OK;
}

/* What the graph's guard says of the run: nobody comes to a result past it. */
static hn_status ask_guard(const hn_program *p)
{
    const hn_graph_guard *guard = &p->plan->g->guard;
    if (guard->ran)
        HN_TRY(guard->ran(guard->context));
    for (int i = 0; guard->gave && !p->plan->options.results_are_judged && i < p->plan->n_results; i++)
        if (hn_is_float(p->values[p->plan->result[i]].type.dtype))
            HN_TRY(guard->gave(guard->context, &p->values[p->plan->result[i]]));
    return HN_OK;
}

hn_status hn_program_run(hn_program *p, const hn_run_options *options)
{
    static const hn_run_options none = { 0 };
    HN_REQUIRE(p, HN_ERR_ARGUMENT, "a program that was planned and not made");
    HN_TRY(resolve(p));
    if (p->plan->options.mode == HN_PLAN_POISON)
        HN_TRY(poison_all(p));
    options = options ? options : &none;
    p->is_fresh = true; /* a run that fails has no results */
    for (int s = 0; s < p->plan->n_steps; s++) {
        HN_TRY(run_step(p, s, options));
        if (options->progress)
            options->progress(options->progress_context, (s + 1.0) / p->plan->n_steps);
    }
    for (int d = 0; d < p->n_devices; d++)
        HN_TRY(p->devices[d]->backend->wait(p->devices[d]));
    HN_TRY(ask_guard(p));
    p->is_fresh = false;
    return HN_OK;
}

hn_status hn_program_result(const hn_program *p, int index, hn_tensor *out)
{
    HN_REQUIRE(p, HN_ERR_ARGUMENT, "a program that was planned and not made");
    HN_REQUIRE(index >= 0 && index < p->plan->n_results && !p->is_fresh, HN_ERR_ARGUMENT,
               "result %d of %d, %s", index, p->plan->n_results,
               p->is_fresh ? "before a run that came to its end" : "out of range");
    *out = p->values[p->plan->result[index]];
    return HN_OK;
}

size_t hn_program_workspace(const hn_program *p, int device)
{
    return p->workspace[device].bytes;
}
