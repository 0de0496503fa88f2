/* combine: y[t] = sum over u, ascending, of weights[t,u] * x[t,u]: a token's experts put
 * together. */
#include "ops/ops.h"

enum { X, WEIGHTS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(hn_expect_rank(call, X, 3));
    HN_TRY(hn_expect_float(call, WEIGHTS));
    HN_TRY(hn_expect_rank(call, WEIGHTS, 2));
    const hn_type *x = &call->in[X]->type;
    for (int i = 0; i < 2; i++)
        HN_TRY(hn_expect_dim(call, WEIGHTS, i, x->dim[i]));
    const int64_t dim[2] = { x->dim[0], x->dim[2] };
    return hn_type_make(out, x->dtype, 2, dim);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *weights = call->in[WEIGHTS];
    const int64_t n_used = x->type.dim[1], n = x->type.dim[2];
    for (int64_t t = 0; t < x->type.dim[0]; t++)
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t u = t * n_used; u < (t + 1) * n_used; u++)
                sum += hn_get(weights, u) * hn_get(x, u * n + i);
            hn_set(call->out[0], t * n + i, sum);
        }
}

static double flops(const hn_call *call) { return 2.0 * (double)hn_count(&call->in[X]->type); }

static void backward(hn_grad *d)
{
    hn_node *dx = hn_combine_grad(d->g, d->in[X], d->in[WEIGHTS], d->dout[0]);
    if (d->wants[X])
        d->din[X] = dx;
    if (d->wants[WEIGHTS])
        d->din[WEIGHTS] = hn_output(dx, 1);
}

static const char *const cases[] = { "f32[1,1,1] f32[1,1]", "f32[5,3,7] f32[5,3]",
                                     "bf16[4,2,33] f32[4,2]", NULL };
/* clang-format off */
const hn_op hn_op_combine = {
    .name = "combine", .summary = "y[t] = sum over u of weights[t,u] * x[t,u]",
    .inputs = "x weights", .affine_in = HN_IN(X) | HN_IN(WEIGHTS), .infer = infer,
    .forward = forward, .backward = backward, .flops = flops, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_combine(hn_graph *g, hn_node *x, hn_node *weights)
{
    return HN_APPLY(g, &hn_op_combine, NULL, x, weights);
}
