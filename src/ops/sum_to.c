/* sum_to: x summed over the dimensions along which `like` would be broadcast to it. Each element
 * is one chain in row-major order of x, from `acc` where given: biases, gains, shared scales. */
#include "ops/ops.h"

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *x = &call->in[0]->type, *like = &call->in[1]->type;
    HN_TRY(hn_expect_float(call, 0));
    if (like->rank > x->rank)
        return hn_refuse(call, "like has rank %d, x has rank %d", like->rank, x->rank);
    for (int i = 0; i < like->rank; i++) {
        const int64_t n = x->dim[x->rank - like->rank + i];
        if (like->dim[i] != n && like->dim[i] != 1)
            return hn_refuse(call, "dimension %d of like is %lld: expected %lld or 1", i,
                             (long long)like->dim[i], (long long)n);
    }
    HN_TRY(hn_type_make(out, HN_F32, like->rank, like->dim)); /* sums over tokens are f32 */
    if (!call->in[2])
        return HN_OK;
    HN_TRY(hn_expect_dtype(call, 2, HN_F32));
    return hn_expect_same(call, 2, 1);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[0], *acc = call->in[2], *y = call->out[0];
    for (int64_t i = 0; i < hn_count(&y->type); i++)
        hn_set(y, i, acc ? hn_get(acc, i) : 0);
    for (int64_t i = 0; i < hn_count(&x->type); i++) {
        const int64_t to = hn_broadcast_index(&y->type, &x->type, i);
        hn_set(y, to, hn_get(y, to) + hn_get(x, i));
    }
}

static void backward(hn_grad *d)
{
    if (d->wants[0])
        d->din[0] = hn_expand_as(d->g, d->dout[0], d->in[0]);
    if (d->wants[2])
        d->din[2] = d->dout[0];
}

static const char *const cases[] = { "f32[4,3] f32[3]", "f32[2,3,5] f32[3,1]", "f32[6,4] f32[]",
                                     "f32[4,3] f32[3] f32[3]", "bf16[8,5] bf16[5]", NULL };
/* clang-format off */
const hn_op hn_op_sum_to = {
    .name = "sum_to", .summary = "y = acc + x summed to the shape of like", .inputs = "x like~ acc?",
    .infer = infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .acc = { { HN_INPUT(2), 0 } }, .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_sum_to(hn_graph *g, hn_node *x, hn_node *like, hn_node *acc)
{
    return HN_APPLY(g, &hn_op_sum_to, NULL, x, like, acc);
}
