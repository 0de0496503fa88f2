/* rows.h: where a row of weights lies. Rope by adjacent pairs makes files interleave the two halves
 * of every head; sums still go in the order of the halves. */
#ifndef HN_KERNELS_GEMM_ROWS_H
#define HN_KERNELS_GEMM_ROWS_H

#include <stdint.h>

/* `pairs`: 0, rows lie in order; or a head's size. */
static inline int64_t hn_gemm_row(int64_t pairs, int64_t row)
{
    if (!pairs)
        return row;
    const int64_t half = pairs / 2, in_head = row % pairs;
    return row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
}

#endif
