/* Every run has fresh storage, so that no state of one run can help another. */
#include "prove/runner.h"

#include "graph/layout.h"

#include <math.h>
#include <string.h>

hn_status hn_leaf_values_new(hn_leaf_values *out, const hn_graph *g)
{
    out->n = g->n_leaves;
    out->at = hn_alloc_array(g->heap, HN_TAG_PROVE, (size_t)g->n_leaves + 1, sizeof *out->at);
    return out->at ? HN_OK : HN_ERR_MEMORY;
}

void hn_leaf_values_free(hn_leaf_values *values, hn_heap *heap)
{
    for (int i = 0; values->at && i < values->n; i++)
        hn_free(heap, values->at[i].data);
    hn_free(heap, values->at);
    *values = (hn_leaf_values){ 0 };
}

hn_tensor *hn_leaf_values_make(hn_leaf_values *values, hn_heap *heap, const hn_leaf *leaf)
{
    hn_tensor *t = &values->at[leaf->id];
    const hn_type type = hn_type_plain(&leaf->type);
    void *data = hn_alloc(heap, HN_TAG_PROVE, hn_type_bytes(&type));
    if (!data)
        return NULL;
    *t = hn_tensor_at(&type, data);
    return t;
}

void hn_results_free(hn_results *results)
{
    for (int i = 0; results->at && i < results->n; i++)
        hn_free(results->heap, results->at[i].data);
    hn_free(results->heap, results->at);
    *results = (hn_results){ 0 };
}

static hn_status fill_storage(hn_storage *storage, const hn_graph *g, const hn_leaf_values *values)
{
    for (int i = 0; i < g->n_leaves; i++) {
        const hn_leaf *leaf = g->leaves[i];
        if (leaf->kind == HN_LEAF_CONSTANT)
            continue;
        const hn_tensor *given = i < values->n && values->at[i].data ? &values->at[i] : NULL;
        HN_TRY(hn_storage_make(storage, leaf));
        if (given && leaf->type.layout)
            HN_TRY(hn_storage_pack(storage, leaf, &(hn_plain_rows){ given->data, leaf->type.dtype, 0 }));
        else if (given)
            HN_TRY(hn_storage_write(storage, leaf, 0, given->data, hn_type_bytes(&leaf->type)));
    }
    return HN_OK;
}

static hn_status copy_results(hn_program *program, int n, hn_heap *heap, hn_results *out)
{
    *out = (hn_results){ .heap = heap, .n = n };
    out->at = hn_alloc_array(heap, HN_TAG_PROVE, (size_t)n + 1, sizeof *out->at);
    if (!out->at)
        return HN_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        hn_tensor got;
        HN_TRY(hn_program_result(program, i, &got));
        const hn_type packed = hn_type_plain(&got.type);
        void *data = hn_alloc(heap, HN_TAG_PROVE, hn_type_bytes(&packed));
        if (!data)
            return HN_ERR_MEMORY;
        out->at[i] = hn_tensor_at(&packed, data);
        hn_tensor_copy(&out->at[i], &got);
    }
    return HN_OK;
}

static void count_taken(const hn_plan *plan, hn_run_setup *setup)
{
    memset(setup->n_taken, 0, sizeof setup->n_taken);
    setup->workspace = 0;
    for (int d = 0; d < plan->n_devices; d++)
        setup->workspace += plan->workspace[d];
    for (int s = 0; s < plan->n_steps; s++)
        for (int o = 0; plan->steps[s].op == setup->watch && o < plan->steps[s].n_out; o++)
            if (plan->steps[s].took[o] >= 0)
                setup->n_taken[plan->steps[s].took[o]]++;
}

static hn_status run_executable(hn_executable *x, const hn_graph *g, int n_wanted,
                                hn_node *const *wanted, const hn_leaf_values *values,
                                hn_run_setup *setup, hn_results *out)
{
    const hn_plan_options options = { .mode = setup->mode };
    HN_TRY(hn_executable_plan(x, n_wanted, wanted, &options));
    count_taken(hn_executable_look(x, 0), setup);
    HN_TRY(fill_storage(hn_executable_storage(x), g, values));
    HN_TRY(hn_executable_make(x));
    setup->devices[0]->backend->shuffle(setup->devices[0], setup->shuffle);
    const hn_status status = hn_program_run(hn_executable_program(x, 0), NULL);
    setup->devices[0]->backend->shuffle(setup->devices[0], 0);
    HN_TRY(status);
    return copy_results(hn_executable_program(x, 0), n_wanted, g->heap, out);
}

hn_status hn_run_graph(const hn_graph *g, int n_wanted, hn_node *const *wanted,
                       const hn_leaf_values *values, hn_run_setup *setup, hn_results *out)
{
    *out = (hn_results){ .heap = g->heap };
    hn_executable *x;
    HN_TRY(hn_executable_new(&x, g, setup->n_devices, setup->devices));
    const hn_status status = run_executable(x, g, n_wanted, wanted, values, setup, out);
    hn_executable_free(x);
    if (status != HN_OK)
        hn_results_free(out);
    return status;
}

static bool same_element(const hn_tensor *a, const hn_tensor *b, int64_t i)
{
    const size_t bytes = hn_dtype_bytes(a->type.dtype);
    if (!memcmp((char *)a->data + (size_t)i * bytes, (char *)b->data + (size_t)i * bytes, bytes))
        return true;
    return hn_is_float(a->type.dtype) && isnan(hn_get(a, i)) && isnan(hn_get(b, i));
}

bool hn_same_results(const hn_results *a, const hn_results *b, int *which, int64_t *element)
{
    for (int r = 0; r < a->n; r++) {
        *which = r;
        *element = 0;
        if (!hn_same_shape(&a->at[r].type, &b->at[r].type) ||
            a->at[r].type.dtype != b->at[r].type.dtype)
            return false;
        if (!memcmp(a->at[r].data, b->at[r].data, hn_type_bytes(&a->at[r].type)))
            continue;
        for (int64_t i = 0; i < hn_count(&a->at[r].type); i++)
            if (!same_element(&a->at[r], &b->at[r], i)) {
                *element = i;
                return false;
            }
    }
    return true;
}
