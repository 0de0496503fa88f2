/* router_score.h: the probability of an expert for one row of router logits. */
#ifndef HN_OPS_ROUTER_SCORE_H
#define HN_OPS_ROUTER_SCORE_H

#include "base/mathfn.h"
#include "graph/op.h"
#include "ops/attrs.h"

#include <math.h>

/* What a row of scores needs on the stack. */
enum { HN_MAX_EXPERTS = 512, HN_MAX_CHOICES = 64, HN_MAX_EXPERT_GROUPS = 64 };

typedef struct hn_router_row {
    const hn_tensor *logits;
    int64_t first, n;
    int score;
    double most, sum; /* of a softmax */
} hn_router_row;

static inline double hn_router_sigmoid(double x) { return 1 / (1 + hn_math_exp(-x)); }

static inline hn_router_row hn_router_row_of(const hn_tensor *logits, int64_t row, int score)
{
    const int64_t n = hn_last_dim(&logits->type);
    hn_router_row x = { logits, row * n, n, score, -INFINITY, 0 };
    for (int64_t e = 0; score == HN_ROUTER_SOFTMAX && e < n; e++)
        x.most = fmax(x.most, hn_get(logits, x.first + e));
    for (int64_t e = 0; score == HN_ROUTER_SOFTMAX && e < n; e++)
        x.sum += hn_math_exp(hn_get(logits, x.first + e) - x.most);
    return x;
}

static inline double hn_router_score_of(const hn_router_row *x, int64_t expert)
{
    const double logit = hn_get(x->logits, x->first + expert);
    if (x->score == HN_ROUTER_SOFTMAX)
        return hn_math_exp(logit - x->most) / x->sum;
    return x->score == HN_ROUTER_SIGMOID ? hn_router_sigmoid(logit) : logit;
}

#endif
