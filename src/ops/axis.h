/* axis.h: one dimension of a tensor, between what lies outside and what lies inside of it:
 * element (o, k, i) has number (o n + k) inner + i. */
#ifndef HN_OPS_AXIS_H
#define HN_OPS_AXIS_H

#include "ops/attrs.h"
#include "ops/ops.h"

typedef struct axis {
    int64_t outer, n, inner;
} axis;

/* Dimensions below 0 count from the end. */
static inline int axis_number(const hn_type *t, int64_t dim)
{
    return (int)(dim < 0 ? dim + t->rank : dim);
}

static inline hn_status axis_check(const hn_call *call, int input, int64_t dim)
{
    const int rank = call->in[input]->type.rank;
    if (dim < -rank || dim >= rank)
        return hn_refuse(call, "dim is %lld, the input has rank %d", (long long)dim, rank);
    return HN_OK;
}

static inline axis axis_of(const hn_type *t, int64_t dim)
{
    const int at = axis_number(t, dim);
    axis a = { 1, t->dim[at], 1 };
    for (int i = 0; i < at; i++)
        a.outer *= t->dim[i];
    for (int i = at + 1; i < t->rank; i++)
        a.inner *= t->dim[i];
    return a;
}

/* One element of any scalar type to a tensor of the same type. */
static inline void axis_move(const hn_tensor *to, int64_t i, const hn_tensor *from, int64_t j)
{
    if (hn_is_float(to->type.dtype))
        hn_set(to, i, hn_get(from, j));
    else
        hn_set_int(to, i, hn_get_int(from, j));
}

static inline hn_status axis_refuse_blocks(const hn_call *call, int input)
{
    if (hn_is_block(call->in[input]->type.dtype))
        return hn_refuse(call, "%s cannot be cut inside its blocks",
                         hn_dtype_name(call->in[input]->type.dtype));
    return HN_OK;
}

#endif
