/* combine_grad: dx[t,u] = weights[t,u] * dy[t],   dweights[t,u] = x[t,u] . dy[t]. A row of x is
 * read for its dot before dx is written over it. */
#include "ops/ops.h"

enum { X, WEIGHTS, DY };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_rank(call, X, 3));
    HN_TRY(hn_expect_float(call, WEIGHTS));
    HN_TRY(hn_expect_rank(call, WEIGHTS, 2));
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_rank(call, DY, 2));
    const hn_type *x = &call->in[X]->type, *weights = &call->in[WEIGHTS]->type;
    for (int i = 0; i < 2; i++) {
        HN_TRY(hn_expect_dim(call, WEIGHTS, i, x->dim[i]));
        HN_TRY(hn_expect_dim(call, DY, i, x->dim[2 * i]));
    }
    HN_TRY(hn_infer_like(call, X, &out[0]));
    return hn_type_make(&out[1], weights->dtype, 2, weights->dim);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *weights = call->in[WEIGHTS], *dy = call->in[DY];
    const int64_t n_used = x->type.dim[1], n = x->type.dim[2];
    for (int64_t row = 0; row < hn_count(&weights->type); row++) {
        const int64_t from = row / n_used * n;
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += hn_get(x, row * n + i) * hn_get(dy, from + i);
            hn_set(call->out[0], row * n + i, hn_get(weights, row) * hn_get(dy, from + i));
        }
        if (call->out[1])
            hn_set(call->out[1], row, sum);
    }
}

static const char *const cases[] = { "f32[1,1,1] f32[1,1] f32[1,1]",
                                     "f32[5,3,7] f32[5,3] f32[5,7]",
                                     "bf16[4,2,33] f32[4,2] bf16[4,33]", NULL };
/* clang-format off */
const hn_op hn_op_combine_grad = {
    .name = "combine_grad", .summary = "dx, dweights of combine", .inputs = "x weights dy",
    .outputs = "dx dweights", .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 3,
    .may_overwrite = { HN_IN(X) }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_combine_grad(hn_graph *g, hn_node *x, hn_node *weights, hn_node *dy)
{
    return HN_APPLY(g, &hn_op_combine_grad, NULL, x, weights, dy);
}
