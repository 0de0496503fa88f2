/* rms_norm: y = gain * x / sqrt(mean(x^2) + eps), one row (last dimension) at a time.
 * Models that store gain - 1 (Gemma) add the one when the weight is loaded, not here. */
#include "ops/ops.h"

typedef struct rms_norm {
    float eps; /* inside the root, as in LLaMA */
} rms_norm;

static const hn_attr attrs[] = { HN_ATTR_FLOAT(rms_norm, eps, "1e-5"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    if (call->in[1])
        HN_TRY(hn_expect_vector(call, 1, hn_last_dim(&call->in[0]->type)));
    return hn_infer_like(call, 0, out);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[0], *gain = call->in[1];
    const int64_t n = hn_last_dim(&x->type), end = hn_count(&x->type);
    const double eps = (double)((const rms_norm *)call->attrs)->eps;
    for (int64_t row = 0; row < end; row += n) {
        double sum_sq = 0;
        for (int64_t i = 0; i < n; i++)
            sum_sq += hn_get(x, row + i) * hn_get(x, row + i);
        const double r = 1 / sqrt(sum_sq / (double)n + eps);
        for (int64_t i = 0; i < n; i++)
            hn_set(call->out[0], row + i,
                   hn_get(x, row + i) * r * (gain ? hn_get(gain, i) : 1));
    }
}

static void backward(hn_grad *d)
{
    const float eps = ((const rms_norm *)d->attrs)->eps;
    hn_node *dx = hn_rms_norm_grad(d->g, d->in[0], d->in[1], d->dout[0], NULL, eps);
    d->din[0] = dx;
    if (d->wants[1])
        d->din[1] = hn_output(dx, 1);
}

static const char *const cases[] = { "f32[1,1] f32[1]", "f32[2,5,100] f32[100] eps=1e-6",
                                     "f32[2,8] f32[8] eps=1", "f32[3,17]", "bf16[4,256] f32[256]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_rms_norm = {
    .name = "rms_norm", .summary = "y = gain * x / sqrt(mean(x^2) + eps)", .inputs = "x gain?",
    .attrs = attrs, .attrs_size = sizeof(rms_norm), .infer = infer, .forward = forward,
    .backward = backward, .flops_per_element = 4, .may_overwrite = { HN_IN(0) },
    .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_rms_norm(hn_graph *g, hn_node *x, hn_node *gain, float eps)
{
    return HN_APPLY(g, &hn_op_rms_norm, &((rms_norm){ eps }), x, gain);
}
