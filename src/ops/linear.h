/* linear.h: the order of rows and of sums that linear and linear_back share. */
#ifndef HN_OPS_LINEAR_H
#define HN_OPS_LINEAR_H

#include "kernels/gemm/rows.h"
#include "ops/attrs.h"
#include "ops/ops.h"

static inline hn_status linear_check_pairs(const hn_call *call)
{
    const int64_t pairs = ((const linear_attrs *)call->attrs)->pairs;
    const hn_type *w = &call->in[1]->type;
    if (!pairs)
        return HN_OK;
    if (pairs < 2 || pairs % 2 || w->dim[0] % pairs)
        return hn_refuse(call, "pairs is %lld: expected an even size of a head that divides the "
                               "%lld rows of w", (long long)pairs, (long long)w->dim[0]);
    return HN_OK;
}

/* What is lost where both sides are rounded to bf16, relative. */
static inline double linear_rounding(const void *attrs)
{
    return ((const linear_attrs *)attrs)->sums == HN_SUMS_BLOCKS ? 0x1p-8 : 0;
}

/* A gradient [N,K] in the product's order, in the order that w has. */
static inline hn_node *linear_file_rows(const hn_grad *d, hn_node *gradient)
{
    const int64_t pairs = ((const linear_attrs *)d->attrs)->pairs;
    if (!pairs || hn_is_poison(d->g, gradient))
        return gradient;
    hn_graph *g = d->g;
    const int64_t n = gradient->type.dim[0], k = gradient->type.dim[1];
    hn_node *heads = hn_reshape(g, gradient, (hn_ints){ 4, { n / pairs, 2, pairs / 2, k } });
    hn_node *turned = hn_contiguous(g, hn_transpose(g, heads, 1, 2));
    return hn_reshape(g, turned, (hn_ints){ 2, { n, k } });
}

#endif
