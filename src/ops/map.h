/* map.h: what maps share: y[i] from x[i], dx[i] from x[i] and dy[i]. Integers are refused. */
#ifndef HN_OPS_MAP_H
#define HN_OPS_MAP_H

#include "ops/attrs.h"
#include "ops/ops.h"

static inline hn_status map_infer(const hn_call *call, hn_type *out)
{
    return hn_infer_like(call, 0, out);
}

static inline void map_values(const hn_call *call, double (*value)(const void *attrs, double x))
{
    const int64_t n = hn_count(&call->out[0]->type);
    for (int64_t i = 0; i < n; i++)
        hn_set(call->out[0], i, value(call->attrs, hn_get(call->in[0], i)));
}

static inline hn_status map_grad_infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, 1));
    HN_TRY(hn_expect_same(call, 1, 0));
    return hn_infer_like(call, 0, out);
}

static inline void map_grads(const hn_call *call,
                             double (*value)(const void *attrs, double x, double dy))
{
    const int64_t n = hn_count(&call->out[0]->type);
    for (int64_t i = 0; i < n; i++)
        hn_set(call->out[0], i,
               value(call->attrs, hn_get(call->in[0], i), hn_get(call->in[1], i)));
}

/* dx is read by nobody who differentiates. */
#define MAP_NO_SECOND "second derivatives are not provided"

#endif
