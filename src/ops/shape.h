/* shape.h: shapes as attributes: 0 keeps the input's dimension and one -1 takes what is left.
 */
#ifndef HN_OPS_SHAPE_H
#define HN_OPS_SHAPE_H

#include "ops/attrs.h"
#include "ops/ops.h"

/* The contiguous type of as many elements as x has. */
static inline hn_status shape_resolve(const hn_call *call, const hn_ints *shape, hn_type *out)
{
    const hn_type *x = &call->in[0]->type;
    int64_t dim[HN_MAX_INTS], known = 1;
    int open = -1;
    for (int i = 0; i < shape->n; i++) {
        dim[i] = shape->at[i];
        if (dim[i] == 0 && i < x->rank)
            dim[i] = x->dim[i];
        if (dim[i] == -1 && open < 0)
            open = i;
        else if (dim[i] < 1 || dim[i] > hn_count(x) / known)
            return hn_refuse(call, "dimension %d is %lld of %lld elements", i,
                             (long long)shape->at[i], (long long)hn_count(x));
        else
            known *= dim[i];
    }
    if (open >= 0)
        dim[open] = hn_count(x) / known;
    HN_TRY(hn_type_make(out, x->dtype, shape->n, dim));
    if (hn_count(out) != hn_count(x))
        return hn_refuse(call, "%lld elements do not make %lld", (long long)hn_count(x),
                         (long long)hn_count(out));
    return HN_OK;
}

#endif
