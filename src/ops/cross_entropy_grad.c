/* cross_entropy_grad: with dz[t,v] = (exp(z - lse) - [v == label]) * dloss * weights[t] /
 * count, and ds = dz times the slope of z by x . w: dx[t] = sum over v of ds * w[v],   dw[v] =
 * acc + sum over t, ascending, of ds * x[t]. Rows without a label have dx = 0 and no part in
 * dw. */
#include "ops/cross_entropy.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_CROSS_ENTROPY_ATTRS;

enum { X, W, LABELS, WEIGHTS, COUNT, LSE, DLOSS, ACC };
enum { CHANNELS = 256 }; /* of dx that are summed at a time */

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_cross_entropy_expect(call));
    const hn_type *w = &call->in[W]->type;
    HN_TRY(hn_expect_dtype(call, LSE, HN_F32));
    HN_TRY(hn_expect_vector(call, LSE, call->in[X]->type.dim[0]));
    HN_TRY(hn_expect_float(call, DLOSS));
    HN_TRY(hn_expect_scalar(call, DLOSS));
    if (call->in[ACC]) {
        HN_TRY(hn_expect_dtype(call, ACC, HN_F32));
        HN_TRY(hn_expect_same(call, ACC, W));
    }
    HN_TRY(hn_infer_like(call, X, &out[0]));
    return hn_type_make(&out[1], HN_F32, 2, w->dim);
}

static double slope(const hn_call *call, int64_t t, int64_t v, double factor)
{
    double bend;
    const double z = hn_cross_entropy_logit(call, t, v, &bend);
    const double is_label = v == hn_get_int(call->in[LABELS], t) ? 1 : 0;
    return (hn_math_exp(z - hn_get(call->in[LSE], t)) - is_label) * factor * bend;
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *w = call->in[W], *acc = call->in[ACC],
                    *dw = call->out[1];
    const int64_t ignore = ((const hn_cross_entropy_attrs *)call->attrs)->ignore;
    const int64_t c = x->type.dim[1], n_words = w->type.dim[0];
    for (int64_t i = 0; dw && i < hn_count(&dw->type); i++)
        hn_set(dw, i, acc ? hn_get(acc, i) : 0);
    for (int64_t t = 0; t < x->type.dim[0]; t++) {
        const bool is_label = hn_get_int(call->in[LABELS], t) != ignore;
        const double factor =
            hn_get(call->in[DLOSS], 0) * hn_loss_factor(call, WEIGHTS, t, COUNT, 1);
        for (int64_t from = 0; from < c; from += CHANNELS) {
            const int64_t n = c - from < CHANNELS ? c - from : CHANNELS;
            double sum[CHANNELS] = { 0 };
            for (int64_t v = 0; is_label && v < n_words; v++) {
                const double ds = slope(call, t, v, factor);
                for (int64_t i = from; i < from + n; i++) {
                    sum[i - from] += ds * hn_get(w, v * c + i);
                    if (dw)
                        hn_set(dw, v * c + i,
                               hn_get(dw, v * c + i) + ds * hn_get(x, t * c + i));
                }
            }
            for (int64_t i = 0; i < n; i++)
                hn_set(call->out[0], t * c + from + i, sum[i]);
        }
    }
}

static double flops(const hn_call *call)
{
    return 6.0 * (double)hn_count(&call->in[X]->type) * (double)call->in[W]->type.dim[0];
}

static const char *const cases[] = {
    "f32[1,1] f32[1,1] i32[1]{0:1} - - f32[1] f32[]",
    "f32[5,7] f32[11,7] i32[5]{-1:11} - - f32[5]{4:9} f32[] - ignore=-1",
    "f32[4,9] f32[6,9] i32[4]{0:6} f32[4] f32[]{3:5} f32[4]{4:9} f32[] f32[6,9] softcap=3 "
    "logit_scale=0.5",
    "f32[3,64] q4_0[20,64] i32[3]{-1:20} f32[3] i32[1]{2:9} f32[3]{9:12} f32[] f32[20,64] "
    "ignore=-1",
    "bf16[4,32] bf16[19,32] i32[4]{0:19} - f32[1]{4:5} f32[4]{4:9} f32[] - logit_scale=0.25",
    "f32[20,32] bf16[600,32] i32[20]{-1:600} f32[20] f32[]{3:5} f32[20]{6:9} f32[] f32[600,32] "
    "ignore=-1 softcap=3 narrow=1",
    NULL
};
/* clang-format off */
const hn_op hn_op_cross_entropy_grad = {
    .name = "cross_entropy_grad", .summary = "dx, dw of cross_entropy",
    .inputs = "x w labels! weights?! count?! lse dloss acc?", .outputs = "dx dw", .attrs = attrs,
    .attrs_size = sizeof(hn_cross_entropy_attrs), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided",
    .check = hn_cross_entropy_check, .checks = HN_IN(LABELS) | HN_IN(COUNT),
    .flops = flops, .acc = { { HN_INPUT(ACC), 1 } }, .cases = cases, .tolerance = 8e-6,
    .rounding = hn_cross_entropy_rounding,
};
/* clang-format on */
hn_node *hn_cross_entropy_grad(hn_graph *g, hn_node *x, hn_node *w, hn_node *labels,
                               hn_node *weights, hn_node *count, hn_node *lse, hn_node *dloss,
                               hn_node *acc, int64_t ignore, float softcap, float logit_scale)
{
    const hn_cross_entropy_attrs own = { ignore, softcap, logit_scale, false };
    return HN_APPLY(g, &hn_op_cross_entropy_grad, &own, x, w, labels, weights, count, lse,
                    dloss, acc);
}
