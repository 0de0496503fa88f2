/* dots.h: products of bf16 by bf16 where an instruction does two steps of the chain at once.
 *
 * The product of two bf16 is exact in f32, and vdpbf16ps adds those of two pairs, one after the
 * other, each sum rounded: two steps of gemm's chain. But it takes subnormals for zero. So it is used
 * where there can be none: every element is zero or normal, and the lowest exponents of either
 * side together are so high that every product is a multiple of 2^-126. Then so is every sum, rounded
 * or not, and one that is not zero is at least that: the smallest normal number. Whether this holds is
 * found while operands are packed; where it does not, the plain tile gives the same bits. */
#ifndef HN_KERNELS_GEMM_DOTS_H
#define HN_KERNELS_GEMM_DOTS_H

#include "base/isa.h"
#include "kernels/simd/ahead.h"

#include <stdbool.h>
#include <stdint.h>

/* What dots ask of two operands: the sum of what `join` gave of each. A bf16 of exponent e is a
 * multiple of 2^(e - 127 - 7). */
enum { HN_GEMM_DOTS_LEAST = 2 * (127 + 7) - 126, HN_GEMM_NO_DOTS = -1000 };

struct hn_gemm_operand;

/* Columns of B as a tile reads them: sixteen side by side, `row` floats from those of one k to the next (with dots: from one pair
 * of k), `apart` from sixteen columns to the sixteen beside them. A panel that was packed, or weights as they lie. */
typedef struct hn_gemm_columns {
    const float *at;
    int64_t row, apart;
} hn_gemm_columns;

typedef struct hn_gemm_dots {
    /* As hn_gemm_kernels.tile, but a row of either panel is two of k: k / 2 of them. */
    void (*tile)(int64_t k, const float *a, hn_gemm_columns b, float *c, int64_t ldc, int rows, int cols, bool accumulate,
                 hn_ahead *ahead);
    /* In blocks of 32 (blocks.h): whole ones, k elements of panels that `regroup` has seen, or of bf16 that lies in panels of
     * sixteen rows (kernels/decode/decode.h). */
    void (*block_tile)(int64_t k, const float *a, hn_gemm_columns b, float *c, int64_t ldc, int rows, int cols, bool accumulate,
                       hn_ahead *ahead);
    /* k joined elements of `width`, of each four (0,1) (2,3), become (0,2) (1,3). k is a multiple of 4. */
    void (*regroup)(int64_t k, int64_t width, float *x);
    /* Panels as hn_gemm_kernels.pack makes them, already joined, of operands that lie as those of
     * models do; false, and nothing done, for others. `grouped`: as `regroup` leaves them. */
    bool (*pack)(const struct hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k,
                 int64_t n_k, int64_t width, bool grouped, float *dst, int *lowest);
    /* dst[p][i] = x[2 p][i], x[2 p + 1][i] as the halves of a word, of k rows of `width`; behind the
     * last of an odd number zeros are put. Gives the lowest exponent, biased, of elements that are not
     * zero (256: all are), or HN_GEMM_NO_DOTS where one is subnormal or no bf16. `dst` may be `x`. */
    int (*join)(int64_t k, int64_t width, const float *x, float *dst);
} hn_gemm_dots;

#endif
