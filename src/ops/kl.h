/* kl.h: what the divergence and its gradient share. With p = softmax(target), q = softmax(x) of
 * a row: forward is the sum of p * log(p / q), which covers the target; reverse the sum of q *
 * log(q / p), which seeks its modes. */
#ifndef HN_OPS_KL_H
#define HN_OPS_KL_H

#include "base/mathfn.h"
#include "ops/loss.h"

#include <math.h>

typedef struct hn_kl_attrs {
    int direction; /* 0 forward, 1 reverse */
} hn_kl_attrs;

#define HN_KL_ATTRS                                                                            \
    {                                                                                          \
        HN_ATTR_ENUM(hn_kl_attrs, direction, "forward", "forward|reverse"), HN_ATTR_END        \
    }

enum { HN_KL_X, HN_KL_TARGET, HN_KL_WEIGHTS, HN_KL_COUNT };

static inline hn_status hn_kl_expect(const hn_call *call)
{
    HN_TRY(hn_expect_float(call, HN_KL_X));
    HN_TRY(hn_expect_rank(call, HN_KL_X, 2));
    HN_TRY(hn_expect_float(call, HN_KL_TARGET));
    HN_TRY(hn_expect_same(call, HN_KL_TARGET, HN_KL_X));
    return hn_loss_expect_weights(call, HN_KL_WEIGHTS, call->in[HN_KL_X]->type.dim[0]);
}

static inline double hn_kl_log_sum(const hn_tensor *x, int64_t first, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = first; i < first + n; i++)
        most = fmax(most, hn_get(x, i));
    for (int64_t i = first; i < first + n; i++)
        sum += hn_math_exp(hn_get(x, i) - most);
    return most + hn_math_log(sum);
}

/* The divergence of one row; its terms are exactly 0 where the weighing probability is. */
static inline double hn_kl_row(const hn_call *call, int64_t row, double lse, double target_lse)
{
    const hn_tensor *x = call->in[HN_KL_X], *target = call->in[HN_KL_TARGET];
    const int64_t n = x->type.dim[1];
    const bool is_reverse = ((const hn_kl_attrs *)call->attrs)->direction;
    double sum = 0;
    for (int64_t i = row * n; i < (row + 1) * n; i++) {
        const double log_q = hn_get(x, i) - lse, log_p = hn_get(target, i) - target_lse;
        const double weighing = hn_math_exp(is_reverse ? log_q : log_p);
        if (weighing > 0)
            sum += weighing * (is_reverse ? log_q - log_p : log_p - log_q);
    }
    return sum;
}

#endif
