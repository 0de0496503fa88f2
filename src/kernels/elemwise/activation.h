/* activation.h: the activations and their derivatives, as maps, pairs and gradients share them.
 */
#ifndef HN_KERNELS_ELEMWISE_ACTIVATION_H
#define HN_KERNELS_ELEMWISE_ACTIVATION_H

#include "kernels/simd/math_f32.h"
#include "kernels/simd/normal.h"

#define GELU_LINEAR 0x1.988454p0f  /* 2 sqrt(2 / pi) */
#define GELU_CUBIC  0x1.2444f2p-4f /* 0.044715 of that */

HN_INLINE f32x16 silu(f32x16 x) { return f_sigmoid_times(x, x); }

/* tanh form: (1 + tanh u) / 2 = sigmoid(2u). An infinite 2u is a sigmoid of exactly 0 or 1. */
HN_INLINE f32x16 gelu(f32x16 x)
{
    const f32x16 slope = f_fma1(f_mul(x, x), f_set1(GELU_CUBIC), GELU_LINEAR);
    return f_sigmoid_times(f_mul(x, slope), x);
}

HN_INLINE f32x16 gelu_erf(f32x16 x) { return f_mul(x, f_normal_cdf(x)); }

/* s + x s (1 - s) */
HN_INLINE f32x16 silu_slope(f32x16 x, f32x16 *value)
{
    f32x16 s, other;
    f_sigmoid_both(x, &s, &other);
    *value = f_mul(x, s);
    return f_fma(*value, other, s);
}

/* s + x s (1 - s) (2u)'. Beyond 16 the slope is exactly 0 or 1, and x^2 stays finite below. */
HN_INLINE f32x16 gelu_slope(f32x16 x, f32x16 *value)
{
    const f32x16 at = f_max(f_set1(-16.0f), f_min(f_set1(16.0f), x)), z = f_mul(at, at);
    f32x16 s, other;
    f_sigmoid_both(f_mul(at, f_fma1(z, f_set1(GELU_CUBIC), GELU_LINEAR)), &s, &other);
    const f32x16 inner = f_fma1(z, f_set1(3.0f * GELU_CUBIC), GELU_LINEAR);
    *value = f_mul(x, s);
    return f_fma(f_mul(f_mul(at, s), other), inner, s);
}

/* (1 + erf(x / sqrt 2)) / 2 + x e^(-x^2 / 2) / sqrt(2 pi) */
HN_INLINE f32x16 gelu_erf_slope(f32x16 x, f32x16 *value)
{
    const f32x16 cdf = f_normal_cdf(x);
    const f32x16 z = f_max(f_set1(-110.0f), f_mul(f_mul(x, x), f_set1(-0.5f)));
    const f32x16 density = f_mul(f_exp_below(z), f_set1(0x1.988454p-2f));
    *value = f_mul(x, cdf);
    return f_fma(x, density, cdf);
}

#endif
