/* expand_as: x broadcast to the shape of `like`, as a view with strides of zero. */
#include "ops/ops.h"

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *x = &call->in[0]->type, *like = &call->in[1]->type;
    if (x->rank > like->rank || hn_is_block(x->dtype))
        return hn_refuse(call, "x has rank %d, like has rank %d", x->rank, like->rank);
    HN_TRY(hn_type_make(out, x->dtype, like->rank, like->dim));
    for (int i = 0; i < like->rank; i++) {
        const int own = i - (like->rank - x->rank);
        if (own >= 0 && x->dim[own] != 1 && x->dim[own] != like->dim[i])
            return hn_refuse(call, "dimension %d is %lld: expected %lld or 1", own,
                             (long long)x->dim[own], (long long)like->dim[i]);
        out->stride[i] = own >= 0 && x->dim[own] != 1 ? x->stride[own] : 0;
    }
    return HN_OK;
}

static void forward(const hn_call *call)
{
    hn_tensor shown = { .data = call->in[0]->data };
    infer(call, &shown.type);
    hn_tensor_copy(call->out[0], &shown);
}

static void backward(hn_grad *d)
{
    d->din[0] = hn_sum_to(d->g, d->dout[0], d->in[0], NULL);
}

static const char *const cases[] = { "f32[3] f32[4,3]", "f32[2,1] f32[2,5]", "f32[] f32[2,2]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_expand_as = {
    .name = "expand_as", .summary = "y = x broadcast to the shape of like", .inputs = "x like~",
    .infer = infer, .forward = forward, .backward = backward, .view_of = HN_INPUT(0),
    .cases = cases,
};
/* clang-format on */
hn_node *hn_expand_as(hn_graph *g, hn_node *x, hn_node *like)
{
    return HN_APPLY(g, &hn_op_expand_as, NULL, x, like);
}
