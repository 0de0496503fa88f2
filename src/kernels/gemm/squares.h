/* squares.h: products in blocks of 32 (blocks.h) by a processor's matrix unit: 32 x 32 elements of C at a time.
 *
 * Two elements of k are a word, the first of them its low half; 16 x 16 words are what one register holds. Of A a row of them is an
 * element of m, and of B it is a word of k, so that A and B are packed each its own way, sixteen outer elements together:
 *
 *     | words of the first block | of the second | ...        TMM_DOT_BF16 (base/tmm.h) is one block
 *
 * The unit takes subnormals for zero, in C too. So it multiplies where there can be none: what dots ask of A and B (dots.h), of
 * panels of 256 of k; and C is +0 at first, or holds nothing but zeros and what is at least 2^-103, all multiples of 2^-126. Where
 * that does not hold, or does no longer, the plain tile goes on, and it is asked anew at the next panel. A last block is filled
 * with zeros, which says nothing where nothing is subnormal; there is no block of zeros alone, for it would turn -0 into +0.
 *
 * C stays in scratch, a square after another, until k is at its end: a row of C in memory is often 4,096 bytes from the next one,
 * and those would all fall into one set of the cache. */
#ifndef HN_KERNELS_GEMM_SQUARES_H
#define HN_KERNELS_GEMM_SQUARES_H

#include "kernels/gemm/dots.h"

enum {
    HN_SQUARE = 32,        /* rows, and columns, of C */
    HN_SQUARE_HALF = 16,   /* rows of a register */
    HN_SQUARE_WORDS = 256, /* of a register */
    HN_SQUARE_DEPTH = 256, /* of k: both panels of a square are in the first-level cache */
    HN_SQUARE_ROWS = 512,  /* of C in scratch */
};

typedef struct hn_gemm_squares {
    /* Up to sixteen outer elements and n_k of k, to squares of words; outer elements that are not there, and what fills the last
     * block, are zeros. The lowest exponent goes to `lowest`, as dots.h has it, if it is lower. f32 is rounded. False, and
     * nothing done, for operands that lie in another way than it reads. */
    bool (*pack)(const struct hn_gemm_operand *x, int64_t outer, int n_outer, int64_t k, int64_t n_k, bool is_a,
                 uint32_t *dst, int *lowest);
    /* The same of a panel [n_k][16] of f32 that are bf16. */
    void (*join)(int64_t n_k, const float *panel, bool is_a, uint32_t *dst, int *lowest);
    /* Around calls of multiply, of the thread that calls it. */
    void (*open)(void);
    void (*close)(void);
    /* c += a b, or = where it does not go on: `blocks` blocks, whose second sixteen rows (columns) lie behind the first ones;
     * `next` is what is read after them. */
    void (*multiply)(int64_t blocks, const uint32_t *a, const uint32_t *b, int rows, int cols, bool goes_on, float *c,
                     const uint32_t *next);
    /* C in memory to a square, and back. Strides are bytes. False: it holds what a matrix unit must not go on from. */
    bool (*take)(const float *c, int64_t row_stride, int64_t col_stride, int rows, int cols, float *square);
    void (*put)(const float *square, int rows, int cols, float *c, int64_t row_stride, int64_t col_stride);
} hn_gemm_squares;

/* ---- a part of C ---- */

struct hn_gemm_plan;
typedef struct hn_gemm_region {
    const struct hn_gemm_plan *plan;
    uint32_t *a, *b;
    float *panel, *c;
    int64_t i0, i1, j0, j1;
    int64_t end; /* rows from i0 to here are in scratch */
} hn_gemm_region;

/* Floats of scratch; for at most `columns` of them. */
int64_t hn_gemm_region_floats(int64_t columns);
hn_gemm_region hn_gemm_region_of(const struct hn_gemm_plan *plan, float *scratch, int64_t i0, int64_t i1, int64_t j0, int64_t j1);

/* `depth` of k, all of them or HN_SQUARE_DEPTH, for as many rows as it may. Gives the row that it came to: C in memory
 * holds what those behind it have come to, and they are to be multiplied otherwise. `room` as for packing. */
int64_t hn_gemm_region_step(hn_gemm_region *r, int64_t k, int64_t depth, float *room);
void hn_gemm_region_end(hn_gemm_region *r);

#endif
