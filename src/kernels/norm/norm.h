/* norm.h: one row at a time; y may be x, dx may be x or dy, exactly.
 *
 * Means are of the row sums of kernels/simd/row.h, divided in double; 1 / sqrt is taken in
 * double and rounded to f32 once.
 *
 *   rms_norm     r = 1 / sqrt(mean(x^2) + eps);  y = (x r) gain
 *   layer_norm   m = mean(x), r = 1 / sqrt(mean((x - m)^2) + eps);  y = f((x - m) r, gain,
 * bias) l2_norm      r = 1 / max(sqrt(sum(x^2)), eps);  y = x r
 *
 * `gain` and `bias` may be NULL: one and zero. `stats`, where it is not NULL, gets what the
 * gradients of gain need: r, or m and r.
 *
 * `streams`: the output is no input, of whole lines of 64 aligned bytes, and not read before the caches forget it.
 *
 * _grad writes dx alone. _gain_grad adds rows to acc[n], one fma per row in ascending order:
 * acc = f(dy, xhat, acc), so a cut of the rows in several calls changes no bit. */
#ifndef HN_KERNELS_NORM_NORM_H
#define HN_KERNELS_NORM_NORM_H

#include "kernels/kernel.h"

#define HN_PARAMS_rms_norm_f32                                                                 \
    int64_t n, const float *x, const float *gain, float eps, float *y, float *stats, bool streams
#define HN_PARAMS_rms_norm_grad_f32                                                            \
    int64_t n, const float *x, const float *gain, float eps, const float *dy, float *dx,       \
        float *stats, bool streams
#define HN_PARAMS_rms_norm_gain_grad_f32                                                       \
    int64_t rows, int64_t n, const float *x, const float *dy, const float *stats, float *acc
#define HN_PARAMS_layer_norm_f32                                                               \
    int64_t n, const float *x, const float *gain, const float *bias, float eps, float *y,      \
        float *stats, bool streams
#define HN_PARAMS_layer_norm_grad_f32                                                          \
    int64_t n, const float *x, const float *gain, float eps, const float *dy, float *dx,       \
        float *stats, bool streams
#define HN_PARAMS_layer_norm_gain_grad_f32                                                     \
    int64_t rows, int64_t n, const float *x, const float *dy, const float *stats, float *acc
#define HN_PARAMS_l2_norm_f32 int64_t n, const float *x, float eps, float *y
#define HN_PARAMS_l2_norm_grad_f32                                                             \
    int64_t n, const float *x, float eps, const float *dy, float *dx

typedef struct hn_norm_kernels {
#define HN_KERNEL(slot) HN_KERNEL_MEMBER(slot)
#include "kernels/norm/norm.def"
#undef HN_KERNEL
} hn_norm_kernels;

#if defined(HN_LEVEL)
#define HN_KERNEL(slot) HN_KERNEL_DECLARE(slot)
#include "kernels/norm/norm.def"
#undef HN_KERNEL
#endif

#endif
