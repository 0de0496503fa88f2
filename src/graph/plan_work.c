/* Nothing is run and no byte is looked at: each step's op is asked what it computes and moves for its types alone,
 * at their upper bounds. A view costs nothing and is counted beside. A copy between devices is a step like any
 * other, and its bytes are counted for the device that they come to as well, for that is what a slow link is asked
 * for. There is room for as many ops as steps, since each might be another; there are few, so a row of them is
 * searched from its beginning. */
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

static void add_step(hn_plan_work *w, const hn_plan *plan, const hn_step *step)
{
    hn_tensor in[HN_MAX_IN], out[HN_MAX_OUT];
    hn_call call = { .op = step->op, .attrs = step->attrs, .n_in = step->n_in, .n_out = step->n_out };
    if (hn_step_is_view(step)) {
        w->n_views++;
        return;
    }
    for (int i = 0; i < step->n_in; i++) {
        if (step->in[i] == HN_NO_VALUE)
            continue;
        in[i] = hn_tensor_at(&plan->values[step->in[i]].type, NULL);
        call.in[i] = &in[i];
    }
    for (int o = 0; o < step->n_out; o++) {
        if (step->out[o] == HN_NO_VALUE)
            continue;
        out[o] = hn_tensor_at(&plan->values[step->out[o]].type, NULL);
        call.out[o] = &out[o];
    }
    const double flops = hn_call_flops(&call), bytes = hn_call_bytes(&call);
    add(of_op(w, step->op), flops, bytes);
    add(&w->all, flops, bytes);
    w->n_copies += step->crosses;
    w->arrives[step->device] += step->crosses ? (double)hn_type_bytes(&out[0].type) : 0;
    w->n_without_kernel += !step->support.has_kernel;
}

static int computes_more(const void *a, const void *b)
{
    const hn_op_work *x = a, *y = b;
    if (x->flops != y->flops)
        return x->flops > y->flops ? -1 : 1;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

hn_status hn_plan_work_new(const hn_plan *plan, hn_heap *heap, hn_plan_work *out)
{
    *out = (hn_plan_work){ 0 };
    out->ops = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)plan->n_steps + 1, sizeof *out->ops);
    if (!out->ops)
        return HN_ERR_MEMORY;
    for (int s = 0; s < plan->n_steps; s++)
        add_step(out, plan, &plan->steps[s]);
    qsort(out->ops, (size_t)out->n_ops, sizeof *out->ops, computes_more);
    return HN_OK;
}

void hn_plan_work_free(hn_plan_work *work, hn_heap *heap)
{
    hn_free(heap, work->ops);
    *work = (hn_plan_work){ 0 };
}
