/* layer_norm_grad: with xhat = (x - mean) r, r = 1 / sqrt(variance + eps) and u = dy * gain:
 *     dx = r (u - mean(u) - xhat mean(u xhat)),
 *     dgain = acc_gain + the sum over rows of dy xhat,   dbias = acc_bias + that of dy. */
#include "ops/attrs.h"
#include "ops/ops.h"

enum { X, GAIN, DY, ACC_GAIN, ACC_BIAS };

static const hn_attr attrs[] = { HN_ATTR_FLOAT(norm_attrs, eps, "1e-5"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const int64_t n = hn_last_dim(&call->in[X]->type);
    if (call->in[GAIN]) {
        HN_TRY(hn_expect_float(call, GAIN));
        HN_TRY(hn_expect_vector(call, GAIN, n));
    }
    for (int i = ACC_GAIN; i <= ACC_BIAS; i++) {
        if (!call->in[i])
            continue;
        HN_TRY(hn_expect_dtype(call, i, HN_F32));
        HN_TRY(hn_expect_vector(call, i, n));
    }
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_same(call, DY, X));
    HN_TRY(hn_infer_like(call, X, &out[0]));
    HN_TRY(hn_type_make(&out[1], HN_F32, 1, &n)); /* sums over tokens are f32 */
    return hn_type_make(&out[2], HN_F32, 1, &n);
}

static void start(const hn_tensor *sum, const hn_tensor *acc)
{
    for (int64_t i = 0; sum && i < hn_count(&sum->type); i++)
        hn_set(sum, i, acc ? hn_get(acc, i) : 0);
}

static void add_to(const hn_tensor *sum, int64_t i, double value)
{
    if (sum)
        hn_set(sum, i, hn_get(sum, i) + value);
}

static void one_row(const hn_call *call, int64_t row, int64_t n, double eps)
{
    const hn_tensor *x = call->in[X], *gain = call->in[GAIN], *dy = call->in[DY];
    double mean = 0, variance = 0, mean_u = 0, along = 0;
    for (int64_t i = 0; i < n; i++)
        mean += hn_get(x, row + i);
    mean /= (double)n;
    for (int64_t i = 0; i < n; i++)
        variance += (hn_get(x, row + i) - mean) * (hn_get(x, row + i) - mean);
    const double r = 1 / sqrt(variance / (double)n + eps);
    for (int64_t i = 0; i < n; i++) {
        const double u = hn_get(dy, row + i) * (gain ? hn_get(gain, i) : 1);
        mean_u += u / (double)n;
        along += u * (hn_get(x, row + i) - mean) * r / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        const double xhat = (hn_get(x, row + i) - mean) * r, slope = hn_get(dy, row + i);
        const double u = slope * (gain ? hn_get(gain, i) : 1);
        add_to(call->out[1], i, slope * xhat);
        add_to(call->out[2], i, slope);
        hn_set(call->out[0], row + i, r * (u - mean_u - xhat * along));
    }
}

static void forward(const hn_call *call)
{
    const int64_t n = hn_last_dim(&call->in[X]->type), end = hn_count(&call->in[X]->type);
    start(call->out[1], call->in[ACC_GAIN]);
    start(call->out[2], call->in[ACC_BIAS]);
    for (int64_t row = 0; row < end; row += n)
        one_row(call, row, n, (double)((const norm_attrs *)call->attrs)->eps);
}

static const char *const cases[] = { "f32[1,4] f32[4] f32[1,4] eps=1e-4",
                                     "f32[3,17] - f32[3,17]",
                                     "f32[2,5,100] f32[100] f32[2,5,100] f32[100] f32[100]",
                                     "f32[3,8] f32[8] f32[3,8] - f32[8] eps=1",
                                     "bf16[4,64] f32[64] bf16[4,64]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_layer_norm_grad = {
    .name = "layer_norm_grad", .summary = "dx, dgain, dbias of layer_norm",
    .inputs = "x gain? dy acc_gain? acc_bias?", .outputs = "dx dgain dbias", .attrs = attrs,
    .attrs_size = sizeof(norm_attrs), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 16,
    .may_overwrite = { HN_IN(X) | HN_IN(DY) },
    .acc = { { HN_INPUT(ACC_GAIN), 1 }, { HN_INPUT(ACC_BIAS), 2 } },
    .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_layer_norm_grad(hn_graph *g, hn_node *x, hn_node *gain, hn_node *dy,
                            hn_node *acc_gain, hn_node *acc_bias, float eps)
{
    return HN_APPLY(g, &hn_op_layer_norm_grad, &((norm_attrs){ eps }), x, gain, dy, acc_gain,
                    acc_bias);
}
