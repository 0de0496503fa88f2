/* spread: what a reduction of `like` over one dimension gave, shown all along that dimension; a
 * view with a stride of zero. The way back from a sum. */
#include "ops/reduction.h"

static const hn_attr attrs[] = REDUCTION_TABLE;

static hn_status infer(const hn_call *call, hn_type *out)
{
    const reduction_attrs *at = call->attrs;
    const hn_type *x = &call->in[0]->type;
    HN_TRY(axis_refuse_blocks(call, 0));
    HN_TRY(reduction_back(call, 0, 1, x->dtype, out));
    const int gone = axis_number(out, at->dim);
    for (int i = 0; i < out->rank; i++)
        out->stride[i] = i == gone ? 0 : x->stride[i > gone && !at->keep ? i - 1 : i];
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
    const reduction_attrs *at = d->attrs;
    d->din[0] = hn_sum(d->g, d->dout[0], NULL, at->dim, at->keep);
}

static const char *const cases[] = { "f32[] f32[1]",
                                     "f32[5] f32[5,33]",
                                     "f32[3,5] f32[3,7,5] dim=1",
                                     "f32[1,4] f32[6,4] dim=0 keep=1",
                                     "bf16[4,1] f32[4,8] keep=1",
                                     NULL };
/* clang-format off */
const hn_op hn_op_spread = {
    .name = "spread", .summary = "y = x all along dim of like", .inputs = "x like~",
    .attrs = attrs, .attrs_size = sizeof(reduction_attrs), .infer = infer, .forward = forward,
    .backward = backward, .view_of = HN_INPUT(0), .cases = cases,
};
/* clang-format on */
hn_node *hn_spread(hn_graph *g, hn_node *x, hn_node *like, int64_t dim, bool keep)
{
    return HN_APPLY(g, &hn_op_spread, &((reduction_attrs){ dim, keep }), x, like);
}
