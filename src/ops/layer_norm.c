/* layer_norm: y = gain * (x - mean) / sqrt(variance + eps) + bias, one row (last dimension) at
 * a time; the variance is the mean of (x - mean)^2. */
#include "ops/attrs.h"
#include "ops/ops.h"

enum { X, GAIN, BIAS };

static const hn_attr attrs[] = { HN_ATTR_FLOAT(norm_attrs, eps, "1e-5"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    for (int i = GAIN; i <= BIAS; i++) {
        if (!call->in[i])
            continue;
        HN_TRY(hn_expect_float(call, i));
        HN_TRY(hn_expect_vector(call, i, hn_last_dim(&call->in[X]->type)));
    }
    return hn_infer_like(call, X, out);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *gain = call->in[GAIN], *bias = call->in[BIAS];
    const int64_t n = hn_last_dim(&x->type), end = hn_count(&x->type);
    const double eps = (double)((const norm_attrs *)call->attrs)->eps;
    for (int64_t row = 0; row < end; row += n) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < n; i++)
            mean += hn_get(x, row + i);
        mean /= (double)n;
        for (int64_t i = 0; i < n; i++)
            variance += (hn_get(x, row + i) - mean) * (hn_get(x, row + i) - mean);
        const double r = 1 / sqrt(variance / (double)n + eps);
        for (int64_t i = 0; i < n; i++)
            hn_set(call->out[0], row + i,
                   (hn_get(x, row + i) - mean) * r * (gain ? hn_get(gain, i) : 1) +
                       (bias ? hn_get(bias, i) : 0));
    }
}

static void backward(hn_grad *d)
{
    const float eps = ((const norm_attrs *)d->attrs)->eps;
    hn_node *dx = hn_layer_norm_grad(d->g, d->in[X], d->in[GAIN], d->dout[0], NULL, NULL, eps);
    d->din[X] = dx;
    d->din[GAIN] = hn_output(dx, 1);
    d->din[BIAS] = hn_output(dx, 2);
}

static const char *const cases[] = { "f32[1,2] eps=0.1",
                                     "f32[2,5,100] f32[100] f32[100] eps=1e-6",
                                     "f32[2,8] f32[8] - eps=1",
                                     "f32[3,17] - f32[17]",
                                     "bf16[4,256] f32[256] f32[256]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_layer_norm = {
    .name = "layer_norm", .summary = "y = gain * (x - mean) / sqrt(variance + eps) + bias",
    .inputs = "x gain? bias?", .attrs = attrs, .attrs_size = sizeof(norm_attrs), .infer = infer,
    .forward = forward, .backward = backward, .flops_per_element = 7,
    .may_overwrite = { HN_IN(X) }, .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_layer_norm(hn_graph *g, hn_node *x, hn_node *gain, hn_node *bias, float eps)
{
    return HN_APPLY(g, &hn_op_layer_norm, &((norm_attrs){ eps }), x, gain, bias);
}
