/* reduction.h: what reductions over one dimension share. The n elements that make one result
 * lie `step` apart; with `keep` the dimension stays, with one element. */
#ifndef HN_OPS_REDUCTION_H
#define HN_OPS_REDUCTION_H

#include "ops/axis.h"

#define REDUCTION_TABLE                                                                        \
    {                                                                                          \
        HN_ATTR_INT(reduction_attrs, dim, "-1"), HN_ATTR_BOOL(reduction_attrs, keep, "0"),     \
            HN_ATTR_END                                                                        \
    }

static inline const reduction_attrs *reduction_of(const void *attrs) { return attrs; }

/* The type of what is left of x. */
static inline hn_status reduction_type(const hn_call *call, int input, hn_dtype dtype,
                                       hn_type *out)
{
    const reduction_attrs *at = call->attrs;
    const hn_type *x = &call->in[input]->type;
    HN_TRY(axis_check(call, input, at->dim));
    const int gone = axis_number(x, at->dim);
    int64_t dim[HN_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (i != gone || at->keep)
            dim[rank++] = i == gone ? 1 : x->dim[i];
    return hn_type_make(out, dtype, rank, dim);
}

static inline hn_status reduction_infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, 0));
    return reduction_type(call, 0, call->in[0]->type.dtype, out);
}

/* Expects `input` to have the shape of what is left of x, and gives x's own shape. */
static inline hn_status reduction_back(const hn_call *call, int input, int x, hn_dtype dtype,
                                       hn_type *out)
{
    hn_type reduced;
    char want[HN_TYPE_TEXT], got[HN_TYPE_TEXT];
    HN_TRY(reduction_type(call, x, call->in[input]->type.dtype, &reduced));
    if (!hn_same_shape(&call->in[input]->type, &reduced))
        return hn_refuse(call, "%s given for a reduction to %s",
                         hn_type_text(&call->in[input]->type, got),
                         hn_type_text(&reduced, want));
    return hn_type_as(out, &call->in[x]->type, dtype);
}

/* y = reduce(elements first, first + step ... of x, n of them). */
static inline void reduction_values(const hn_call *call,
                                    double (*reduce)(const hn_tensor *x, int64_t first,
                                                     int64_t step, int64_t n))
{
    const hn_tensor *x = call->in[0];
    const axis a = axis_of(&x->type, reduction_of(call->attrs)->dim);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t i = 0; i < a.inner; i++)
            hn_set(call->out[0], o * a.inner + i,
                   reduce(x, o * a.n * a.inner + i, a.inner, a.n));
}

static inline double reduction_flops(const hn_call *call)
{
    return (double)hn_count(&call->in[0]->type);
}

#endif
