/* Nothing is run and no byte is looked at: each step's op is asked what it computes and moves for its types alone,
 * at their upper bounds, or inferred anew, as a program does it, for the sizes that are asked about. A view costs
 * nothing and is counted beside. A copy between devices is a step like any other, and its bytes are counted for the
 * device that they come to as well, for that is what a slow link is asked for. There is room for as many ops as steps,
 * since each might be another; there are few, so a row of them is searched from its beginning. */
#include "graph/plan_work.h"

#include <stdlib.h>

static hn_op_work *of_op(hn_plan_work *w, const hn_op *op)
{
    for (int i = 0; i < w->n_ops; i++)
        if (w->ops[i].op == op)
            return &w->ops[i];
    w->ops[w->n_ops] = (hn_op_work){ .op = op };
    return &w->ops[w->n_ops++];
}

static void add(hn_op_work *to, double flops, double bytes)
{
    to->n++;
    to->flops += flops;
    to->bytes += bytes;
}

/* A step as its op is asked; the tensors have no memory. */
typedef struct asked {
    hn_call call;
    hn_tensor in[HN_MAX_IN], out[HN_MAX_OUT];
} asked;

static void take_inputs(asked *a, const hn_step *step, const hn_type *types)
{
    a->call = (hn_call){ .op = step->op, .attrs = step->attrs, .n_in = step->n_in, .n_out = step->n_out };
    for (int i = 0; i < step->n_in; i++) {
        if (step->in[i] == HN_NO_VALUE)
            continue;
        a->in[i] = hn_tensor_at(&types[step->in[i]], NULL);
        a->call.in[i] = &a->in[i];
    }
}

static void add_step(hn_plan_work *w, const hn_step *step, const hn_type *types)
{
    asked a;
    if (hn_step_is_view(step)) {
        w->n_views++;
        return;
    }
    take_inputs(&a, step, types);
    for (int o = 0; o < step->n_out; o++) {
        if (step->out[o] == HN_NO_VALUE)
            continue;
        a.out[o] = hn_tensor_at(&types[step->out[o]], NULL);
        a.call.out[o] = &a.out[o];
    }
    const double flops = hn_call_flops(&a.call), bytes = hn_call_bytes(&a.call);
    add(of_op(w, step->op), flops, bytes);
    add(&w->all, flops, bytes);
    w->n_copies += step->crosses;
    w->arrives[step->device] += step->crosses ? (double)hn_type_bytes(&types[step->out[0]]) : 0;
    w->n_without_kernel += !step->support.has_kernel;
}

/* ---- types of other sizes ---- */

static void resize_leaf(const hn_leaf *leaf, const int64_t *sizes, hn_type *type)
{
    bool is_other = false;
    for (int i = 0; i < type->rank; i++)
        if (leaf->extent[i]) {
            type->dim[i] = sizes[leaf->extent[i] - 1];
            is_other = true;
        }
    if (is_other)
        hn_type_pack(type);
}

static hn_status infer_step(const hn_step *step, hn_type *types)
{
    asked a;
    hn_type made[HN_MAX_OUT];
    int64_t view_at;
    if (step->crosses) { /* as it lies: what is packed stays packed */
        made[0] = types[step->in[0]];
        if (!made[0].layout)
            hn_type_pack(&made[0]);
    } else {
        take_inputs(&a, step, types);
        HN_TRY(hn_call_infer(&a.call, made, &view_at));
    }
    for (int o = 0; o < step->n_out; o++)
        if (step->out[o] != HN_NO_VALUE)
            types[step->out[o]] = made[o];
    return HN_OK;
}

static hn_status resize(const hn_plan *plan, const int64_t *sizes, hn_type *types)
{
    for (int v = 0; v < plan->n_values; v++) {
        const hn_leaf *leaf = plan->values[v].step == HN_NO_VALUE ? plan->roots[plan->values[v].root].leaf : NULL;
        if (leaf)
            resize_leaf(leaf, sizes, &types[v]);
    }
    for (int s = 0; s < plan->n_steps; s++)
        HN_TRY(infer_step(&plan->steps[s], types));
    return HN_OK;
}

/* ---- all of it ---- */

static int computes_more(const void *a, const void *b)
{
    const hn_op_work *x = a, *y = b;
    if (x->flops != y->flops)
        return x->flops > y->flops ? -1 : 1;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

hn_status hn_plan_work_new(const hn_plan *plan, hn_heap *heap, const int64_t *sizes, hn_plan_work *out)
{
    hn_type *types = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)plan->n_values + 1, sizeof *types);
    *out = (hn_plan_work){ 0 };
    out->ops = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)plan->n_steps + 1, sizeof *out->ops);
    hn_status status = types && out->ops ? HN_OK : HN_ERR_MEMORY;
    for (int v = 0; v < plan->n_values && status == HN_OK; v++)
        types[v] = plan->values[v].type;
    if (status == HN_OK && sizes)
        status = resize(plan, sizes, types);
    for (int s = 0; s < plan->n_steps && status == HN_OK; s++)
        add_step(out, &plan->steps[s], types);
    hn_free(heap, types);
    if (status != HN_OK) {
        hn_plan_work_free(out, heap);
        return status;
    }
    qsort(out->ops, (size_t)out->n_ops, sizeof *out->ops, computes_more);
    return HN_OK;
}

void hn_plan_work_free(hn_plan_work *work, hn_heap *heap)
{
    hn_free(heap, work->ops);
    *work = (hn_plan_work){ 0 };
}
