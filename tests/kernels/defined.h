/* defined.h: products of a[m][k] and b[n][k] as docs/numerics.md defines them, one sum after another. */
#ifndef TESTS_KERNELS_DEFINED_H
#define TESTS_KERNELS_DEFINED_H

#include <stdint.h>

typedef struct defined_shape {
    int64_t m, n, k;
} defined_shape;

/* c[m][n] from +0, and `more` from what it holds. */

/* One fma for each element of the chain; more: or NULL. */
void defined_chains(defined_shape s, const float *a, const float *b, float *c, float *more);
/* In blocks of 32 of both rounded to bf16. */
void defined_blocks(defined_shape s, const float *a, const float *b, float *c, float *more);

#endif
