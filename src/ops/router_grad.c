/* router_grad: the gradient of the router's weights with the choice of experts held. With u_j =
 * dweights_j * factor * scale[id_j] and n, p as in router.h:
 *     dp_j = (u_j - sum of u n) / divisor, or u_j without renormalise;
 *     softmax: dlogits = p * (dp - sum of dp p), over all experts or the chosen ones
 * (softmax_topk), sigmoid: dlogits = dp * p * (1 - p) at the chosen ones; dscale[e] = acc + sum
 * over tokens of dweights_j * factor * n_j where id_j = e. */
#include "ops/ids.h"
#include "ops/ops.h"
#include "ops/router.h"

static const hn_attr attrs[] = HN_ROUTER_ATTRS;

enum { LOGITS, SCALE, IDS, DWEIGHTS, ACC };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_router_expect(call));
    const hn_type *logits = &call->in[LOGITS]->type;
    const int64_t k = ((const hn_router_attrs *)call->attrs)->k;
    if (call->in[SCALE]) {
        HN_TRY(hn_expect_float(call, SCALE));
        HN_TRY(hn_expect_vector(call, SCALE, logits->dim[1]));
    }
    HN_TRY(hn_expect_integer(call, IDS));
    HN_TRY(hn_expect_rank(call, IDS, 2));
    HN_TRY(hn_expect_dim(call, IDS, 0, logits->dim[0]));
    HN_TRY(hn_expect_dim(call, IDS, 1, k));
    HN_TRY(hn_expect_float(call, DWEIGHTS));
    HN_TRY(hn_expect_same(call, DWEIGHTS, IDS));
    if (call->in[ACC]) {
        HN_TRY(hn_expect_dtype(call, ACC, HN_F32));
        HN_TRY(hn_expect_vector(call, ACC, logits->dim[1]));
    }
    HN_TRY(hn_infer_like(call, LOGITS, &out[0]));
    return hn_type_make(&out[1], HN_F32, 1, &logits->dim[1]);
}

static hn_status check(const hn_call *call)
{
    return hn_check_ids(call, IDS, -1, call->in[LOGITS]->type.dim[1]);
}

/* dlogits of one token from dp, p of its chosen experts. */
static void spread(const hn_call *call, const hn_router_row *x, const int64_t *ids,
                   const double *p, const double *dp)
{
    const hn_router_attrs *at = call->attrs;
    const hn_tensor *dlogits = call->out[0];
    double along = 0;
    for (int64_t j = 0; j < at->k; j++)
        along += dp[j] * p[j];
    for (int64_t e = 0; e < x->n; e++)
        hn_set(dlogits, x->first + e,
               at->score == HN_ROUTER_SOFTMAX ? -along * hn_router_score_of(x, e) : 0);
    for (int64_t j = 0; j < at->k; j++) {
        if (ids[j] < 0)
            continue;
        const double slope =
            at->score == HN_ROUTER_SIGMOID ? dp[j] * p[j] * (1 - p[j]) : p[j] * (dp[j] - along);
        hn_set(dlogits, x->first + ids[j], slope);
    }
}

static void forward(const hn_call *call)
{
    const hn_router_attrs *at = call->attrs;
    const hn_tensor *logits = call->in[LOGITS], *scale = call->in[SCALE], *acc = call->in[ACC];
    const hn_tensor *dscale = call->out[1];
    for (int64_t e = 0; dscale && e < hn_count(&dscale->type); e++)
        hn_set(dscale, e, acc ? hn_get(acc, e) : 0);
    for (int64_t t = 0; t < logits->type.dim[0]; t++) {
        const hn_router_row x = hn_router_row_of(logits, t, at->score);
        double p[HN_MAX_CHOICES], n[HN_MAX_CHOICES], dp[HN_MAX_CHOICES], along = 0;
        int64_t ids[HN_MAX_CHOICES];
        for (int64_t j = 0; j < at->k; j++)
            ids[j] = hn_get_int(call->in[IDS], t * at->k + j);
        const double divisor = hn_router_weights(&x, at, ids, p, n);
        for (int64_t j = 0; j < at->k; j++) {
            const double dw = hn_get(call->in[DWEIGHTS], t * at->k + j) * (double)at->factor;
            if (dscale && ids[j] >= 0)
                hn_set(dscale, ids[j], hn_get(dscale, ids[j]) + dw * n[j]);
            dp[j] = dw * (scale && ids[j] >= 0 ? hn_get(scale, ids[j]) : 1);
            along += dp[j] * n[j];
        }
        for (int64_t j = 0; at->renormalise && j < at->k; j++)
            dp[j] = (dp[j] - along) / divisor;
        spread(call, &x, ids, p, dp);
    }
}

static double flops(const hn_call *call)
{
    return 8.0 * (double)hn_count(&call->in[LOGITS]->type);
}

static const char *const cases[] = {
    "f32[1,1] - i32[1,1]{0:1} f32[1,1] k=1",
    "f32[3,9] f32[9] i32[3,3]{perm} f32[3,3] f32[9] k=3 renormalise=1",
    "f32[5,16] f32[16] i32[5,2]{perm} f32[5,2] f32[16] score=sigmoid factor=2.5 renormalise=1",
    "f32[2,9] - i32[2,4]{perm} f32[2,4] score=softmax_topk k=4",
    "bf16[2,32] f32[32] i32[2,8]{perm} bf16[2,8] k=8",
    NULL
};
/* clang-format off */
const hn_op hn_op_router_grad = {
    .name = "router_grad", .summary = "dlogits, dscale of router",
    .inputs = "logits scale? ids! dweights acc?", .outputs = "dlogits dscale", .attrs = attrs,
    .attrs_size = sizeof(hn_router_attrs), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided",
    .check = check, .checks = HN_IN(IDS), .flops = flops,
    .acc = { { HN_INPUT(ACC), 1 } }, .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_router_grad(hn_graph *g, hn_node *logits, hn_node *scale, hn_node *ids,
                        hn_node *dweights, hn_node *acc, int score, int64_t k, bool renormalise,
                        int64_t n_group, int64_t k_group, int64_t group_best, float factor, float eps)
{
    const hn_router_attrs own = { score, k, renormalise, n_group, k_group, group_best, factor, eps };
    return HN_APPLY(g, &hn_op_router_grad, &own, logits, scale, ids, dweights, acc);
}
