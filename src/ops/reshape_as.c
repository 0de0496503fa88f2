/* reshape_as: x in the shape of `like`, whose data is not read: the way back from a reshape when a
 * dimension is known only while running. */
#include "ops/ops.h"

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *x = &call->in[0]->type, *like = &call->in[1]->type;
    if (!hn_is_contiguous(x) || hn_is_block(x->dtype))
        return hn_refuse(call, "the input is strided or in blocks: expected a contiguous one");
    if (hn_count(x) != hn_count(like))
        return hn_refuse(call, "%lld elements do not make %lld", (long long)hn_count(x),
                         (long long)hn_count(like));
    return hn_type_make(out, x->dtype, like->rank, like->dim);
}

static void forward(const hn_call *call)
{
    hn_tensor_copy(call->out[0], call->in[0]);
}

static void backward(hn_grad *d)
{
    d->din[0] = hn_reshape_as(d->g, d->dout[0], d->in[0]);
}

static const char *const cases[] = { "f32[6] f32[2,3]", "f32[2,3,4] bf16[24]", NULL };
/* clang-format off */
const hn_op hn_op_reshape_as = {
    .name = "reshape_as", .summary = "y = x in the shape of like", .inputs = "x like~",
    .infer = infer, .forward = forward, .backward = backward,
    .view_of = HN_INPUT(0), .needs_contiguous = true, .cases = cases,
};
/* clang-format on */
hn_node *hn_reshape_as(hn_graph *g, hn_node *x, hn_node *like)
{
    return HN_APPLY(g, &hn_op_reshape_as, NULL, hn_packed(g, x), like);
}
