/* outer: y[N,K] = acc + dy[T,N]^T * x[T,K], one chain over tokens for every element: the gradient
 * of linear's w. It is f32 whatever its inputs are, because it is a sum over tokens. */
#include "ops/ops.h"

enum { DY, X, ACC };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *dy = &call->in[DY]->type, *x = &call->in[X]->type;
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_float(call, X));
    if (hn_rows(dy) != hn_rows(x))
        return hn_refuse(call, "dy has %lld rows, x has %lld", (long long)hn_rows(dy),
                         (long long)hn_rows(x));
    const int64_t dim[2] = { hn_last_dim(dy), hn_last_dim(x) };
    HN_TRY(hn_type_make(out, HN_F32, 2, dim));
    if (!call->in[ACC])
        return HN_OK;
    HN_TRY(hn_expect_rank(call, ACC, 2));
    HN_TRY(hn_expect_dtype(call, ACC, HN_F32));
    HN_TRY(hn_expect_dim(call, ACC, 0, dim[0]));
    return hn_expect_dim(call, ACC, 1, dim[1]);
}

static void forward(const hn_call *call)
{
    const hn_tensor *dy = call->in[DY], *x = call->in[X], *acc = call->in[ACC];
    const int64_t n = hn_last_dim(&dy->type), k = hn_last_dim(&x->type), rows = hn_rows(&x->type);
    for (int64_t col = 0; col < n; col++)
        for (int64_t i = 0; i < k; i++) {
            double sum = acc ? hn_get(acc, col * k + i) : 0;
            for (int64_t row = 0; row < rows; row++)
                sum += hn_get(dy, row * n + col) * hn_get(x, row * k + i);
            hn_set(call->out[0], col * k + i, sum);
        }
}

static double flops(const hn_call *call)
{
    return 2.0 * (double)hn_count(&call->in[DY]->type) * (double)hn_last_dim(&call->in[X]->type);
}

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    if (d->wants[DY])
        d->din[DY] = hn_reshape_like(g, hn_linear(g, d->in[X], d->dout[0]), d->in[DY]);
    if (d->wants[X])
        d->din[X] = hn_reshape_like(g, hn_linear_back(g, d->in[DY], d->dout[0]), d->in[X]);
    if (d->wants[ACC])
        d->din[ACC] = d->dout[0];
}

static const char *const cases[] = { "f32[1,1] f32[1,1]", "f32[5,17] f32[5,33]",
                                     "f32[2,3,4] f32[2,3,8] f32[4,8]", "f32[2,3,4] f32[6,5]", "bf16[4,32] bf16[4,64]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_outer = {
    .name = "outer", .summary = "y[N,K] = acc + dy[T,N]^T * x[T,K]", .inputs = "dy x acc?",
    .infer = infer, .forward = forward, .backward = backward, .flops = flops,
    .acc = { { HN_INPUT(ACC), 0 } }, .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_outer(hn_graph *g, hn_node *dy, hn_node *x, hn_node *acc)
{
    return HN_APPLY(g, &hn_op_outer, NULL, dy, x, acc);
}
