/* balance.h: how evenly a run of tokens uses the experts.
 *
 *     balance = E * sum over e of f_e * P_e
 *
 * f_e is the share of the run's choices that went to expert e (a choice of -1 went to none),
 * P_e the mean over its tokens of the probability of e: softmax(logits), or sigmoid(logits)
 * over their sum. f has no slope; P has one. Even use gives 1. */
#ifndef HN_OPS_BALANCE_H
#define HN_OPS_BALANCE_H

#include "ops/router_score.h"

typedef struct hn_balance_attrs {
    int score; /* HN_ROUTER_SOFTMAX or HN_ROUTER_SIGMOID */
} hn_balance_attrs;

#define HN_BALANCE_ATTRS                                                                       \
    {                                                                                          \
        HN_ATTR_ENUM(hn_balance_attrs, score, "softmax", "softmax|sigmoid"), HN_ATTR_END       \
    }

enum { HN_BALANCE_LOGITS, HN_BALANCE_IDS };

static inline hn_status hn_balance_expect(const hn_call *call)
{
    HN_TRY(hn_expect_float(call, HN_BALANCE_LOGITS));
    HN_TRY(hn_expect_rank(call, HN_BALANCE_LOGITS, 2));
    HN_TRY(hn_expect_integer(call, HN_BALANCE_IDS));
    HN_TRY(hn_expect_rank(call, HN_BALANCE_IDS, 2));
    const hn_type *logits = &call->in[HN_BALANCE_LOGITS]->type;
    HN_TRY(hn_expect_dim(call, HN_BALANCE_IDS, 0, logits->dim[0]));
    if (logits->dim[1] > HN_MAX_EXPERTS)
        return hn_refuse(call, "%lld experts: expected at most %d", (long long)logits->dim[1],
                         HN_MAX_EXPERTS);
    return HN_OK;
}

/* E * f_e of tokens [from, to). */
static inline void hn_balance_shares(const hn_call *call, int64_t from, int64_t to,
                                     double *share)
{
    const hn_tensor *ids = call->in[HN_BALANCE_IDS];
    const int64_t n = call->in[HN_BALANCE_LOGITS]->type.dim[1], n_used = ids->type.dim[1];
    for (int64_t e = 0; e < n; e++)
        share[e] = 0;
    for (int64_t i = from * n_used; i < to * n_used; i++)
        if (hn_get_int(ids, i) >= 0)
            share[hn_get_int(ids, i)] += 1;
    for (int64_t e = 0; e < n; e++)
        share[e] *= (double)n / (double)((to - from) * n_used);
}

/* The mean share of token t, weighed by probability; *sum is what a sigmoid is divided by. */
static inline double hn_balance_token(const hn_router_row *x, const double *share, double *sum)
{
    double along = 0;
    *sum = x->score == HN_ROUTER_SIGMOID ? 0 : 1;
    for (int64_t e = 0; e < x->n; e++) {
        const double p = hn_router_score_of(x, e);
        along += share[e] * p;
        *sum += x->score == HN_ROUTER_SIGMOID ? p : 0;
    }
    return along / *sum;
}

/* The balance of tokens [from, to). */
static inline double hn_balance_of(const hn_call *call, int64_t from, int64_t to)
{
    const int score = ((const hn_balance_attrs *)call->attrs)->score;
    double share[HN_MAX_EXPERTS], total = 0, sum;
    hn_balance_shares(call, from, to, share);
    for (int64_t t = from; t < to; t++) {
        const hn_router_row x = hn_router_row_of(call->in[HN_BALANCE_LOGITS], t, score);
        total += hn_balance_token(&x, share, &sum);
    }
    return total / (double)(to - from);
}

/* dlogits of tokens [from, to), times `factor`. */
static inline void hn_balance_slopes(const hn_call *call, int64_t from, int64_t to,
                                     double factor)
{
    const int score = ((const hn_balance_attrs *)call->attrs)->score;
    double share[HN_MAX_EXPERTS], sum;
    hn_balance_shares(call, from, to, share);
    for (int64_t t = from; t < to; t++) {
        const hn_router_row x = hn_router_row_of(call->in[HN_BALANCE_LOGITS], t, score);
        const double along = hn_balance_token(&x, share, &sum);
        for (int64_t e = 0; e < x.n; e++) {
            const double p = hn_router_score_of(&x, e);
            const double slope = score == HN_ROUTER_SIGMOID ? p * (1 - p) / sum : p;
            hn_set(call->out[0], t * x.n + e,
                   factor * slope * (share[e] - along) / (double)(to - from));
        }
    }
}

/* The end of the sequence that begins at token `from`; without segments all tokens are one. */
static inline int64_t hn_balance_end(const hn_tensor *segments, int64_t from, int64_t n_tokens)
{
    int64_t to = from + 1;
    if (!segments)
        return n_tokens;
    while (to < n_tokens && hn_get_int(segments, to) == hn_get_int(segments, from))
        to++;
    return to;
}

static inline int64_t hn_balance_sequences(const hn_tensor *segments, int64_t n_tokens)
{
    int64_t n = 0;
    for (int64_t from = 0; from < n_tokens; n++)
        from = hn_balance_end(segments, from, n_tokens);
    return n;
}

#endif
