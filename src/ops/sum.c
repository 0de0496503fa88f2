/* sum: over one dimension. Over the first one it is a sum over tokens: f32 whatever x is, one
 * chain in ascending order, from `acc` where given. Over any other it has the order of rows. */
#include "ops/reduction.h"

enum { X, ACC };

static const hn_attr attrs[] = REDUCTION_TABLE;

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *x = &call->in[X]->type;
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(axis_check(call, X, reduction_of(call->attrs)->dim));
    const bool over_tokens = axis_number(x, reduction_of(call->attrs)->dim) == 0;
    HN_TRY(reduction_type(call, X, over_tokens ? HN_F32 : x->dtype, out));
    if (!call->in[ACC])
        return HN_OK;
    if (!over_tokens)
        return hn_refuse(call, "only sums over dimension 0 continue from an accumulator");
    HN_TRY(hn_expect_dtype(call, ACC, HN_F32));
    HN_TRY(hn_expect_rank(call, ACC, out->rank));
    for (int i = 0; i < out->rank; i++)
        HN_TRY(hn_expect_dim(call, ACC, i, out->dim[i]));
    return HN_OK;
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *acc = call->in[ACC];
    const axis a = axis_of(&x->type, reduction_of(call->attrs)->dim);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t i = 0; i < a.inner; i++) {
            double sum = acc ? hn_get(acc, o * a.inner + i) : 0;
            for (int64_t k = 0; k < a.n; k++)
                sum += hn_get(x, (o * a.n + k) * a.inner + i);
            hn_set(call->out[0], o * a.inner + i, sum);
        }
}

static void backward(hn_grad *d)
{
    const reduction_attrs *at = d->attrs;
    if (d->wants[X])
        d->din[X] = hn_spread(d->g, d->dout[0], d->in[X], at->dim, at->keep);
    if (d->wants[ACC])
        d->din[ACC] = d->dout[0];
}

static const char *const cases[] = { "f32[1]",
                                     "f32[5,33]",
                                     "f32[3,7,5] dim=1",
                                     "f32[6,4] - dim=0 keep=1",
                                     "f32[6,4] f32[4] dim=0",
                                     "f32[9] f32[]",
                                     "bf16[5,8] - dim=0",
                                     "f16[4,64] - keep=1",
                                     NULL };
/* clang-format off */
const hn_op hn_op_sum = {
    .name = "sum", .summary = "y = acc + the sum of x over dim", .inputs = "x acc?",
    .attrs = attrs, .attrs_size = sizeof(reduction_attrs), .infer = infer, .forward = forward,
    .backward = backward, .flops = reduction_flops, .acc = { { HN_INPUT(ACC), 0 } },
    .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_sum(hn_graph *g, hn_node *x, hn_node *acc, int64_t dim, bool keep)
{
    return HN_APPLY(g, &hn_op_sum, &((reduction_attrs){ dim, keep }), x, acc);
}
