/* elemwise.h: one output element from the elements at the same place.
 *
 * Outputs may be exactly any f32 input that has the same length, never a part of one. Values
 * that are finite give no NaN where the formula has a value. One fma is written f(a, x, b) = a
 * x + b. Error bounds of the functions: kernels/simd/math_f32.h.
 *
 *   map        y[i] = f(x[i]); p: the attributes, NULL where there are none
 *     neg abs sqr sqrt exp expm1 log log1p sin cos erf tanh sigmoid relu silu softplus
 *     rsqrt      1 / sqrt(x)                scale   f(p0, x, p1)
 *     clamp      p0 .. p1; NaN stays        softcap p0 tanh(x / p0)
 *     gelu       x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form
 *     gelu_erf   x/2 (1 + erf(x / sqrt 2))
 *   binary     y[i] = f(a[i], b[i]); a step of 0 means that one value stands for all, else 1
 *     add sub mul div pow min max
 *   where      y[i] = c[i] ? a[i] : b[i], c in bytes
 *   pair       y[i] = act(gate[i]) up[i]
 *   map_grad   dx[i] = dy[i] f'(x[i]); tanh_grad and sigmoid_grad take y for x
 *   pair_grad  dgate[i] = (dy up) act'(gate), dup[i] = dy act(gate)
 *   dropout    element first + i of the stream `key` below `rate`: 0 x, else x (1 / (1 - rate))
 */
#ifndef HN_KERNELS_ELEMWISE_ELEMWISE_H
#define HN_KERNELS_ELEMWISE_ELEMWISE_H

#include "base/rng.h"
#include "kernels/kernel.h"

#define HN_SHARED_map int64_t n, const float *x, float *y, const float *p
#define HN_SHARED_binary                                                                       \
    int64_t n, const float *a, int64_t a_step, const float *b, int64_t b_step, float *y
#define HN_SHARED_pair     int64_t n, const float *gate, const float *up, float *y
#define HN_SHARED_map_grad int64_t n, const float *x, const float *dy, float *dx, const float *p
#define HN_SHARED_pair_grad                                                                    \
    int64_t n, const float *gate, const float *up, const float *dy, float *dgate, float *dup

#define HN_PARAMS_neg_f32            HN_SHARED_map
#define HN_PARAMS_abs_f32            HN_SHARED_map
#define HN_PARAMS_sqr_f32            HN_SHARED_map
#define HN_PARAMS_sqrt_f32           HN_SHARED_map
#define HN_PARAMS_rsqrt_f32          HN_SHARED_map
#define HN_PARAMS_scale_f32          HN_SHARED_map
#define HN_PARAMS_clamp_f32          HN_SHARED_map
#define HN_PARAMS_relu_f32           HN_SHARED_map
#define HN_PARAMS_exp_f32            HN_SHARED_map
#define HN_PARAMS_expm1_f32          HN_SHARED_map
#define HN_PARAMS_log_f32            HN_SHARED_map
#define HN_PARAMS_log1p_f32          HN_SHARED_map
#define HN_PARAMS_sin_f32            HN_SHARED_map
#define HN_PARAMS_cos_f32            HN_SHARED_map
#define HN_PARAMS_erf_f32            HN_SHARED_map
#define HN_PARAMS_tanh_f32           HN_SHARED_map
#define HN_PARAMS_sigmoid_f32        HN_SHARED_map
#define HN_PARAMS_silu_f32           HN_SHARED_map
#define HN_PARAMS_gelu_f32           HN_SHARED_map
#define HN_PARAMS_gelu_erf_f32       HN_SHARED_map
#define HN_PARAMS_softplus_f32       HN_SHARED_map
#define HN_PARAMS_softcap_f32        HN_SHARED_map
#define HN_PARAMS_add_f32            HN_SHARED_binary
#define HN_PARAMS_sub_f32            HN_SHARED_binary
#define HN_PARAMS_mul_f32            HN_SHARED_binary
#define HN_PARAMS_div_f32            HN_SHARED_binary
#define HN_PARAMS_pow_f32            HN_SHARED_binary
#define HN_PARAMS_min_f32            HN_SHARED_binary
#define HN_PARAMS_max_f32            HN_SHARED_binary
#define HN_PARAMS_swiglu_f32         HN_SHARED_pair
#define HN_PARAMS_geglu_f32          HN_SHARED_pair
#define HN_PARAMS_geglu_erf_f32      HN_SHARED_pair
#define HN_PARAMS_tanh_grad_f32      HN_SHARED_map_grad
#define HN_PARAMS_sigmoid_grad_f32   HN_SHARED_map_grad
#define HN_PARAMS_abs_grad_f32       HN_SHARED_map_grad
#define HN_PARAMS_relu_grad_f32      HN_SHARED_map_grad
#define HN_PARAMS_silu_grad_f32      HN_SHARED_map_grad
#define HN_PARAMS_gelu_grad_f32      HN_SHARED_map_grad
#define HN_PARAMS_gelu_erf_grad_f32  HN_SHARED_map_grad
#define HN_PARAMS_softcap_grad_f32   HN_SHARED_map_grad
#define HN_PARAMS_softplus_grad_f32  HN_SHARED_map_grad
#define HN_PARAMS_clamp_grad_f32     HN_SHARED_map_grad
#define HN_PARAMS_swiglu_grad_f32    HN_SHARED_pair_grad
#define HN_PARAMS_geglu_grad_f32     HN_SHARED_pair_grad
#define HN_PARAMS_geglu_erf_grad_f32 HN_SHARED_pair_grad
#define HN_PARAMS_where_f32                                                                    \
    int64_t n, const uint8_t *c, int64_t c_step, const float *a, int64_t a_step,               \
        const float *b, int64_t b_step, float *y
#define HN_PARAMS_dropout_f32                                                                  \
    int64_t n, const float *x, float *y, float rate, hn_rng_key key, uint64_t first

typedef struct hn_elemwise_kernels {
#define HN_KERNEL(slot) HN_KERNEL_MEMBER(slot)
#include "kernels/elemwise/elemwise.def"
#undef HN_KERNEL
} hn_elemwise_kernels;

#if defined(HN_LEVEL)
#define HN_KERNEL(slot) HN_KERNEL_DECLARE(slot)
#include "kernels/elemwise/elemwise.def"
#undef HN_KERNEL
#endif

#endif
