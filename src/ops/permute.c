/* permute: dimension i of y is dimension order[i] of x; a view. */
#include "ops/ops.h"

typedef struct permute {
    hn_ints order;
} permute;

static const hn_attr attrs[] = { HN_ATTR_INTS(permute, order, NULL), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *x = &call->in[0]->type;
    const hn_ints *order = &((const permute *)call->attrs)->order;
    unsigned seen = 0;
    if (order->n != x->rank || hn_is_block(x->dtype))
        return hn_refuse(call, "%d dimensions given for an input of rank %d", order->n, x->rank);
    *out = *x;
    for (int i = 0; i < order->n; i++) {
        const int64_t from = order->at[i];
        if (from < 0 || from >= x->rank || seen >> from & 1)
            return hn_refuse(call, "order is not a permutation of %d dimensions", x->rank);
        seen |= 1u << from;
        out->dim[i] = x->dim[from];
        out->stride[i] = x->stride[from];
    }
    return HN_OK;
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[0], *y = call->out[0];
    hn_tensor shown = { .data = x->data };
    infer(call, &shown.type);
    hn_tensor_copy(y, &shown);
}

static void backward(hn_grad *d)
{
    const hn_ints *order = &((const permute *)d->attrs)->order;
    hn_ints back = { .n = order->n };
    for (int i = 0; i < order->n; i++)
        back.at[order->at[i]] = i;
    d->din[0] = hn_permute(d->g, d->dout[0], back);
}

static const char *const cases[] = { "f32[2,3] order=1,0", "f32[2,3,4] order=2,0,1",
                                     "bf16[5,1,3] order=0,2,1", NULL };
/* clang-format off */
const hn_op hn_op_permute = {
    .name = "permute", .summary = "dimension i of y is dimension order[i] of x", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(permute), .infer = infer, .forward = forward,
    .backward = backward, .view_of = HN_INPUT(0), .cases = cases,
};
/* clang-format on */
hn_node *hn_permute(hn_graph *g, hn_node *x, hn_ints order)
{
    return HN_APPLY(g, &hn_op_permute, &((permute){ order }), x);
}
