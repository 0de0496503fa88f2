/* convert.h: one type to another, element by element. Rounding is to nearest even; the 16-bit
 * formats behave as base/half.h. y may be x where both types are f32, else they do not overlap.
 *
 *   f32_to_i32   half to even, clamped to what fits; NaN gives 0
 *   round_*      to the 16-bit format and back */
#ifndef HN_KERNELS_CONVERT_CONVERT_H
#define HN_KERNELS_CONVERT_CONVERT_H

#include "kernels/kernel.h"

#define HN_PARAMS_f16_to_f32  int64_t n, const uint16_t *x, float *y
#define HN_PARAMS_f32_to_f16  int64_t n, const float *x, uint16_t *y
#define HN_PARAMS_bf16_to_f32 int64_t n, const uint16_t *x, float *y
#define HN_PARAMS_f32_to_bf16 int64_t n, const float *x, uint16_t *y
#define HN_PARAMS_round_f16   int64_t n, const float *x, float *y
#define HN_PARAMS_round_bf16  int64_t n, const float *x, float *y
#define HN_PARAMS_f32_to_f64  int64_t n, const float *x, double *y
#define HN_PARAMS_f64_to_f32  int64_t n, const double *x, float *y
#define HN_PARAMS_i32_to_f32  int64_t n, const int32_t *x, float *y
#define HN_PARAMS_f32_to_i32  int64_t n, const float *x, int32_t *y

typedef struct hn_convert_kernels {
#define HN_KERNEL(slot) HN_KERNEL_MEMBER(slot)
#include "kernels/convert/convert.def"
#undef HN_KERNEL
} hn_convert_kernels;

#if defined(HN_LEVEL)
#define HN_KERNEL(slot) HN_KERNEL_DECLARE(slot)
#include "kernels/convert/convert.def"
#undef HN_KERNEL
#endif

#endif
