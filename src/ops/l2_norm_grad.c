/* l2_norm_grad: with r = 1 / |x| and y = x r:  dx = r (dy - y sum(y dy));  where |x| is eps or
 * less, dx = dy / eps. */
#include "ops/attrs.h"
#include "ops/ops.h"

enum { X, DY };

static const hn_attr attrs[] = { HN_ATTR_FLOAT(norm_attrs, eps, "1e-12"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_same(call, DY, X));
    return hn_infer_like(call, X, out);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *dy = call->in[DY];
    const int64_t n = hn_last_dim(&x->type), end = hn_count(&x->type);
    const double eps = (double)((const norm_attrs *)call->attrs)->eps;
    for (int64_t row = 0; row < end; row += n) {
        double sum_sq = 0, along = 0;
        for (int64_t i = 0; i < n; i++) {
            sum_sq += hn_get(x, row + i) * hn_get(x, row + i);
            along += hn_get(x, row + i) * hn_get(dy, row + i);
        }
        const double norm = sqrt(sum_sq), r = 1 / (norm > eps ? norm : eps);
        along = norm > eps ? along * r * r : 0;
        for (int64_t i = 0; i < n; i++)
            hn_set(call->out[0], row + i,
                   r * (hn_get(dy, row + i) - hn_get(x, row + i) * along));
    }
}

static const char *const cases[] = {
    "f32[1,2] f32[1,2]",       "f32[2,5,100] f32[2,5,100] eps=1e-6",
    "f32[3,17] f32[3,17]",     "f32[3,4] f32[3,4] eps=100",
    "bf16[4,256] bf16[4,256]", NULL
};
/* clang-format off */
const hn_op hn_op_l2_norm_grad = {
    .name = "l2_norm_grad", .summary = "dx of l2_norm", .inputs = "x dy", .outputs = "dx",
    .attrs = attrs, .attrs_size = sizeof(norm_attrs), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 7,
    .may_overwrite = { HN_IN(X) | HN_IN(DY) }, .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_l2_norm_grad(hn_graph *g, hn_node *x, hn_node *dy, float eps)
{
    return HN_APPLY(g, &hn_op_l2_norm_grad, &((norm_attrs){ eps }), x, dy);
}
