/* cross_entropy.h: the inputs and attributes that the loss and its gradient begin with.
 *
 *     z[t,v] = logit_scale * x[t] . w[v],  or softcap * tanh(z / softcap)
 *     nll[t] = lse(z[t]) - z[t, label[t]],  0 where label[t] == ignore
 *     loss = acc + sum over t of weights[t] * nll[t] / count */
#ifndef HN_OPS_CROSS_ENTROPY_H
#define HN_OPS_CROSS_ENTROPY_H

#include "base/mathfn.h"
#include "ops/loss.h"

#include <math.h>

typedef struct hn_cross_entropy_attrs {
    int64_t ignore;
    float softcap; /* 0: none */
    float logit_scale;
    bool narrow; /* products by w are in blocks of bf16, slopes of logits are rounded to it; in double nothing is */
} hn_cross_entropy_attrs;

#define HN_CROSS_ENTROPY_ATTRS                                                                 \
    {                                                                                          \
        HN_ATTR_INT(hn_cross_entropy_attrs, ignore, "-100"),                                   \
            HN_ATTR_FLOAT(hn_cross_entropy_attrs, softcap, "0"),                               \
            HN_ATTR_FLOAT(hn_cross_entropy_attrs, logit_scale, "1"),                           \
            HN_ATTR_BOOL(hn_cross_entropy_attrs, narrow, "0"), HN_ATTR_END                     \
    }

static inline double hn_cross_entropy_rounding(const void *attrs)
{
    return ((const hn_cross_entropy_attrs *)attrs)->narrow ? 0x1p-8 : 0;
}

enum { HN_XENT_X, HN_XENT_W, HN_XENT_LABELS, HN_XENT_WEIGHTS, HN_XENT_COUNT };

static inline hn_status hn_cross_entropy_expect(const hn_call *call)
{
    const hn_cross_entropy_attrs *at = call->attrs;
    HN_TRY(hn_expect_float(call, HN_XENT_X));
    HN_TRY(hn_expect_rank(call, HN_XENT_X, 2));
    HN_TRY(hn_expect_rank(call, HN_XENT_W, 2));
    const hn_type *x = &call->in[HN_XENT_X]->type, *w = &call->in[HN_XENT_W]->type;
    if (!hn_is_float(w->dtype) && !hn_is_block(w->dtype))
        return hn_expect_float(call, HN_XENT_W);
    HN_TRY(hn_expect_dim(call, HN_XENT_W, 1, x->dim[1]));
    HN_TRY(hn_expect_integer(call, HN_XENT_LABELS));
    HN_TRY(hn_expect_vector(call, HN_XENT_LABELS, x->dim[0]));
    if (call->in[HN_XENT_COUNT])
        HN_TRY(hn_expect_scalar(call, HN_XENT_COUNT));
    if (!(at->softcap >= 0) || !isfinite(at->softcap) || !isfinite(at->logit_scale))
        return hn_refuse(call,
                         "softcap %g, logit_scale %g: expected finite numbers, and no cap "
                         "below zero",
                         (double)at->softcap, (double)at->logit_scale);
    return hn_loss_expect_weights(call, HN_XENT_WEIGHTS, x->dim[0]);
}

static inline hn_status hn_cross_entropy_check(const hn_call *call)
{
    const hn_tensor *labels = call->in[HN_XENT_LABELS];
    const int64_t end = call->in[HN_XENT_W]->type.dim[0];
    const int64_t ignore = ((const hn_cross_entropy_attrs *)call->attrs)->ignore;
    for (int64_t t = 0; t < hn_count(&labels->type); t++) {
        const int64_t label = hn_get_int(labels, t);
        HN_REQUIRE(label == ignore || (label >= 0 && label < end), HN_ERR_ARGUMENT,
                   "%s: the label of row %lld is %lld: expected 0 to %lld, or %lld for none",
                   call->op->name, (long long)t, (long long)label, (long long)end - 1,
                   (long long)ignore);
    }
    return hn_loss_check_count(call, HN_XENT_COUNT);
}

/* z of one element; *bend is its slope by x . w. */
static inline double hn_cross_entropy_logit(const hn_call *call, int64_t t, int64_t v,
                                            double *bend)
{
    const hn_cross_entropy_attrs *at = call->attrs;
    const hn_tensor *x = call->in[HN_XENT_X], *w = call->in[HN_XENT_W];
    const int64_t c = x->type.dim[1];
    double z = 0;
    for (int64_t i = 0; i < c; i++)
        z += hn_get(x, t * c + i) * hn_get(w, v * c + i);
    z *= (double)at->logit_scale;
    *bend = (double)at->logit_scale;
    if (at->softcap > 0) {
        const double cap = (double)at->softcap, bounded = hn_math_tanh(z / cap);
        z = cap * bounded;
        *bend *= 1 - bounded * bounded;
    }
    return z;
}

#endif
