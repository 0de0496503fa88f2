/* Types are inferred again whenever an extent changed, addresses whenever storage changed; in between, a run hands
 * each device its calls, stretch after stretch:
 *
 *     steps    far  far  view  far | copy | cpu  cpu | copy | far  far
 *     handed   [--- a stretch ---]   to     [ one ]    to     [ one ]
 *                                    cpu               far
 *
 * The calls of a device lie in one list, in the order of the steps. The host goes on while devices work, and they wait for
 * each other by events; what makes it wait is the end. Somebody
 * who watches (progress, times, looking for what is not finite, poison) has them handed over one by one.
 *
 * Launches point to calls and calls to the table of values, once and for all: resolving writes that table, and
 * nothing else differs from run to run. A device that has the host's memory reads it there, so it stands still
 * until all devices were waited for, after a failure too. What a device refuses it writes down in its own memory (fault.h), and
 * leaves out what comes behind: that is read when all is done. Before anything runs, copies of weights are equal, types
 * and addresses of this run, and ids and counts that the host wrote lie in their tables. There are results only
 * after a run that came to its end and that the graph's guard let pass; until then the last ones are gone. */
#include "backend/program.h"

#include "backend/frame.h"
#include "backend/fault.h"
#include "base/os/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct hn_program {
    const hn_plan *plan;
    hn_storage *storage;
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    hn_buffer workspace[HN_MAX_DEVICES];
    hn_frame frames[HN_MAX_DEVICES];
    hn_tensor *values; /* by value: type and address of this run */
    hn_call *calls;    /* by step */
    hn_launch *launches;
    int begin[HN_MAX_DEVICES + 1]; /* a device's launches */
    bool is_compiled[HN_MAX_DEVICES];
    int *launch;    /* by step: its launch; -1: a view, or a copy from another device */
    hn_stage stage; /* for copies that go by way of the host */
    void **mirrors; /* by result: the host's copy of one that lies elsewhere */
    void *scanned;  /* the same of a value that is looked at */
    size_t scanned_bytes;
    int64_t extents[HN_MAX_EXTENTS];
    bool types_are_stale, is_fresh;
    uint64_t generation; /* of the storage that the addresses are of */
};

static bool is_launched(const hn_step *step)
{
    return !hn_step_is_view(step) && !step->crosses;
}

static bool lies_on_host(const hn_program *p, int v)
{
    return hn_device_is_host(p->devices[p->plan->roots[p->plan->values[v].root].device]);
}

static hn_status make_mirror(hn_program *p, int index)
{
    const int v = p->plan->result[index];
    if (lies_on_host(p, v) || p->mirrors[index])
        return HN_OK;
    p->mirrors[index] = hn_alloc(p->plan->heap, HN_TAG_WORKSPACE, hn_type_span(&p->plan->values[v].type));
    return p->mirrors[index] ? HN_OK : HN_ERR_MEMORY;
}

static hn_status allocate(hn_program *p)
{
    const hn_plan *plan = p->plan;
    hn_heap *heap = plan->heap;
    const size_t steps = (size_t)plan->n_steps + 1;
    size_t stage = 0;
    p->values = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)plan->n_values + 1, sizeof *p->values);
    p->calls = hn_alloc_array(heap, HN_TAG_PLAN, steps, sizeof *p->calls);
    p->launches = hn_alloc_array(heap, HN_TAG_PLAN, steps, sizeof *p->launches);
    p->launch = hn_alloc_array(heap, HN_TAG_PLAN, steps, sizeof *p->launch);
    p->mirrors = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)plan->n_results + 1, sizeof *p->mirrors);
    if (!p->values || !p->calls || !p->launches || !p->launch || !p->mirrors)
        return HN_ERR_MEMORY;
    for (int d = 0; d < p->n_devices; d++)
        if (plan->workspace[d])
            HN_TRY(p->devices[d]->backend->buffer_new(p->devices[d], HN_TAG_WORKSPACE,
                                                      plan->workspace[d], &p->workspace[d]));
    for (int s = 0; s < plan->n_steps; s++) {
        const hn_step *step = &plan->steps[s];
        if (!step->crosses)
            continue;
        const int source = plan->roots[plan->values[step->in[0]].root].device;
        const size_t bytes = hn_type_bytes(&plan->values[step->in[0]].type);
        if (hn_copy_stages(p->devices[step->device], p->devices[source]) && bytes > stage)
            stage = bytes;
    }
    /* Of many results few are looked at; where the guard looks at them, all are. */
    for (int i = 0; i < plan->n_results && !plan->options.results_are_judged; i++)
        HN_TRY(make_mirror(p, i));
    p->stage.at = stage ? hn_alloc(heap, HN_TAG_WORKSPACE, stage) : NULL;
    return stage && !p->stage.at ? HN_ERR_MEMORY : HN_OK;
}

/* Memory for the weights that this program reads on other devices than their own. */
static hn_status keep_copies(const hn_program *p)
{
    for (int r = 0; r < p->plan->n_roots; r++)
        if (hn_root_is_copy(p->plan, &p->plan->roots[r]))
            HN_TRY(hn_storage_keep(p->storage, p->plan->roots[r].leaf, p->devices[p->plan->roots[r].device]));
    return hn_storage_refresh(p->storage);
}

static void *base_of(const hn_program *p, int root_index)
{
    const hn_root *root = &p->plan->roots[root_index];
    size_t bytes;
    if (root->leaf)
        return hn_storage_address(p->storage, root->leaf, p->devices[root->device], &bytes);
    return (char *)p->workspace[root->device].data + root->offset;
}

/* ---- values that only the data can tell ---- */

static hn_status check_inputs(const hn_program *p)
{
    const hn_plan *plan = p->plan;
    for (int s = 0; s < plan->n_steps; s++) {
        const hn_step *step = &plan->steps[s];
        if (!hn_host_checks(plan, step))
            continue;
        hn_tensor blank[HN_MAX_IN];
        hn_call call = p->calls[s];
        for (int i = 0; i < step->n_in; i++) {
            if (step->in[i] < 0)
                continue;
            blank[i] = *call.in[i];
            blank[i].data = NULL;
            call.in[i] = step->op->checks & HN_IN(i) ? &p->values[hn_written_by_host(plan, step->in[i])]
                                                     : &blank[i];
        }
        HN_TRY(hn_launch_check(&(hn_launch){ .call = &call, .apply = step->apply }));
    }
    return HN_OK;
}

/* ---- making ---- */

static void link_step(hn_program *p, int s)
{
    const hn_step *step = &p->plan->steps[s];
    hn_call *call = &p->calls[s];
    *call = (hn_call){ .op = step->op, .attrs = step->attrs, .n_in = step->n_in,
                       .n_out = step->n_out };
    for (int i = 0; i < step->n_in; i++)
        call->in[i] = step->in[i] >= 0 ? &p->values[step->in[i]] : NULL;
    for (int o = 0; o < step->n_out; o++)
        call->out[o] = step->out[o] >= 0 ? &p->values[step->out[o]] : NULL;
    p->launch[s] = -1;
}

/* Calls point into the table of values once and for all. */
static hn_status link_all(hn_program *p)
{
    const hn_plan *plan = p->plan;
    int n = 0;
    for (int v = 0; v < plan->n_values; v++)
        p->values[v] = hn_tensor_at(&plan->values[v].type, NULL);
    for (int s = 0; s < plan->n_steps; s++)
        link_step(p, s);
    for (int d = 0; d < p->n_devices; d++) {
        p->begin[d] = n;
        for (int s = 0; s < plan->n_steps; s++) {
            const hn_step *step = &plan->steps[s];
            if (step->device != d || !is_launched(step))
                continue;
            p->launch[s] = n;
            p->launches[n++] = (hn_launch){
                .call = &p->calls[s], .apply = step->apply, .number = p->launch[s] - p->begin[d],
                .scratch = step->scratch >= 0 ? base_of(p, step->scratch) : NULL,
                .shared_scratch = step->support.shared_scratch,
                .thread_scratch = step->support.thread_scratch,
                .checks = step->op->check && !hn_host_checks(plan, step),
            };
        }
        p->begin[d + 1] = n;
        hn_launch *own = p->launches + p->begin[d];
        HN_TRY(hn_frame_new(&p->frames[d], plan->heap, p->devices[d], own, n - p->begin[d]));
        HN_TRY(p->devices[d]->backend->compile(p->devices[d], own, n - p->begin[d]));
        p->is_compiled[d] = true;
    }
    return HN_OK;
}

size_t hn_program_bytes(const hn_plan *plan)
{
    const hn_program *p = NULL;
    const size_t steps = (size_t)plan->n_steps + 1;
    size_t bytes = sizeof *p + ((size_t)plan->n_values + 1) * sizeof *p->values +
                   steps * (sizeof *p->calls + sizeof *p->launches + sizeof *p->launch) +
                   ((size_t)plan->n_results + 1) * sizeof *p->mirrors;
    for (int d = 0; d < plan->n_devices; d++)
        bytes += hn_frame_measure(plan, d).of_host;
    for (int i = 0; i < plan->n_results && !plan->options.results_are_judged; i++) {
        const hn_value *v = &plan->values[plan->result[i]];
        bytes += plan->targets[plan->roots[v->root].device].is_host ? 0 : hn_type_span(&v->type);
    }
    return bytes;
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
    hn_status status = allocate(p);
    if (status == HN_OK)
        status = keep_copies(p);
    if (status == HN_OK)
        status = link_all(p);
    if (status != HN_OK) {
        hn_program_free(p);
        return status;
    }
    *out = p;
    return HN_OK;
}

void hn_program_free(hn_program *p)
{
    if (!p)
        return;
    hn_heap *heap = p->plan->heap;
    for (int d = 0; d < p->n_devices; d++) {
        if (p->is_compiled[d])
            p->devices[d]->backend->discard(p->devices[d], p->launches + p->begin[d],
                                            p->begin[d + 1] - p->begin[d]);
        hn_frame_free(&p->frames[d]);
        if (p->workspace[d].device)
            p->devices[d]->backend->buffer_free(&p->workspace[d]);
    }
    for (int i = 0; p->mirrors && i < p->plan->n_results; i++)
        hn_free(heap, p->mirrors[i]);
    hn_free(heap, p->mirrors);
    hn_free(heap, p->scanned);
    hn_free(heap, p->stage.at);
    hn_free(heap, p->launch);
    hn_free(heap, p->launches);
    hn_free(heap, p->values);
    hn_free(heap, p->calls);
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

static hn_status resolve_leaf(hn_program *p, int value)
{
    const hn_root *root = &p->plan->roots[p->plan->values[value].root];
    const hn_leaf *leaf = root->leaf;
    size_t bytes;
    void *data = hn_storage_address(p->storage, leaf, p->devices[root->device], &bytes);
    HN_REQUIRE(data, HN_ERR_ARGUMENT, "%s is not bound to memory", leaf->name);
    hn_type type = leaf->type;
    type.layout = p->plan->values[value].type.layout;
    for (int i = 0; i < type.rank; i++)
        if (leaf->extent[i])
            type.dim[i] = p->extents[leaf->extent[i] - 1];
    hn_type_pack(&type);
    HN_REQUIRE(hn_type_bytes(&type) <= bytes, HN_ERR_SHAPE, "%s: memory of %zu bytes: this run takes %zu",
               leaf->name, bytes, hn_type_bytes(&type));
    p->values[value] = hn_tensor_at(&type, data);
    return HN_OK;
}

static hn_status resolve_leaves(hn_program *p)
{
    const hn_plan *plan = p->plan;
    for (int v = 0; v < plan->n_values; v++)
        if (plan->values[v].step == HN_NO_VALUE && plan->roots[plan->values[v].root].leaf)
            HN_TRY(resolve_leaf(p, v));
    return HN_OK;
}

static hn_status resolve_step(hn_program *p, int s)
{
    const hn_step *step = &p->plan->steps[s];
    hn_type types[HN_MAX_OUT];
    int64_t view_at = 0;
    if (step->crosses) { /* as it lies: what is packed stays packed */
        types[0] = p->values[step->in[0]].type;
        if (!types[0].layout)
            hn_type_pack(&types[0]);
    } else {
        HN_TRY(hn_call_infer(&p->calls[s], types, &view_at));
    }
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
    for (int d = 0; d < p->n_devices; d++)
        hn_frame_set(&p->frames[d]);
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
        hn_device *device = p->devices[root->device];
        if (!root->leaf && root->last == s && root->bytes)
            HN_TRY(device->backend->fill(device, base_of(p, r), NAN_BYTE, root->bytes));
    }
    return HN_OK;
}

/* A value as the host can read it: where it lies, or the bytes that it spans in `*copy`. */
static hn_status look(const hn_program *p, int v, void *copy, hn_tensor *out)
{
    hn_device *device = p->devices[p->plan->roots[p->plan->values[v].root].device];
    *out = p->values[v];
    if (hn_device_is_host(device))
        return device->backend->wait(device);
    out->data = copy;
    return hn_device_read(device, copy, p->values[v].data, hn_type_span(&out->type));
}

static hn_status look_at_any(hn_program *p, int v, hn_tensor *out)
{
    const size_t bytes = hn_type_span(&p->values[v].type);
    if (!lies_on_host(p, v) && bytes > p->scanned_bytes) {
        hn_free(p->plan->heap, p->scanned);
        p->scanned_bytes = 0;
        p->scanned = hn_alloc(p->plan->heap, HN_TAG_WORKSPACE, bytes);
        if (!p->scanned)
            return HN_ERR_MEMORY;
        p->scanned_bytes = bytes;
    }
    return look(p, v, p->scanned, out);
}

static hn_status look_at_result(hn_program *p, int index, hn_tensor *out)
{
    HN_TRY(make_mirror(p, index));
    return look(p, p->plan->result[index], p->mirrors[index], out);
}

static hn_status scan_step(hn_program *p, int s)
{
    const hn_step *step = &p->plan->steps[s];
    char name[HN_NODE_TEXT], type[HN_TYPE_TEXT];
    for (int o = 0; o < step->n_out; o++) {
        hn_tensor y;
        if (step->out[o] < 0 || !hn_is_float(p->values[step->out[o]].type.dtype))
            continue;
        HN_TRY(look_at_any(p, step->out[o], &y));
        for (int64_t i = 0; i < hn_count(&y.type); i++)
            HN_REQUIRE(isfinite(hn_get(&y, i)), HN_ERR_NUMERIC,
                       "%s: element %lld of its output %s is %g",
                       step->apply ? hn_apply_text(step->apply, name) : "copy", (long long)i,
                       hn_type_text(&y.type, type), hn_get(&y, i));
    }
    return HN_OK;
}

/* What the host wrote before the run, or has mapped, and no step updates lies there until all devices were waited for: it is
 * sent from its place. What the host's own calls made may be gone by then, and is copied first. */
static hn_status cross(hn_program *p, int s)
{
    const hn_step *step = &p->plan->steps[s];
    const hn_call *call = &p->calls[s];
    const hn_root *root = &p->plan->roots[p->plan->values[step->in[0]].root];
    hn_device *to = p->devices[step->device], *source = p->devices[root->device];
    const size_t bytes = hn_type_bytes(&call->out[0]->type);
    if (hn_device_is_host(source) && root->leaf && !root->leaf->version)
        return to->backend->send(to, call->out[0]->data, call->in[0]->data, bytes);
    return hn_device_copy(to, call->out[0]->data, source, call->in[0]->data, bytes, &p->stage);
}

static bool is_watched(const hn_program *p, const hn_run_options *options)
{
    return options->progress || options->step_ns || options->scan ||
           p->plan->options.mode == HN_PLAN_POISON;
}

/* Hands over step `s`, with those after it that belong to it; `*end` is the first that does not. */
static hn_status hand_over(hn_program *p, int s, const hn_run_options *options, int *end)
{
    const hn_plan *plan = p->plan;
    const hn_step *steps = plan->steps;
    hn_device *device = p->devices[steps[s].device];
    hn_submission stretch = { .at = &p->launches[p->launch[s]], .n = 1, .cancel = options->cancel,
                              .fault = p->frames[steps[s].device].fault };
    for (*end = s + 1; *end < plan->n_steps && !is_watched(p, options); ++*end) {
        if (hn_step_is_view(&steps[*end]))
            continue;
        if (steps[*end].crosses || steps[*end].device != steps[s].device)
            break;
        stretch.n++;
    }
    return device->backend->submit(device, &stretch);
}

/* What devices that are done say: of several that refused a call, the one that did so at the first step. */
static hn_status hear(hn_program *p)
{
    hn_fault first = { 0 };
    int at = p->plan->n_steps, on = 0;
    for (int d = 0; d < p->n_devices; d++) {
        hn_fault says;
        HN_TRY(hn_frame_fault(&p->frames[d], &says));
        for (int s = 0; says.kind && s < at; s++)
            if (p->launch[s] == p->begin[d] + says.launch)
                first = says, at = s, on = d;
    }
    return first.kind ? hn_frame_say(&p->frames[on], &first) : HN_OK;
}

static hn_status run_steps(hn_program *p, int s, const hn_run_options *options, int *end)
{
    const hn_plan *plan = p->plan;
    hn_device *device = p->devices[plan->steps[s].device];
    const int64_t start = options->step_ns ? hn_clock_ns() : 0;
    *end = s + 1;
    if (hn_step_is_view(&plan->steps[s]))
        return HN_OK;
    HN_REQUIRE(!hn_is_cancelled(options->cancel), HN_ERR_CANCELLED, "cancelled");
    HN_TRY(plan->steps[s].crosses ? cross(p, s) : hand_over(p, s, options, end));
    if (options->step_ns || options->scan)
        HN_TRY(device->backend->wait(device));
    if (options->scan)
        HN_TRY(hear(p));
    if (options->step_ns)
        options->step_ns[s] += hn_clock_ns() - start;
    return options->scan ? scan_step(p, s) : HN_OK;
}

/* What the graph's guard says of the run: nobody comes to a result past it. */
static hn_status ask_guard(hn_program *p)
{
    const hn_graph_guard *guard = &p->plan->g->guard;
    if (guard->ran)
        HN_TRY(guard->ran(guard->context));
    for (int i = 0; guard->gave && !p->plan->options.results_are_judged && i < p->plan->n_results; i++) {
        hn_tensor result;
        if (!hn_is_float(p->values[p->plan->result[i]].type.dtype))
            continue;
        HN_TRY(look_at_result(p, i, &result));
        HN_TRY(guard->gave(guard->context, &result));
    }
    return HN_OK;
}

/* Who scans wants to know where a number that is none was met first, and nothing else. */
static hn_status ask_whence(const hn_program *p, hn_status failed, const hn_run_options *options)
{
    const hn_graph_guard *guard = &p->plan->g->guard;
    const bool scans = options && options->scan;
    return failed == HN_ERR_NUMERIC && guard->met && !scans ? guard->met(guard->context) : failed;
}

static hn_status run_all(hn_program *p, const hn_run_options *options)
{
    const int n = p->plan->n_steps;
    HN_TRY(check_inputs(p));
    for (int d = 0; d < p->n_devices; d++)
        HN_TRY(hn_frame_send(&p->frames[d]));
    if (p->plan->options.mode == HN_PLAN_POISON)
        HN_TRY(poison_all(p));
    for (int s = 0, end; s < n; s = end) {
        const hn_status status = run_steps(p, s, options, &end);
        if (status == HN_ERR_CANCELLED)
            return hn_fail(status, "cancelled in step %d of %d", s + 1, n);
        HN_TRY(status);
        if (p->plan->options.mode == HN_PLAN_POISON)
            HN_TRY(poison_dead(p, s));
        if (options->progress)
            options->progress(options->progress_context, (double)end / n);
    }
    for (int d = 0; d < p->n_devices; d++)
        HN_TRY(p->devices[d]->backend->wait(p->devices[d]));
    return hear(p);
}

/* Nothing is still under way when a run that failed returns; its first failure stands. */
static hn_status settle(hn_program *p, hn_status failed)
{
    char first[1024];
    snprintf(first, sizeof first, "%s", hn_error_message());
    for (int d = 0; d < p->n_devices; d++)
        (void)p->devices[d]->backend->wait(p->devices[d]);
    return hn_fail(failed, "%s", first);
}

hn_status hn_program_run(hn_program *p, const hn_run_options *options)
{
    static const hn_run_options none = { 0 };
    HN_REQUIRE(p, HN_ERR_ARGUMENT, "a program that was planned and not made");
    p->is_fresh = true; /* a run that fails has no results */
    HN_TRY(hn_storage_refresh(p->storage));
    HN_TRY(resolve(p));
    const hn_status status = run_all(p, options ? options : &none);
    if (status != HN_OK)
        return ask_whence(p, settle(p, status), options);
    HN_TRY(ask_guard(p));
    p->is_fresh = false;
    return HN_OK;
}

hn_status hn_program_result(hn_program *p, int index, hn_tensor *out)
{
    HN_REQUIRE(p, HN_ERR_ARGUMENT, "a program that was planned and not made");
    HN_REQUIRE(index >= 0 && index < p->plan->n_results && !p->is_fresh, HN_ERR_ARGUMENT,
               "result %d of %d, %s", index, p->plan->n_results,
               p->is_fresh ? "before a run that came to its end" : "out of range");
    return look_at_result(p, index, out);
}

size_t hn_program_workspace(const hn_program *p, int device)
{
    return p->workspace[device].bytes;
}
