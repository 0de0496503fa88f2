/* l2_norm: y = x / max(|x|, eps), |x| the root of the sum of squares of a row. */
#include "ops/attrs.h"
#include "ops/ops.h"

static const hn_attr attrs[] = { HN_ATTR_FLOAT(norm_attrs, eps, "1e-12"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    return hn_infer_like(call, 0, out);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[0];
    const int64_t n = hn_last_dim(&x->type), end = hn_count(&x->type);
    const double eps = (double)((const norm_attrs *)call->attrs)->eps;
    for (int64_t row = 0; row < end; row += n) {
        double sum_sq = 0;
        for (int64_t i = 0; i < n; i++)
            sum_sq += hn_get(x, row + i) * hn_get(x, row + i);
        const double norm = sqrt(sum_sq), r = 1 / (norm > eps ? norm : eps);
        for (int64_t i = 0; i < n; i++)
            hn_set(call->out[0], row + i, hn_get(x, row + i) * r);
    }
}

static void backward(hn_grad *d)
{
    const float eps = ((const norm_attrs *)d->attrs)->eps;
    d->din[0] = hn_l2_norm_grad(d->g, d->in[0], d->dout[0], eps);
}

static const char *const cases[] = { "f32[1,2]",         "f32[2,5,100] eps=1e-6", "f32[3,17]",
                                     "f32[3,4] eps=100", "bf16[4,256]",           NULL };
/* clang-format off */
const hn_op hn_op_l2_norm = {
    .name = "l2_norm", .summary = "y = x / max(|x|, eps)", .inputs = "x", .attrs = attrs,
    .attrs_size = sizeof(norm_attrs), .infer = infer, .forward = forward, .backward = backward,
    .flops_per_element = 3, .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_l2_norm(hn_graph *g, hn_node *x, float eps)
{
    return HN_APPLY(g, &hn_op_l2_norm, &((norm_attrs){ eps }), x);
}
