/* softmax.h: one row of logits. y may be x, dx may be y or dy, exactly.
 *
 * z = x scale, or f(x, scale, mask) where `mask` is not NULL. `sink`, where it is not NULL, is
 * one more logit, which takes its share of the sum and has no output. Sums: kernels/simd/row.h.
 * A row of -inf alone gives zeros, and -inf as its logsumexp.
 *
 *   softmax        y = exp(z - max) (1 / sum)
 *   softmax_rows   the same of rows that lie one after the other, n a multiple of 16; y, other memory than x and of
 *                  whole lines, is stored past the caches; `room`: n floats
 *   softmax_grad   dx = (y scale) (dy - sum(y dy)), with or without a sink; `streams` as in norm.h
 *   logsumexp      *y = max + log(sum exp(x - max))
 *   softmax_join   folds a tile of logits into a running maximum and sum of exp(x - maximum);
 *                  they start at -inf and 0; the result depends on where the tiles are cut
 *   softmax_tile_grad  y = (exp(x - lse) - [i == target]) scale; target < 0: not in this tile
 */
#ifndef HN_KERNELS_SOFTMAX_SOFTMAX_H
#define HN_KERNELS_SOFTMAX_SOFTMAX_H

#include "kernels/kernel.h"

#define HN_PARAMS_softmax_f32                                                                  \
    int64_t n, const float *x, float scale, const float *mask, const float *sink, float *y
#define HN_PARAMS_softmax_rows_f32                                                             \
    int64_t rows, int64_t n, const float *x, float scale, float *y, float *room
#define HN_PARAMS_softmax_grad_f32                                                             \
    int64_t n, const float *y, const float *dy, float scale, float *dx, bool streams
#define HN_PARAMS_logsumexp_f32    int64_t n, const float *x, float *y
#define HN_PARAMS_softmax_join_f32 int64_t n, const float *x, float *maximum, double *sum
#define HN_PARAMS_softmax_tile_grad_f32                                                        \
    int64_t n, const float *x, float lse, int64_t target, float scale, float *y

typedef struct hn_softmax_kernels {
#define HN_KERNEL(slot) HN_KERNEL_MEMBER(slot)
#include "kernels/softmax/softmax.def"
#undef HN_KERNEL
} hn_softmax_kernels;

#if defined(HN_LEVEL)
#define HN_KERNEL(slot) HN_KERNEL_DECLARE(slot)
#include "kernels/softmax/softmax.def"
#undef HN_KERNEL
#endif

#endif
