/* router: the k experts of each token and their weights, in descending order of score; of equal
 * scores the lower id comes first. Weights: router.h. `bias` takes part in the choice alone,
 * and so has no gradient by design: what moves it is a balance rule outside of the graph. With
 * groups, only experts of the k_group best groups may be chosen; a group's rank is the sum of
 * its group_best best biased scores: two, or the best alone. A token whose logits are not numbers gets ids of -1 and
 * NaN. */
#include "ops/router.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_ROUTER_ATTRS;

enum { LOGITS, BIAS, SCALE };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_router_expect(call));
    const hn_type *logits = &call->in[LOGITS]->type;
    for (int i = BIAS; i <= SCALE; i++)
        if (call->in[i]) {
            HN_TRY(hn_expect_float(call, i));
            HN_TRY(hn_expect_vector(call, i, logits->dim[1]));
        }
    const int64_t dim[2] = { logits->dim[0], ((const hn_router_attrs *)call->attrs)->k };
    HN_TRY(hn_type_make(&out[0], logits->dtype, 2, dim));
    return hn_type_make(&out[1], HN_I32, 2, dim);
}

static double group_rank(const double *rank, int64_t n, int64_t n_best)
{
    double best = -INFINITY, next = -INFINITY;
    for (int64_t e = 0; e < n; e++) {
        if (rank[e] > best) {
            next = best;
            best = rank[e];
        } else if (rank[e] > next) {
            next = rank[e];
        }
    }
    return n > 1 && n_best > 1 ? best + next : best;
}

/* Takes the experts of all but the k_group best groups out of the choice. */
static void keep_groups(const hn_router_attrs *at, double *rank, int64_t n)
{
    double group[HN_MAX_EXPERT_GROUPS];
    const int64_t size = n / at->n_group;
    for (int64_t g = 0; g < at->n_group; g++)
        group[g] = group_rank(rank + g * size, size, at->group_best);
    for (int64_t g = 0; g < at->n_group; g++) {
        int64_t better = 0;
        for (int64_t other = 0; other < at->n_group; other++)
            better += group[other] > group[g] || (group[other] == group[g] && other < g);
        for (int64_t e = g * size; better >= at->k_group && e < (g + 1) * size; e++)
            rank[e] = -INFINITY;
    }
}

/* The best experts, each taken out when it is chosen. */
static void choose(double *rank, int64_t n, int64_t k, int64_t *ids)
{
    for (int64_t j = 0; j < k; j++) {
        ids[j] = -1;
        for (int64_t e = 0; e < n; e++)
            if (rank[e] > -(double)INFINITY && (ids[j] < 0 || rank[e] > rank[ids[j]]))
                ids[j] = e;
        if (ids[j] >= 0)
            rank[ids[j]] = -INFINITY;
    }
}

static void forward(const hn_call *call)
{
    const hn_router_attrs *at = call->attrs;
    const hn_tensor *logits = call->in[LOGITS], *bias = call->in[BIAS], *scale = call->in[SCALE];
    const int64_t n = hn_last_dim(&logits->type);
    const bool by_logit = !bias && at->n_group == 1; /* the same order, without roundings */
    for (int64_t t = 0; t < logits->type.dim[0]; t++) {
        const hn_router_row x = hn_router_row_of(logits, t, at->score);
        double rank[HN_MAX_EXPERTS], p[HN_MAX_CHOICES], weight[HN_MAX_CHOICES];
        int64_t ids[HN_MAX_CHOICES];
        for (int64_t e = 0; e < n; e++)
            rank[e] = by_logit ? hn_get(logits, t * n + e) : hn_router_score_of(&x, e) + (bias ? hn_get(bias, e) : 0);
        if (at->k_group < at->n_group)
            keep_groups(at, rank, n);
        choose(rank, n, at->k, ids);
        hn_router_weights(&x, at, ids, p, weight);
        for (int64_t j = 0; j < at->k; j++) {
            const double own = scale && ids[j] >= 0 ? hn_get(scale, ids[j]) : 1;
            hn_set(call->out[0], t * at->k + j, weight[j] * (double)at->factor * own);
            if (call->out[1])
                hn_set_int(call->out[1], t * at->k + j, ids[j]);
        }
    }
}

static double flops(const hn_call *call) { return 8.0 * (double)hn_count(&call->in[LOGITS]->type); }

static void backward(hn_grad *d)
{
    hn_node *dlogits = HN_APPLY(d->g, &hn_op_router_grad, d->attrs, d->in[LOGITS], d->in[SCALE], d->out[1], d->dout[0]);
    if (d->wants[LOGITS])
        d->din[LOGITS] = dlogits;
    if (d->wants[SCALE])
        d->din[SCALE] = hn_output(dlogits, 1);
}

static const char *const cases[] = {
    "f32[1,1] k=1",
    "f32[5,8]",
    "f32[4,9] f32[9] f32[9] score=sigmoid k=3 renormalise=1 eps=1e-20",
    "f32[3,16] f32[16] - score=sigmoid n_group=4 k_group=2 k=4 renormalise=1 factor=2.5",
    "f32[5,8] - f32[8] score=softmax_topk k=4",
    "f32[6,12] n_group=3 k_group=1 k=4 factor=2",
    "f32[6,12] n_group=4 k_group=2 group_best=1 k=4 factor=16",
    "f32[3,8] - f32[8] k=3 renormalise=1",
    "bf16[2,32] f32[32] score=softmax k=8",
    NULL
};
/* clang-format off */
const hn_op hn_op_router = {
    .name = "router", .summary = "the k experts of each token, and their weights",
    .inputs = "logits bias?! scale?", .outputs = "weights ids!", .attrs = attrs,
    .attrs_size = sizeof(hn_router_attrs), .infer = infer, .forward = forward,
    .backward = backward, .flops = flops, .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_router(hn_graph *g, hn_node *logits, hn_node *bias, hn_node *scale, int score, int64_t k, bool renormalise,
                   int64_t n_group, int64_t k_group, int64_t group_best, float factor, float eps)
{
    const hn_router_attrs own = { score, k, renormalise, n_group, k_group, group_best, factor, eps };
    return HN_APPLY(g, &hn_op_router, &own, logits, bias, scale);
}
