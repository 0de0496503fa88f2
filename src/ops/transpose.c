/* transpose: two dimensions of x change places, the last two if none are named; a view. */
#include "ops/axis.h"

static const hn_attr attrs[] = { HN_ATTR_INT(transpose_attrs, a, "-2"),
                                 HN_ATTR_INT(transpose_attrs, b, "-1"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *x = &call->in[0]->type;
    const transpose_attrs *at = call->attrs;
    HN_TRY(axis_check(call, 0, at->a));
    HN_TRY(axis_check(call, 0, at->b));
    HN_TRY(axis_refuse_blocks(call, 0));
    const int a = axis_number(x, at->a), b = axis_number(x, at->b);
    *out = *x;
    out->dim[a] = x->dim[b];
    out->dim[b] = x->dim[a];
    out->stride[a] = x->stride[b];
    out->stride[b] = x->stride[a];
    return HN_OK;
}

static void forward(const hn_call *call)
{
    hn_type shown;
    infer(call, &shown);
    const hn_tensor x = hn_tensor_at(&shown, call->in[0]->data);
    hn_tensor_copy(call->out[0], &x);
}

static void backward(hn_grad *d)
{
    const transpose_attrs *at = d->attrs;
    d->din[0] = hn_transpose(d->g, d->dout[0], at->a, at->b);
}

static const char *const cases[] = { "f32[2,3]",       "f32[2,3,4] a=0 b=2",    "bf16[5,1,3]",
                                     "f32[7] a=0 b=0", "f32[2,3,4,5] a=1 b=-2", NULL };
/* clang-format off */
const hn_op hn_op_transpose = {
    .name = "transpose", .summary = "dimensions a and b of x change places", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(transpose_attrs), .infer = infer, .forward = forward,
    .backward = backward, .view_of = HN_INPUT(0), .cases = cases,
};
/* clang-format on */
hn_node *hn_transpose(hn_graph *g, hn_node *x, int64_t a, int64_t b)
{
    return HN_APPLY(g, &hn_op_transpose, &((transpose_attrs){ a, b }), x);
}
