/* update.h: what the optimisers' meaning and their kernels share: attributes, the factors of one
 * step, and the keys of stochastic rounding. Inputs `hyper` = { learning rate, step from 1 } and
 * `clip`, the factor of global clipping, belong to the step. `toward` is what decay draws to: 0, or 1 for
 * gains that a model's class counts from one.
 *
 *     g' = g * clip, then clamped to -gclip .. gclip where gclip > 0
 *     adamw   m += (1 - beta1) * (g' - m)          v += (1 - beta2) * (g'^2 - v)
 *             w = (w - toward) * keep + toward - rate * m / (sqrt(v) * root + eps)
 *             rate = lr / (1 - beta1^step), root = 1 / sqrt(1 - beta2^step), keep = 1 - lr * decay
 *     sgd     u = momentum * m + g', kept as m     w = (w - toward) * keep + toward - lr * u
 *             nesterov: momentum * u + g' in place of u
 *     lion    w = (w - toward) * keep + toward - lr * sign(m + (1 - beta1) * (g' - m)), then
 *             m += (1 - beta2) * (g' - m)
 *
 * Stochastic rounding adds sixteen random bits below the kept ones, then cuts. For element i of a
 * parameter the weight takes the low half of the key's word i, m its high half, and v the high half
 * of the word times 0x9e3779b1. */
#ifndef HN_OPS_UPDATE_H
#define HN_OPS_UPDATE_H

#include "base/mathfn.h"
#include "base/rng.h"
#include "graph/op.h"

#include <math.h>

typedef struct hn_adamw_attrs {
    float beta1, beta2, eps, decay, toward, gclip;
    bool stochastic;
    int64_t seed, key;
} hn_adamw_attrs;

typedef struct hn_sgd_attrs {
    float momentum;
    bool nesterov;
    float decay, toward, gclip;
} hn_sgd_attrs;

typedef struct hn_lion_attrs {
    float beta1, beta2, decay, toward, gclip;
} hn_lion_attrs;

typedef struct hn_update {
    double clip, rate, root, keep;
    hn_rng_key key;
} hn_update;

static inline hn_update hn_adamw_update(const hn_adamw_attrs *at, double lr, double step,
                                        double clip)
{
    hn_update s = { .clip = clip,
                    .rate = lr / (1 - hn_math_pow((double)at->beta1, step)),
                    .root = 1 / sqrt(1 - hn_math_pow((double)at->beta2, step)),
                    .keep = 1 - lr * (double)at->decay };
    hn_rng_key key = hn_rng_fold(hn_rng_seed((uint64_t)at->seed), (uint64_t)step);
    key = hn_rng_fold(key, (uint64_t)at->key);
    s.key = hn_rng_fold(key, 0);
    return s;
}

/* What decay leaves of a weight. */
static inline double hn_update_kept(double w, double keep, float toward)
{
    const double to = (double)toward;
    return to > 0 || to < 0 ? (w - to) * keep + to : w * keep;
}

static inline double hn_update_gradient(double g, double clip, float gclip)
{
    const double most = (double)gclip, scaled = g * clip;
    if (most > 0)
        return scaled > most ? most : scaled < -most ? -most : scaled;
    return scaled;
}

/* The types that all have: hyper, clip, g like the parameter w (input 0). */
static inline hn_status hn_update_expect(const hn_call *call, int g, int hyper, int clip)
{
    HN_TRY(hn_expect_float(call, 0));
    HN_TRY(hn_expect_float(call, g));
    HN_TRY(hn_expect_same(call, g, 0));
    HN_TRY(hn_expect_dtype(call, hyper, HN_F32));
    HN_TRY(hn_expect_vector(call, hyper, 2));
    if (call->in[clip]) {
        HN_TRY(hn_expect_float(call, clip));
        HN_TRY(hn_expect_scalar(call, clip));
    }
    return HN_OK;
}

static inline hn_status hn_update_check(const hn_call *call, int hyper)
{
    const double lr = hn_get(call->in[hyper], 0), step = hn_get(call->in[hyper], 1);
    HN_REQUIRE(lr >= 0 && step >= 1, HN_ERR_ARGUMENT,
               "%s: learning rate %g, step %g: expected a rate of 0 or more and steps from 1",
               call->op->name, lr, step);
    return HN_OK;
}

#endif
