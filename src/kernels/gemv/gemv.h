/* gemv.h: sixteen or more outputs of y[rows,n] (=|+=) x[rows,k] * w[n,k] for one to eight rows.
 *
 * Output rows sit in lanes, so each output is still one chain over ascending k: the bits of
 * gemm. Plain rows are transposed in registers on the way in; panel16 needs no shuffles.
 *
 * What bounds it, per 16 weights at AVX-512 (a Zen 4 core starts two 512-bit operations a
 * cycle, of which one multiplies; a broadcast that is no operand of a product is one of them, and
 * one of three inputs holds up products, whichever pipe takes it):
 *
 *     f32 plain      4 shuffles, 1 fma                                   64 bytes
 *     bf16 plain     2 shuffles, 1 shift or mask, 1 fma                  32 bytes
 *     q8_0 panel     1/4 xor, mask, convert, 2 fma                       17 bytes
 *     q8_0 plain     the same and 1 of a turn                            17 bytes
 *     q4_k panel     mask, convert, 2 fma, 0.4 for the scales             9 bytes
 *     q4_k plain     the same and half of a turn                          9 bytes
 *     others         move a byte, convert, 2 of fma and product, and what makes words of bits (words.h)
 *     in blocks      mask and 2 fma more, to round; by dots 1/2 conversion of two, 1/2 shuffle, half of the fma
 *
 * so f32, bf16 and q8_0 wait for memory, and q4_k decodes at most 7 weights a cycle and core. Scalar
 * work counts too: gathering sixteen scales one by one cost as much as all of the above. */
#ifndef HN_KERNELS_GEMV_GEMV_H
#define HN_KERNELS_GEMV_GEMV_H

#include "kernels/decode/decode.h"

#include <stdbool.h>

/* Of the reduced index, in products that are summed in blocks (gemm/blocks.h). */
enum { HN_SUM_BLOCK = 32 };

enum { HN_GEMV_ROWS = 8, HN_GEMV_GROUPS = 4, HN_GEMV_ROOM = 16 * 272 };

/* y[row * ldy + 16 * group + lane] for `groups` (1, 2 or 4) times sixteen outputs.
 *   x        [k][rows], packed
 *   w        where the first output's weights begin; k is whole blocks
 *   room     HN_GEMV_ROOM floats
 *   stride   bytes: plain, from an output row to the next; panel16, from a panel to the next */
#define HN_PARAMS_gemv                                                                         \
    int rows, int groups, int64_t k, const float *x, const void *w, int64_t stride, float *y,  \
        int64_t ldy, bool accumulate, float *room

typedef struct hn_gemv_kernels {
    void (*plain[HN_N_ELEMS])(HN_PARAMS_gemv);
    void (*panel[HN_N_ELEMS])(HN_PARAMS_gemv);
    /* In blocks of 32 (gemm/blocks.h), of x that is rounded; k begins at one. */
    void (*block_plain)(hn_elem type, HN_PARAMS_gemv);
    void (*block_panel)(hn_elem type, HN_PARAMS_gemv);
    /* Block formats in blocks of 32 by dots (gemm/dots.h): of x that pair_up has changed, unless it said that some of it is too
     * small. None at levels without them. */
    bool (*pair_up)(int64_t k, int rows, float *x);
    void (*pair_plain)(hn_elem type, HN_PARAMS_gemv);
    void (*pair_panel)(hn_elem type, HN_PARAMS_gemv);
} hn_gemv_kernels;

#if defined(HN_LEVEL) /* for the texts of this level */
extern const hn_gemv_kernels HN_KERNEL_NAME(gemv_kernels);
#endif

#endif
