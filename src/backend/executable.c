/* The one way from a graph to something that runs:
 *
 *     hn_executable_plan   plan, verified: numbers, no memory. As many as the graph has programs
 *     ..._measure          what all of them would take
 *     ..._make             storage of all leaves, then each program, which takes a verified plan and nothing else
 *
 * Programs of one executable share its storage: what one leaves in a leaf the next one finds, wherever that leaf
 * lies. What is planned after a make takes another. It owns storage, plans and programs; devices and the graph
 * outlive it. */
#include "backend/executable.h"

#include "backend/frame.h"
#include "base/work.h"
#include "ops/ops.h"

#include <string.h>

struct hn_executable {
    const hn_graph *g;
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices, n_programs;
    hn_storage *storage;
    hn_verified_plan *plans[HN_MAX_PROGRAMS];
    hn_program *programs[HN_MAX_PROGRAMS];
};

hn_status hn_executable_new(hn_executable **out, const hn_graph *g, int n_devices,
                            hn_device *const *devices)
{
    *out = NULL;
    HN_REQUIRE(n_devices >= 1 && n_devices <= HN_MAX_DEVICES, HN_ERR_ARGUMENT,
               "%d devices: expected 1 to %d", n_devices, HN_MAX_DEVICES);
    hn_executable *x = hn_alloc(g->heap, HN_TAG_PLAN, sizeof *x);
    if (!x)
        return HN_ERR_MEMORY;
    x->g = g;
    x->n_devices = n_devices;
    memcpy(x->devices, devices, (size_t)n_devices * sizeof *devices);
    hn_status status = hn_devices_add_host(&x->n_devices, x->devices);
    if (status == HN_OK)
        status = hn_storage_new(&x->storage, g, x->n_devices, x->devices);
    if (status != HN_OK) {
        hn_executable_free(x);
        return status;
    }
    *out = x;
    return HN_OK;
}

void hn_executable_free(hn_executable *x)
{
    if (!x)
        return;
    for (int i = 0; i < x->n_programs; i++) {
        hn_program_free(x->programs[i]);
        hn_verified_plan_free(x->plans[i]);
    }
    hn_storage_free(x->storage);
    hn_free(x->g->heap, x);
}

hn_status hn_executable_plan(hn_executable *x, int n_wanted, hn_node *const *wanted,
                             const hn_plan_options *options)
{
    hn_plan_options o = *options;
    hn_target targets[HN_MAX_DEVICES];
    hn_plan *plan;
    HN_REQUIRE(x->n_programs < HN_MAX_PROGRAMS, HN_ERR_ARGUMENT, "more than %d programs of a graph",
               HN_MAX_PROGRAMS);
    for (int d = 0; d < x->n_devices; d++)
        targets[d] = hn_device_target(x->devices[d]);
    if (!o.copy)
        o.copy = &hn_op_contiguous;
    HN_TRY(hn_work_look("planning"));
    HN_TRY(hn_plan_new(&plan, x->g, n_wanted, wanted, x->n_devices, targets, &o));
    HN_TRY(hn_verified_plan_new(&x->plans[x->n_programs], plan, n_wanted, wanted));
    x->n_programs++;
    return HN_OK;
}

const hn_plan *hn_executable_look(const hn_executable *x, int program)
{
    return hn_verified_plan_look(x->plans[program]);
}

static size_t workspace_on(const hn_executable *x, int program, int device)
{
    const hn_plan *plan = hn_executable_look(x, program);
    return plan->workspace[device] + hn_frame_measure(plan, device).of_device;
}

hn_executable_bytes hn_executable_measure(const hn_executable *x)
{
    hn_executable_bytes bytes = { 0 };
    for (int i = 0; i < x->n_programs; i++)
        for (int d = 0; d < x->n_devices; d++)
            bytes.workspace += workspace_on(x, i, d);
    for (int i = 0; i < x->n_programs; i++)
        bytes.programs += x->programs[i] ? 0 : hn_program_bytes(hn_executable_look(x, i));
    for (int i = 0; i < x->g->n_leaves; i++) {
        const hn_leaf *leaf = x->g->leaves[i];
        const size_t n = hn_type_bytes(&leaf->type);
        switch (leaf->kind) {
        case HN_LEAF_ACC: bytes.sums += n; break;
        case HN_LEAF_STATE: bytes.states += n; break;
        case HN_LEAF_INPUT:
        case HN_LEAF_STEP: bytes.inputs += n; break;
        case HN_LEAF_WEIGHT: bytes.weights += hn_storage_has(x->storage, leaf) ? 0 : n; break;
        case HN_LEAF_CONSTANT: break; /* the graph's own */
        }
    }
    return bytes;
}

/* Weights of one name that graphs on one model read are one. */
static bool is_counted(const hn_executable *const *all, int n, const hn_leaf *leaf, const hn_device *device)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < all[k]->g->n_leaves; i++) {
            const hn_leaf *other = all[k]->g->leaves[i];
            if (other->kind == HN_LEAF_WEIGHT && !strcmp(other->name, leaf->name) &&
                other->type.dtype == leaf->type.dtype && other->type.layout == leaf->type.layout &&
                hn_same_shape(&other->type, &leaf->type) && hn_storage_measure(all[k]->storage, other).device == device)
                return true;
        }
    return false;
}

static void count_leaf(const hn_executable *x, const hn_leaf *leaf, hn_device_bytes *sum)
{
    const hn_leaf_bytes b = hn_storage_measure(x->storage, leaf);
    switch (leaf->kind) {
    case HN_LEAF_ACC: sum->sums += b.bytes; break;
    case HN_LEAF_STATE: sum->states += b.bytes; break;
    case HN_LEAF_INPUT:
    case HN_LEAF_STEP: sum->inputs += b.bytes; break;
    case HN_LEAF_WEIGHT: sum->weights += b.bytes; break;
    case HN_LEAF_CONSTANT: break;
    }
    sum->held += b.held;
}

static bool has_copy(const hn_plan *plan, const hn_leaf *leaf, int device)
{
    for (int r = 0; r < plan->n_roots; r++)
        if (plan->roots[r].leaf == leaf && plan->roots[r].device == device)
            return true;
    return false;
}

/* Bytes of weights that lie elsewhere and are kept here too, for this program and none before it. */
static size_t copies_on(const hn_executable *x, int program, int device)
{
    const hn_plan *plan = hn_executable_look(x, program);
    size_t bytes = 0;
    for (int r = 0; r < plan->n_roots; r++) {
        const hn_root *root = &plan->roots[r];
        bool is_counted = root->device != device || !hn_root_is_copy(plan, root);
        for (int i = 0; i < program && !is_counted; i++)
            is_counted = has_copy(hn_executable_look(x, i), root->leaf, device);
        bytes += is_counted ? 0 : root->bytes;
    }
    return bytes;
}

size_t hn_device_needs(const hn_device_bytes *b)
{
    const size_t all = b->weights + b->states + b->sums + b->inputs + b->workspace;
    return all > b->held ? all - b->held : 0;
}

hn_device_bytes hn_executables_on(int n, const hn_executable *const *all, const hn_device *device)
{
    hn_device_bytes sum = { 0 };
    for (int k = 0; k < n; k++) {
        const hn_executable *x = all[k];
        for (int i = 0; i < x->g->n_leaves; i++) {
            const hn_leaf *leaf = x->g->leaves[i];
            const bool is_there = hn_storage_measure(x->storage, leaf).device == device;
            if (is_there && (leaf->kind != HN_LEAF_WEIGHT || !is_counted(all, k, leaf, device)))
                count_leaf(x, leaf, &sum);
        }
        for (int d = 0; d < x->n_devices; d++)
            for (int i = 0; i < x->n_programs && x->devices[d] == device; i++) {
                sum.workspace += workspace_on(x, i, d);
                sum.weights += copies_on(x, i, d);
            }
    }
    return sum;
}

bool hn_executable_reads_in_place(const hn_executable *x, const hn_leaf *leaf)
{
    bool is_read = hn_storage_measure(x->storage, leaf).is_in_place;
    for (int i = 0; i < x->n_programs; i++)
        for (int d = 0; d < x->n_devices; d++)
            is_read = is_read || (hn_device_is_host(x->devices[d]) && has_copy(hn_executable_look(x, i), leaf, d));
    return is_read;
}

hn_storage *hn_executable_storage(const hn_executable *x)
{
    return x->storage;
}

hn_status hn_executable_make(hn_executable *x)
{
    HN_TRY(hn_work_look("making programs"));
    HN_TRY(hn_storage_make_all(x->storage));
    for (int i = 0; i < x->n_programs; i++)
        if (!x->programs[i])
            HN_TRY(hn_program_new(&x->programs[i], x->plans[i], x->storage, x->n_devices, x->devices));
    return HN_OK;
}

hn_program *hn_executable_program(const hn_executable *x, int program)
{
    return x && program >= 0 && program < x->n_programs ? x->programs[program] : NULL;
}
