/* reduce.h: a row to one value or a few; rows to a row.
 *
 *   sum mean      kernels/simd/row.h; mean divides in double
 *   max argmax    NaN is passed over; of equal values the first index; a row of NaN alone gives
 *                 -inf and index 0
 *   cumsum        y[i] = y[i - 1] + x[i], one chain; y may be x
 *   top_k         the k largest in descending order, of equal values the lower index first, NaN
 *                 last; 1 <= k <= n; O(n + changes k): for k up to some hundreds
 *   sum_squares   blocks[b] = sum of squares of elements 4096 b .. in double, sixteen lanes and
 *                 their tree; the caller adds blocks in ascending order. A range that starts at
 * a multiple of 4,096 gives the same blocks alone sum_rows      acc[j] += x[row n + j], row
 * ascending: calls may be cut anywhere */
#ifndef HN_KERNELS_REDUCE_REDUCE_H
#define HN_KERNELS_REDUCE_REDUCE_H

#include "kernels/kernel.h"

#define HN_PARAMS_sum_f32     int64_t n, const float *x, float *y
#define HN_PARAMS_mean_f32    int64_t n, const float *x, float *y
#define HN_PARAMS_row_max_f32 int64_t n, const float *x, float *y
#define HN_PARAMS_argmax_f32  int64_t n, const float *x, int32_t *index
#define HN_PARAMS_cumsum_f32  int64_t n, const float *x, float *y
#define HN_PARAMS_top_k_f32                                                                    \
    int64_t n, const float *x, int64_t k, float *values, int32_t *indices
#define HN_PARAMS_sum_squares_f32 int64_t n, const float *x, double *blocks
#define HN_PARAMS_sum_rows_f32    int64_t rows, int64_t n, const float *x, float *acc

typedef struct hn_reduce_kernels {
#define HN_KERNEL(slot) HN_KERNEL_MEMBER(slot)
#include "kernels/reduce/reduce.def"
#undef HN_KERNEL
} hn_reduce_kernels;

#if defined(HN_LEVEL)
#define HN_KERNEL(slot) HN_KERNEL_DECLARE(slot)
#include "kernels/reduce/reduce.def"
#undef HN_KERNEL
#endif

#endif
