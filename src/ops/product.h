/* product.h: a batch of matrix products. Batch dimensions are right-aligned; each operand's is
 * as large as the product's, or 1; the last one may also divide it, so that consecutive heads
 * share one matrix: head h of 8 uses matrix h / 4 of 2. */
#ifndef HN_OPS_PRODUCT_H
#define HN_OPS_PRODUCT_H

#include "ops/attrs.h"
#include "ops/ops.h"

typedef struct product {
    int64_t m, n, k; /* [m, k] times [k, n] */
    bool ta, tb;
    hn_type batch; /* its shape alone */
} product;

static inline product product_of(const hn_call *call)
{
    const matmul_attrs *at = call->attrs;
    const hn_type *a = &call->in[0]->type, *b = &call->in[1]->type;
    product p = { .m = a->dim[a->rank - (at->ta ? 1 : 2)],
                  .k = a->dim[a->rank - (at->ta ? 2 : 1)],
                  .n = b->dim[b->rank - (at->tb ? 2 : 1)],
                  .ta = at->ta,
                  .tb = at->tb };
    p.batch.rank = (a->rank > b->rank ? a->rank : b->rank) - 2;
    for (int i = 0; i < p.batch.rank; i++) {
        const int from_a = i - p.batch.rank + a->rank - 2,
                  from_b = i - p.batch.rank + b->rank - 2;
        const int64_t own_a = from_a < 0 ? 1 : a->dim[from_a],
                      own_b = from_b < 0 ? 1 : b->dim[from_b];
        p.batch.dim[i] = own_a > own_b ? own_a : own_b;
    }
    return p;
}

/* Whether the batch of matrices `input` can be broadcast to the product's. */
static inline hn_status product_fits(const hn_call *call, int input, const product *p)
{
    const hn_type *t = &call->in[input]->type;
    for (int i = 0; i < t->rank - 2; i++) {
        const int to = p->batch.rank - (t->rank - 2) + i;
        const bool is_last = i == t->rank - 3;
        if (to < 0)
            return hn_refuse(call, "%d dimensions for a product of %d", t->rank,
                             p->batch.rank + 2);
        if (t->dim[i] != 1 && t->dim[i] != p->batch.dim[to] &&
            !(is_last && p->batch.dim[to] % t->dim[i] == 0))
            return hn_refuse(call, "dimension %d is %lld: expected %lld or 1%s", i,
                             (long long)t->dim[i], (long long)p->batch.dim[to],
                             is_last ? " or a divisor" : "");
    }
    return HN_OK;
}

static inline hn_status product_check(const hn_call *call)
{
    for (int i = 0; i < 2; i++) {
        HN_TRY(hn_expect_float(call, i));
        HN_TRY(hn_expect_rank_between(call, i, 2, HN_MAX_RANK));
    }
    const product p = product_of(call);
    HN_TRY(hn_expect_dim(call, 1, call->in[1]->type.rank - (p.tb ? 1 : 2), p.k));
    HN_TRY(product_fits(call, 0, &p));
    return product_fits(call, 1, &p);
}

/* Which matrix of `t` belongs to number `batch` of the product. */
static inline int64_t product_matrix(const hn_type *t, const product *p, int64_t batch)
{
    int64_t at = 0, step = 1;
    for (int i = p->batch.rank - 1; i >= 0; i--) {
        const int own = i - p->batch.rank + t->rank - 2;
        const int64_t n = p->batch.dim[i];
        if (own >= 0) {
            at += batch % n / (n / t->dim[own]) * step;
            step *= t->dim[own];
        }
        batch /= n;
    }
    return at;
}

/* sum + row `row` of a times column `col` of b, in number `batch` of the product. */
static inline double product_element(const hn_call *call, const product *p, int64_t batch,
                                     int64_t row, int64_t col, double sum)
{
    const hn_tensor *a = call->in[0], *b = call->in[1];
    const int64_t in_a = product_matrix(&a->type, p, batch) * p->m * p->k;
    const int64_t in_b = product_matrix(&b->type, p, batch) * p->n * p->k;
    for (int64_t i = 0; i < p->k; i++)
        sum += hn_get(a, in_a + (p->ta ? i * p->m + row : row * p->k + i)) *
               hn_get(b, in_b + (p->tb ? col * p->k + i : i * p->n + col));
    return sum;
}

static inline double product_flops(const hn_call *call)
{
    const product p = product_of(call);
    return 2.0 * (double)hn_count(&p.batch) * (double)p.m * (double)p.n * (double)p.k;
}

#define PRODUCT_TABLE                                                                          \
    {                                                                                          \
        HN_ATTR_BOOL(matmul_attrs, ta, "0"), HN_ATTR_BOOL(matmul_attrs, tb, "0"), HN_ATTR_END  \
    }

#endif
