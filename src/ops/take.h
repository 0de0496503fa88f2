/* take.h: rows of ids that point into rows of values, of the same leading dimensions. */
#ifndef HN_OPS_TAKE_H
#define HN_OPS_TAKE_H

#include "ops/ops.h"

/* Input `ids` beside input `other`, whose last dimension may differ. */
static inline hn_status take_rows(const hn_call *call, int ids, int other)
{
    const hn_type *x = &call->in[other]->type;
    HN_TRY(hn_expect_integer(call, ids));
    HN_TRY(hn_expect_rank_between(call, other, 1, HN_MAX_RANK));
    HN_TRY(hn_expect_rank(call, ids, x->rank));
    for (int i = 0; i + 1 < x->rank; i++)
        HN_TRY(hn_expect_dim(call, ids, i, x->dim[i]));
    return HN_OK;
}

static inline hn_status take_check(const hn_call *call, int ids, int64_t n)
{
    for (int64_t i = 0; i < hn_count(&call->in[ids]->type); i++) {
        const int64_t id = hn_get_int(call->in[ids], i);
        HN_REQUIRE(id >= 0 && id < n, HN_ERR_ARGUMENT,
                   "%s: element %lld of ids is %lld: expected 0 to %lld", call->op->name,
                   (long long)i, (long long)id, (long long)n - 1);
    }
    return HN_OK;
}

#endif
