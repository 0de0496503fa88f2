/* peak.h: what a level can do at most on this machine: the limits that kernels are measured by.
 *
 *   peak_fma    n rounds of HN_PEAK_CHAINS fmas over sixteen lanes, in registers; x holds 16 floats
 *   peak_read   loads n floats; y gets sixteen that depend on all of them
 *   peak_copy   y[i] = x[i] by plain loads and stores
 *
 * They walk so many parts side by side as are fastest; n is a multiple of sixteen times that. */
#ifndef HN_KERNELS_PEAK_PEAK_H
#define HN_KERNELS_PEAK_PEAK_H

#include "kernels/kernel.h"

enum { HN_PEAK_CHAINS = 12, HN_PEAK_STREAMS = 2, HN_PEAK_READ_STREAMS = 16 };

#define HN_PARAMS_peak_fma  int64_t n, float *x
#define HN_PARAMS_peak_read int64_t n, const float *x, float *y
#define HN_PARAMS_peak_copy int64_t n, const float *x, float *y

typedef struct hn_peak_kernels {
#define HN_KERNEL(slot) HN_KERNEL_MEMBER(slot)
#include "kernels/peak/peak.def"
#undef HN_KERNEL
} hn_peak_kernels;

#if defined(HN_LEVEL)
#define HN_KERNEL(slot) HN_KERNEL_DECLARE(slot)
#include "kernels/peak/peak.def"
#undef HN_KERNEL
#endif

#endif
