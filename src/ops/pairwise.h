/* pairwise.h: what maps of two inputs share, which are broadcast against each other like
 * numpy's. */
#ifndef HN_OPS_PAIRWISE_H
#define HN_OPS_PAIRWISE_H

#include "ops/ops.h"

static inline hn_status pairwise_infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, 0));
    HN_TRY(hn_expect_float(call, 1));
    return hn_broadcast(call, 2, out);
}

static inline void pairwise_values(const hn_call *call, double (*value)(double a, double b))
{
    const hn_tensor *a = call->in[0], *b = call->in[1], *y = call->out[0];
    const int64_t n = hn_count(&y->type);
    for (int64_t i = 0; i < n; i++)
        hn_set(y, i,
               value(hn_get(a, hn_broadcast_index(&a->type, &y->type, i)),
                     hn_get(b, hn_broadcast_index(&b->type, &y->type, i))));
}

/* A zero of x's element type, for `where`. */
static inline hn_node *pairwise_zero(hn_graph *g, const hn_node *x)
{
    return hn_cast(g, hn_graph_scalar(g, 0), x->type.dtype);
}

#endif
