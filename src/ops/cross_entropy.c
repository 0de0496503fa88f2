/* cross_entropy: the loss of next-token prediction, fused with the output projection so that
 * logits never exist as a whole. Formulas: cross_entropy.h. Without `count` it is the sum over
 * rows. Rows without a label have nll 0 and lse 0: nobody needs to compute them. dx, the gradient
 * of the loss for x, can be had with it: logits are then made once. */
#include "ops/cross_entropy.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_CROSS_ENTROPY_ATTRS;

enum { X, W, LABELS, WEIGHTS, COUNT, ACC };
enum { LOSS, LSE, NLL, DX };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_cross_entropy_expect(call));
    if (call->in[ACC]) {
        HN_TRY(hn_expect_dtype(call, ACC, HN_F32));
        HN_TRY(hn_expect_rank(call, ACC, 0));
    }
    out[LOSS] = (hn_type){ .dtype = HN_F32 };
    HN_TRY(hn_type_make(&out[LSE], HN_F32, 1, call->in[X]->type.dim));
    HN_TRY(hn_type_make(&out[NLL], HN_F32, 1, call->in[X]->type.dim));
    return hn_type_make(&out[DX], HN_F32, 2, call->in[X]->type.dim);
}

/* dx[t] = sum over v of (exp(z - lse) - [v == label]) * bend * weights[t] / count * w[v]; 0 without
 * a label. */
static void put_slopes(const hn_call *call, int64_t t, int64_t label, double lse)
{
    const hn_tensor *w = call->in[W];
    const int64_t n_words = w->type.dim[0], c = w->type.dim[1];
    const double factor = hn_loss_factor(call, WEIGHTS, t, COUNT, 1);
    const bool is_label = label != ((const hn_cross_entropy_attrs *)call->attrs)->ignore;
    double sum[256];
    for (int64_t from = 0; from < c; from += 256) {
        const int64_t n = c - from < 256 ? c - from : 256;
        for (int64_t i = 0; i < n; i++)
            sum[i] = 0;
        for (int64_t v = 0; is_label && v < n_words; v++) {
            double bend;
            const double z = hn_cross_entropy_logit(call, t, v, &bend);
            const double ds = (hn_math_exp(z - lse) - (v == label)) * factor * bend;
            for (int64_t i = 0; i < n; i++)
                sum[i] += ds * hn_get(w, v * c + from + i);
        }
        for (int64_t i = 0; i < n; i++)
            hn_set(call->out[DX], t * c + from + i, sum[i]);
    }
}

static void forward(const hn_call *call)
{
    const hn_cross_entropy_attrs *at = call->attrs;
    const int64_t n_rows = call->in[X]->type.dim[0], n_words = call->in[W]->type.dim[0];
    hn_loss_start(call, ACC);
    for (int64_t t = 0; t < n_rows; t++) {
        const int64_t label = hn_get_int(call->in[LABELS], t);
        double most = -INFINITY, sum = 0, lse = 0, nll = 0, bend;
        for (int64_t v = 0; label != at->ignore && v < n_words; v++) {
            const double z = hn_cross_entropy_logit(call, t, v, &bend);
            if (z > most) {
                sum *= hn_math_exp(most - z);
                most = z;
            }
            sum += hn_math_exp(z - most);
        }
        if (label != at->ignore) {
            lse = most + hn_math_log(sum);
            nll = lse - hn_cross_entropy_logit(call, t, label, &bend);
            hn_loss_add(call, nll * hn_loss_factor(call, WEIGHTS, t, COUNT, 1));
        }
        if (call->out[LSE])
            hn_set(call->out[LSE], t, lse);
        if (call->out[DX])
            put_slopes(call, t, label, lse);
        if (call->out[NLL])
            hn_set(call->out[NLL], t, nll);
    }
}

static double flops(const hn_call *call)
{
    return 2.0 * (double)hn_count(&call->in[X]->type) * (double)call->in[W]->type.dim[0];
}

/* Through the loss, and through the rows' own nll, whose gradients are then weights of rows. */
static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    if (d->wants[ACC])
        d->din[ACC] = d->dout[LOSS] ? d->dout[LOSS] : hn_graph_scalar(g, 0);
    if (!d->wants[X] && !d->wants[W])
        return;
    hn_node *dx = NULL, *rows = NULL;
    if (d->dout[LOSS] && !d->wants[W]) /* made with the loss: no product twice */
        dx = hn_mul(g, d->out[DX], d->dout[LOSS]);
    else if (d->dout[LOSS])
        dx = HN_APPLY(g, &hn_op_cross_entropy_grad, d->attrs, d->in[X], d->in[W], d->in[LABELS],
                      d->in[WEIGHTS], d->in[COUNT], d->out[LSE], d->dout[LOSS]);
    if (d->dout[NLL])
        rows = HN_APPLY(g, &hn_op_cross_entropy_grad, d->attrs, d->in[X], d->in[W],
                        d->in[LABELS], d->dout[NLL], NULL, d->out[LSE], hn_graph_scalar(g, 1));
    for (int i = X; i <= W; i++) {
        if (!d->wants[i])
            continue;
        hn_node *one = dx ? hn_output(dx, i) : NULL, *other = rows ? hn_output(rows, i) : NULL;
        d->din[i] = one && other ? hn_add(g, one, other) : one ? one : other;
    }
}

static const char *const cases[] = {
    "f32[1,1] f32[1,1] i32[1]{0:1}",
    "f32[5,7] f32[11,7] i32[5]{-1:11} - - - ignore=-1",
    "f32[4,9] f32[6,9] i32[4]{0:6} f32[4] f32[]{3:5} f32[] softcap=3 logit_scale=0.5",
    "f32[3,64] q4_0[20,64] i32[3]{-1:20} f32[3] i32[1]{2:9} f32[] ignore=-1",
    "f32[2,256] q6_k[5,256] i32[2]{0:5} - i32[]{1:4} - logit_scale=0.125",
    "bf16[4,32] bf16[19,32] i32[4]{0:19} - f32[1]{4:5} f32[] logit_scale=0.25",
    "f32[20,32] bf16[600,32] i32[20]{-1:600} f32[20] f32[]{3:5} - ignore=-1 narrow=1",
    NULL
};
/* clang-format off */
const hn_op hn_op_cross_entropy = {
    .name = "cross_entropy",
    .summary = "loss = acc + sum of weights * (lse(x w^T) - logit of the label) / count",
    .inputs = "x w labels! weights?! count?! acc?", .outputs = "loss lse! nll dx!", .attrs = attrs,
    .attrs_size = sizeof(hn_cross_entropy_attrs), .infer = infer, .forward = forward,
    .backward = backward,
    .check = hn_cross_entropy_check, .checks = HN_IN(LABELS) | HN_IN(COUNT), .flops = flops,
    .acc = { { HN_INPUT(ACC), LOSS } }, .cases = cases, .tolerance = 4e-6,
    .rounding = hn_cross_entropy_rounding,
};
/* clang-format on */
hn_node *hn_cross_entropy(hn_graph *g, hn_node *x, hn_node *w, hn_node *labels,
                          hn_node *weights, hn_node *count, hn_node *acc, int64_t ignore,
                          float softcap, float logit_scale)
{
    const hn_cross_entropy_attrs own = { ignore, softcap, logit_scale, false };
    return HN_APPLY(g, &hn_op_cross_entropy, &own, x, w, labels, weights, count, acc);
}
