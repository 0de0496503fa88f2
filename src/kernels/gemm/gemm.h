/* gemm.h: C[m,n] (=|+=) A[m,k] * B[k,n], for any strides and element types; C is f32.
 *
 * Every element of C is one chain, acc = fma(a[p], b[p], acc) for ascending p, from +0 or from
 * what C holds. Blocks of k only store and reload the accumulator; m and n alone are split
 * over units. So the bits depend on a row of A and a column of B, and on nothing else: not on
 * the level, the unit grid, the threads, the layout of an operand, or the rows beside it.
 *
 * In blocks (blocks.h), which a call asks for, both sides are rounded to bf16 and the reduced index is summed in blocks of 32:
 * another order, and as much a function of a row and a column alone. What a call asks for, never what its operands
 * hold, says which of both it is.
 *
 * A call is planned from its sizes (no allocation, no data), then its units are run in any
 * order by any threads, each thread with a scratch of its own. The same small rows of x that
 * a decode step multiplies by a weight take another loop order of the same kernels: weights
 * are then streamed once through the first-level cache. */
#ifndef HN_KERNELS_GEMM_GEMM_H
#define HN_KERNELS_GEMM_GEMM_H

#include "kernels/simd/ahead.h"
#include "kernels/gemm/dots.h"
#include "kernels/gemm/rows.h"
#include "kernels/gemm/squares.h"
#include "kernels/gemv/gemv.h"

#include <stdbool.h>

/* A matrix seen from the product: `outer` is m for A and n for B; k is the summed dimension.
 * Strides are bytes. Of a block format, the dimension that runs along the blocks has stride 0
 * and starts at a block; the other one's stride is the bytes of a row.
 * A panel16 layout (decode.h) ignores both strides: `rows_are_k` tells which way it is seen and
 * `row_elems` how long a row is. Rows may lie in pairs (rows.h): slow of panels, which whoever packs
 * them can put in order. */
typedef struct hn_gemm_operand {
    const void *data;
    int64_t outer_stride, k_stride;
    hn_elem type;
    bool is_panel16;
    bool rows_are_k;   /* its rows run along k (backward), not along outer: panel16 and pairs */
    int64_t row_elems; /* panel16 alone */
    const uint8_t *lowest; /* of panels of bf16: as hn_panel16_lowest gives it; NULL: not known */
    int64_t pairs;
} hn_gemm_operand;

/* Its rows from `from` on, a multiple of sixteen where they lie in panels. */
static inline hn_gemm_operand hn_gemm_rows_from(hn_gemm_operand x, int64_t from, int64_t row_bytes)
{
    x.data = (const char *)x.data + from * (x.is_panel16 ? hn_elem_span(x.type, x.row_elems) : row_bytes);
    if (x.lowest)
        x.lowest += from / 16 * hn_panel16_stretches(x.row_elems);
    return x;
}

/* Which way it is contiguous; neither for strides that are larger both ways. */
static inline bool hn_gemm_along_outer(const hn_gemm_operand *x)
{
    if (x->is_panel16)
        return x->rows_are_k;
    return x->outer_stride == (hn_elem_block(x->type) > 1 ? 0 : hn_elem_bytes(x->type));
}

static inline bool hn_gemm_along_k(const hn_gemm_operand *x)
{
    if (x->is_panel16)
        return !x->rows_are_k;
    return x->k_stride == (hn_elem_block(x->type) > 1 ? 0 : hn_elem_bytes(x->type));
}

typedef struct hn_gemm_args {
    int64_t m, n, k; /* >= 1 */
    hn_gemm_operand a, b;
    float *c;
    int64_t c_row_stride, c_col_stride; /* bytes; fast when either is 4 */
    bool accumulate;                    /* start from C, not from +0 */
    bool blocks;                        /* blocks.h, not one chain */
} hn_gemm_args;

/* c[rows,cols] from a[k][rows] and b; rows <= mr, cols <= nr. Asks for what is ahead, if anything is. */
typedef void (*hn_gemm_tile)(int64_t k, const float *a, hn_gemm_columns b, float *c, int64_t ldc, int rows, int cols, bool accumulate,
                             hn_ahead *ahead);

/* One level's micro-kernel with the sizes that its packing must agree with. */
typedef struct hn_gemm_kernels {
    hn_gemm_tile tile, block_tile;
    /* Panels of `width` outer elements, dst[panel][k][width], the last one padded with zeros.
     * Writes up to 15 floats past the end. `room` holds HN_GEMM_ROOM floats. */
    void (*pack)(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k,
                 int64_t n_k, int64_t width, float *dst, float *room);
    /* dst[k][n_outer], row stride ld: for operands contiguous along outer. */
    void (*rows)(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k,
                 int64_t n_k, float *dst, int64_t ld, float *room);
    /* dst[n_outer][n_k], row stride ld: for operands contiguous along k, from a block's first element on. */
    void (*along_k)(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k, int64_t n_k, float *dst, int64_t ld);
    /* x[n] to bf16, as f32; up to 15 floats past the end are rounded too. */
    void (*round)(int64_t n, float *x);
    const hn_gemv_kernels *lanes; /* few rows by weights in lanes */
    const hn_gemm_dots *dots;     /* operands whose elements are all bf16; NULL: as any others */
    const hn_gemm_squares *squares; /* many rows in blocks by a matrix unit; NULL: there is none */
    int mr, nr, kc, mc,
        nc; /* mc is a multiple of mr; kc and nc are multiples of 256, the longest block */
} hn_gemm_kernels;

enum {
    HN_GEMM_ROOM = 3 * 16 * 256, /* floats of room a packer needs */
    HN_GEMM_FEW = 8,             /* the most rows that weights are streamed by */
};

/* How a call is cut. A value; it holds the arguments, turned so that C's rows are contiguous.
 */
typedef struct hn_gemm_plan {
    hn_gemm_args args;
    const hn_gemm_kernels *kernels;
    int64_t m_block, n_block, m_units, n_units;
    int64_t units; /* m_units * n_units */
    bool few;      /* the streaming order */
    bool several;  /* the order of several.c, unless there are squares */
    bool squares;  /* squares.h: of products in blocks */
    bool may_dot;  /* dots (dots.h): of a chain, if the elements turn out to be bf16 */
} hn_gemm_plan;

/* Scratch of one thread for this product, and for any with the same sums that is nowhere larger. Of its arguments sizes
 * and `blocks` count: take them from where those that are multiplied come from. */
size_t hn_gemm_scratch_bytes(const hn_gemm_kernels *kernels, const hn_gemm_args *largest);

/* The same for chains of any size. */
size_t hn_gemm_chain_scratch_bytes(const hn_gemm_kernels *kernels);

/* `threads` only chooses how fine the grid is. */
void hn_gemm_plan_make(hn_gemm_plan *plan, const hn_gemm_kernels *kernels,
                       const hn_gemm_args *args, int threads);

/* Runs units [first, end). Scratch is aligned to 64 bytes. */
void hn_gemm_run(const hn_gemm_plan *plan, int64_t first, int64_t end, void *scratch);

#endif
