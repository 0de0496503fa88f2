/* rms_norm_grad: with r = 1 / sqrt(mean(x^2) + eps), xhat = x * r and u = dy * gain:
 *     dx = r * (u - xhat * mean(u * xhat)),   dgain = acc + the sum over rows of dy * xhat.
 * dx may take the memory of x or of dy: a kernel that reads a row again after its first write to
 * it would be the bug of ggml issue 1491. */
#include "ops/ops.h"

typedef struct rms_norm_grad {
    float eps;
} rms_norm_grad;

static const hn_attr attrs[] = { HN_ATTR_FLOAT(rms_norm_grad, eps, "1e-5"), HN_ATTR_END };

enum { X, GAIN, DY, ACC };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const int64_t n = hn_last_dim(&call->in[X]->type);
    if (call->in[GAIN])
        HN_TRY(hn_expect_vector(call, GAIN, n));
    if (call->in[ACC])
        HN_TRY(hn_expect_vector(call, ACC, n));
    HN_TRY(hn_expect_same(call, DY, X));
    HN_TRY(hn_infer_like(call, X, &out[0]));
    return hn_type_make(&out[1], HN_F32, 1, &n); /* sums over tokens are f32 */
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *gain = call->in[GAIN], *dy = call->in[DY];
    const hn_tensor *acc = call->in[ACC], *dgain = call->out[1];
    const int64_t n = hn_last_dim(&x->type), end = hn_count(&x->type);
    const double eps = (double)((const rms_norm_grad *)call->attrs)->eps;
    for (int64_t i = 0; dgain && i < n; i++)
        hn_set(dgain, i, acc ? hn_get(acc, i) : 0);
    for (int64_t row = 0; row < end; row += n) {
        double sum_sq = 0, along = 0;
        for (int64_t i = 0; i < n; i++)
            sum_sq += hn_get(x, row + i) * hn_get(x, row + i);
        const double r = 1 / sqrt(sum_sq / (double)n + eps);
        for (int64_t i = 0; i < n; i++)
            along += hn_get(dy, row + i) * (gain ? hn_get(gain, i) : 1) * hn_get(x, row + i) * r;
        along /= (double)n;
        for (int64_t i = 0; i < n; i++) {
            const double xhat = hn_get(x, row + i) * r;
            const double u = hn_get(dy, row + i) * (gain ? hn_get(gain, i) : 1);
            if (dgain)
                hn_set(dgain, i, hn_get(dgain, i) + hn_get(dy, row + i) * xhat);
            hn_set(call->out[0], row + i, r * (u - xhat * along));
        }
    }
}

static const char *const cases[] = { "f32[1,4] f32[4] f32[1,4] eps=1e-4", "f32[3,17] - f32[3,17]",
                                     "f32[2,5,100] f32[100] f32[2,5,100] f32[100]",
                                     "bf16[4,64] f32[64] bf16[4,64]", NULL };
/* clang-format off */
const hn_op hn_op_rms_norm_grad = {
    .name = "rms_norm_grad", .summary = "dx, dgain of rms_norm", .inputs = "x gain? dy acc?",
    .outputs = "dx dgain", .attrs = attrs, .attrs_size = sizeof(rms_norm_grad), .infer = infer,
    .forward = forward, .no_gradient = "second derivatives are not provided",
    .flops_per_element = 10, .may_overwrite = { HN_IN(X) | HN_IN(DY) },
    .acc = { { HN_INPUT(ACC), 1 } }, .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_rms_norm_grad(hn_graph *g, hn_node *x, hn_node *gain, hn_node *dy, hn_node *acc,
                          float eps)
{
    return HN_APPLY(g, &hn_op_rms_norm_grad, &((rms_norm_grad){ eps }), x, gain, dy, acc);
}
