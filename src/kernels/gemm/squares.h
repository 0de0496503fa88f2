/* squares.h: products in blocks of 32 (blocks.h) by a processor's matrix unit: 32 x 32 elements of C at a time.
 *
 * Two elements of k are a word, the first of them its low half; 16 x 16 words are what one register holds. Of A a row of them is an
 * element of m, and of B it is a word of k, so that A and B are packed each its own way, sixteen outer elements together:
 *
 *     | words of the first block | of the second | ...        TMM_DOT_BF16 (base/tmm.h) is one block
 *
 * The unit takes subnormals for zero, in C too. So it multiplies where there can be none: what dots ask of A and B (dots.h), of
 * a pass (below); and C is +0 at first, or holds nothing but zeros and what is at least 2^-103, all multiples of 2^-126. Where
 * that does not hold, or does no longer, the plain tile goes on, and it is asked anew at the next pass. A last block is filled
 * with zeros, which says nothing where nothing is subnormal; there is no block of zeros alone, for it would turn -0 into +0.
 *
 * A part of C is multiplied in passes of at most 1,024 of k. Of A all rows are packed once a pass, half of the second-level cache, and
 * B by groups of columns, each as it is needed. Two squares of C, one above the other, stay in the first-level cache for a whole
 * pass, and what the next group will be packed from is asked of memory meanwhile:
 *
 *     for passes of k: pack A | for groups: pack B | for 32 columns: for 64 rows: C from +0 or memory,
 *                                                       for 256 of k: for 32 rows: multiply,  C to memory
 *
 * C moved in and out of the second-level cache for every 256 of k instead takes half as long again: 29 to 44 ns a block of a square,
 * which is 18 if nothing is loaded but A and B. */
#ifndef HN_KERNELS_GEMM_SQUARES_H
#define HN_KERNELS_GEMM_SQUARES_H

#include "kernels/gemm/dots.h"

enum {
    HN_SQUARE = 32,           /* rows, and columns, of C */
    HN_SQUARE_HALF = 16,      /* rows of a register */
    HN_SQUARE_WORDS = 256,    /* of a register */
    HN_SQUARE_DEPTH = 256,    /* of k that are multiplied at a time */
    HN_SQUARE_TALL = 64,      /* rows whose sums stay while k goes by */
    HN_SQUARE_PASS = 1024,    /* of k that are packed at a time, */
    HN_SQUARE_ROWS = 512,     /* as are so many rows of A at most, */
    HN_SQUARE_COLUMNS = 2048, /* for so many columns of B, half as many where there are several passes; */
    HN_SQUARE_GROUP = 256,    /* of these so many: no block of a format is longer; what is packed as it lies goes square by square */
};

/* Packed elements, of A or B: squares of one block behind each other, and from sixteen outer elements to the next `half` words. */
typedef struct hn_square_factors {
    const uint32_t *a, *b;
    int64_t half, blocks;
} hn_square_factors;

/* Lines that will be read soon: 128 bytes, `step` bytes from one to the next. */
typedef struct hn_square_ahead {
    const char *at;
    int64_t step;
} hn_square_ahead;

typedef struct hn_gemm_squares {
    /* Up to 32 outer elements and n_k of k, to squares of words, of the second sixteen `half` words behind; outer elements that
     * are not there, and what fills the last block, are zeros. The lowest exponent goes to `lowest`, as dots.h has it, if it is
     * lower. f32 is rounded. False, and nothing done, for operands that lie in another way than it reads. */
    bool (*pack)(const struct hn_gemm_operand *x, int64_t outer, int n_outer, int64_t k, int64_t n_k, bool is_a,
                 uint32_t *dst, int64_t half, int *lowest);
    /* The same of a panel [n_k][16] of f32. */
    void (*join)(int64_t n_k, const float *panel, bool is_a, uint32_t *dst, int *lowest);
    /* Around calls of multiply, of the thread that calls it. */
    void (*open)(void);
    void (*close)(void);
    /* c += a b, or = where it does not go on. */
    void (*multiply)(const hn_square_factors *x, int rows, int cols, bool goes_on, float *c, hn_square_ahead ahead);
    /* C in memory to a square, and back. Strides are bytes. False: it holds what a matrix unit must not go on from. */
    bool (*take)(const float *c, int64_t row_stride, int64_t col_stride, int rows, int cols, float *square);
    void (*put)(const float *square, int rows, int cols, float *c, int64_t row_stride, int64_t col_stride);
} hn_gemm_squares;

/* ---- a part of C, at most HN_SQUARE_ROWS high, ---- */

int64_t hn_gemm_region_widest(int64_t k); /* and so wide, a multiple of */
int64_t hn_gemm_columns_together(const struct hn_gemm_operand *b);

struct hn_gemm_plan;
typedef struct hn_gemm_region {
    const struct hn_gemm_plan *plan;
    uint32_t *a, *b;
    float *panel, *c;
    int64_t i0, i1, j0, j1;
    int64_t k, depth, half;                    /* of the pass */
    int lowest[HN_SQUARE_ROWS / HN_SQUARE_TALL]; /* exponent, of A */
    int64_t held[HN_SQUARE_COLUMNS / HN_SQUARE]; /* by groups of columns: rows before it are in scratch */
} hn_gemm_region;

int64_t hn_gemm_region_floats(int64_t m, int64_t n, int64_t k); /* of scratch, of products of at most these sizes */
hn_gemm_region hn_gemm_region_of(const struct hn_gemm_plan *plan, float *scratch, int64_t i0, int64_t i1, int64_t j0, int64_t j1);

/* Begins a pass, from k on; gives its depth. `room` as for packing. */
int64_t hn_gemm_region_pass(hn_gemm_region *r, int64_t k, float *room);

/* A group of columns from j on, to `end`, for as many rows as it may. Gives the row that it came to: those behind it are to be
 * multiplied otherwise, from what C holds. */
int64_t hn_gemm_region_columns(hn_gemm_region *r, int64_t j, int64_t *end, float *room);

#endif
