/* router.h: what the router and its gradient share: attributes, and the weights of one token's
 * chosen experts.
 *
 *     p = softmax(logits) | sigmoid(logits) | softmax over the chosen logits
 *     n = p, or p / (sum of the chosen p + eps) with renormalise
 *     weight = n * factor * scale[expert] */
#ifndef HN_OPS_ROUTER_H
#define HN_OPS_ROUTER_H

#include "ops/router_score.h"

typedef struct hn_router_attrs {
    int score; /* hn_router_score */
    int64_t k;
    bool renormalise;
    int64_t n_group, k_group, group_best;
    float factor, eps;
} hn_router_attrs;

#define HN_ROUTER_ATTRS                                                                        \
    {                                                                                          \
        HN_ATTR_ENUM(hn_router_attrs, score, "softmax", "softmax|sigmoid|softmax_topk"),       \
            HN_ATTR_INT(hn_router_attrs, k, "2"),                                              \
            HN_ATTR_BOOL(hn_router_attrs, renormalise, "0"),                                   \
            HN_ATTR_INT(hn_router_attrs, n_group, "1"),                                        \
            HN_ATTR_INT(hn_router_attrs, k_group, "1"),                                        \
            HN_ATTR_INT(hn_router_attrs, group_best, "2"),                                     \
            HN_ATTR_FLOAT(hn_router_attrs, factor, "1"),                                       \
            HN_ATTR_FLOAT(hn_router_attrs, eps, "0"), HN_ATTR_END                              \
    }

/* Refuses attributes that do not fit the n_expert logits of input 0. */
static inline hn_status hn_router_expect(const hn_call *call)
{
    const hn_router_attrs *at = call->attrs;
    HN_TRY(hn_expect_float(call, 0));
    HN_TRY(hn_expect_rank(call, 0, 2));
    const int64_t n = call->in[0]->type.dim[1];
    if (n > HN_MAX_EXPERTS || at->k < 1 || at->k > n || at->k > HN_MAX_CHOICES)
        return hn_refuse(call, "k is %lld of %lld experts: expected 1 to %d of at most %d",
                         (long long)at->k, (long long)n, HN_MAX_CHOICES, HN_MAX_EXPERTS);
    if (at->n_group < 1 || at->n_group > HN_MAX_EXPERT_GROUPS || n % at->n_group ||
        at->k_group < 1 || at->k_group > at->n_group || at->k > at->k_group * (n / at->n_group))
        return hn_refuse(call,
                         "%lld of %lld groups for %lld of %lld experts: expected groups of "
                         "equal size that hold as many",
                         (long long)at->k_group, (long long)at->n_group, (long long)at->k,
                         (long long)n);
    if (at->group_best < 1 || at->group_best > 2)
        return hn_refuse(call, "group_best is %lld: expected 1 or 2", (long long)at->group_best);
    return HN_OK;
}

/* p and n of the k experts in `ids`; returns what n was divided by. */
static inline double hn_router_weights(const hn_router_row *x, const hn_router_attrs *at,
                                       const int64_t *ids, double *p, double *n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < at->k; j++)
        p[j] = ids[j] < 0 ? (double)NAN : hn_router_score_of(x, ids[j]);
    if (at->score == HN_ROUTER_SOFTMAX_TOPK) {
        for (int64_t j = 0; j < at->k; j++)
            most = fmax(most, p[j]);
        for (int64_t j = 0; j < at->k; j++)
            sum += hn_math_exp(p[j] - most);
        for (int64_t j = 0; j < at->k; j++)
            p[j] = hn_math_exp(p[j] - most) / sum;
    }
    double divisor = at->renormalise ? 0 : 1;
    for (int64_t j = 0; at->renormalise && j < at->k; j++)
        divisor += p[j];
    divisor += at->renormalise ? (double)at->eps : 0;
    for (int64_t j = 0; j < at->k; j++)
        n[j] = p[j] / divisor;
    return divisor;
}

#endif
