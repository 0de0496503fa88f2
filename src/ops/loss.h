/* loss.h: what losses share: a rank 0 f32 output that is a chain over rows from `acc`, in which
 * every term is already divided by `count`, the number of supervised rows of the whole step. */
#ifndef HN_OPS_LOSS_H
#define HN_OPS_LOSS_H

#include "graph/op.h"

/* Where the inputs of a loss are; HN_NO_INPUT where it has none of the kind. */
enum { HN_NO_INPUT = -1 };

static inline bool hn_has_input(const hn_call *call, int input)
{
    return input != HN_NO_INPUT && call->in[input];
}

/* The type of the loss. A mean over what is here cannot go on from another one: acc needs
 * count. */
static inline hn_status hn_loss_infer(const hn_call *call, int count, int acc, hn_type *out)
{
    if (hn_has_input(call, count))
        HN_TRY(hn_expect_scalar(call, count));
    if (hn_has_input(call, acc)) {
        HN_TRY(hn_expect_dtype(call, acc, HN_F32));
        HN_TRY(hn_expect_rank(call, acc, 0));
        if (!hn_has_input(call, count))
            return hn_refuse(call, "a mean over these rows alone cannot continue a sum over "
                                   "micro-batches: give the count of the whole step");
    }
    *out = (hn_type){ .dtype = HN_F32 };
    return HN_OK;
}

/* A factor for every row. */
static inline hn_status hn_loss_expect_weights(const hn_call *call, int weights, int64_t rows)
{
    if (!hn_has_input(call, weights))
        return HN_OK;
    HN_TRY(hn_expect_float(call, weights));
    return hn_expect_vector(call, weights, rows);
}

static inline hn_status hn_loss_check_count(const hn_call *call, int count)
{
    if (hn_has_input(call, count))
        HN_REQUIRE(
            hn_get(call->in[count], 0) > 0, HN_ERR_ARGUMENT,
            "%s: count is %g: expected the number of supervised rows of the step, above 0",
            call->op->name, hn_get(call->in[count], 0));
    return HN_OK;
}

/* What a row's term is multiplied by: its weight over the count, or over `otherwise`. */
static inline double hn_loss_factor(const hn_call *call, int weights, int64_t row, int count,
                                    double otherwise)
{
    const double weight = hn_has_input(call, weights) ? hn_get(call->in[weights], row) : 1;
    return weight / (hn_has_input(call, count) ? hn_get(call->in[count], 0) : otherwise);
}

/* One link of the chain. */
static inline void hn_loss_start(const hn_call *call, int acc)
{
    hn_set(call->out[0], 0, hn_has_input(call, acc) ? hn_get(call->in[acc], 0) : 0);
}

static inline void hn_loss_add(const hn_call *call, double term)
{
    hn_set(call->out[0], 0, hn_get(call->out[0], 0) + term);
}

#endif
