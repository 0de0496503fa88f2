/* where: y = cond ? a : b, broadcast like numpy. A value that is not chosen gets no gradient
 * and cannot make the other one NaN. */
#include "ops/pairwise.h"

enum { COND, A, B };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_dtype(call, COND, HN_U8));
    HN_TRY(hn_expect_float(call, A));
    HN_TRY(hn_expect_float(call, B));
    return hn_broadcast(call, 3, out);
}

static void forward(const hn_call *call)
{
    const hn_tensor *cond = call->in[COND], *y = call->out[0];
    const int64_t n = hn_count(&y->type);
    for (int64_t i = 0; i < n; i++) {
        const bool is_a = hn_get_int(cond, hn_broadcast_index(&cond->type, &y->type, i)) != 0;
        const hn_tensor *from = call->in[is_a ? A : B];
        hn_set(y, i, hn_get(from, hn_broadcast_index(&from->type, &y->type, i)));
    }
}

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    hn_node *cond = d->in[COND], *dy = d->dout[0], *zero = pairwise_zero(g, dy);
    if (d->wants[A])
        d->din[A] = hn_unbroadcast(g, hn_where(g, cond, dy, zero), d->in[A]);
    if (d->wants[B])
        d->din[B] = hn_unbroadcast(g, hn_where(g, cond, zero, dy), d->in[B]);
}

static const char *const cases[] = { "u8[1] f32[1] f32[1]",
                                     "u8[3,5] f32[3,5] f32[3,5]",
                                     "u8[3,1] f32[5] f32[2,3,5]",
                                     "u8[4,6] f32[] f32[4,1]",
                                     "u8[1] f32[7] f32[7]",
                                     "u8[9] bf16[7,9] bf16[7,9]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_where = {
    .name = "where", .summary = "y = cond ? a : b", .inputs = "cond! a b",
    .affine_in = HN_IN(A) | HN_IN(B), .is_jointly_affine = true,
    .infer = infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .may_overwrite = { HN_IN(A) | HN_IN(B) }, .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_where(hn_graph *g, hn_node *cond, hn_node *a, hn_node *b)
{
    return HN_APPLY(g, &hn_op_where, NULL, cond, a, b);
}
