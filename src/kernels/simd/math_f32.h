/* math_f32.h: elementary functions over sixteen lanes, the same bits at every level.
 *
 * Error bounds against the exact value, in ULP of f32, as tests/kernels/check_math.c measures:
 *
 *     f_exp 1.1   f_expm1 1.5   f_log 1   f_log1p 1.5   f_tanh 2.5   f_erf 1.1
 *     f_sigmoid 2.4   f_softplus 2        f_pow, f_sin, f_cos 0.51 (through double)
 *
 * Infinities, NaN and denormals behave as C says, except that f_log1p(-0) is +0.
 * Coefficients: tools/fit-math.py. */
#ifndef HN_KERNELS_SIMD_MATH_F32_H
#define HN_KERNELS_SIMD_MATH_F32_H

#include "base/mathfn.h"
#include "kernels/simd/f32x16.h"

#include <math.h>

/* x = n ln 2 + result, |result| <= ln(2) / 2, for |x| < 2^20; a NaN gives NaN. */
HN_INLINE f32x16 f_cut_exp(f32x16 x, f32x16 *n)
{
    const f32x16 shifter = f_set1(0x1.8p23f);
    *n = f_sub(f_fma(x, f_set1(0x1.715476p0f), shifter), shifter);
    const f32x16 r = f_fma(*n, f_set1(-0x1.62e43p-1f), x);
    return f_fma(*n, f_set1(0x1.05c61p-29f), r);
}

/* e^r - 1, |r| <= ln(2) / 2. */
HN_INLINE f32x16 f_expm1_small(f32x16 r)
{
    f32x16 q = f_set1(0x1.6b70aep-10f);
    q = f_fma1(q, r, 0x1.122de8p-7f);
    q = f_fma1(q, r, 0x1.55571ep-5f);
    q = f_fma1(q, r, 0x1.5554a8p-3f);
    q = f_fma1(q, r, 0x1.fffffep-2f);
    return f_fma(f_mul(r, r), q, r);
}

/* For -2^20 < x <= 89, or NaN. */
HN_INLINE f32x16 f_exp_below(f32x16 x)
{
    f32x16 n;
    const f32x16 r = f_cut_exp(x, &n);
    return f_scale(f_add(f_set1(1.0f), f_expm1_small(r)), n);
}

HN_INLINE f32x16 f_exp(f32x16 x)
{
    return f_exp_below(f_max(f_set1(-110.0f), f_min(f_set1(89.0f), x)));
}

/* For 0 <= x <= 40: neither the overflow nor the -1 of f_expm1 arise. */
HN_INLINE f32x16 f_expm1_near(f32x16 x)
{
    f32x16 n;
    const f32x16 r = f_cut_exp(x, &n);
    const f32x16 s = f_power_of_two(n);
    return f_fma(f_expm1_small(r), s, f_sub(s, f_set1(1.0f)));
}

HN_INLINE f32x16 f_expm1(f32x16 x)
{
    f32x16 n;
    const f32x16 r = f_cut_exp(f_max(f_set1(-18.0f), f_min(f_set1(89.0f), x)), &n);
    const f32x16 half = f_power_of_two(f_sub(n, f_set1(1.0f))); /* 2^128 would not be finite */
    const f32x16 y = f_fma(f_expm1_small(r), half, f_sub(half, f_set1(0.5f)));
    return f_select(f_lt(f_abs(x), f_set1(0x1p-25f)), x, f_add(y, y));
}

/* log(1 + f) + e ln 2, sqrt(1/2) <= 1 + f < sqrt(2). */
HN_INLINE f32x16 f_join_log(f32x16 f, f32x16 e)
{
    f32x16 p = f_set1(-0x1.2d3636p-4f);
    p = f_fma1(p, f, 0x1.025beap-3f);
    p = f_fma1(p, f, -0x1.0e6826p-3f);
    p = f_fma1(p, f, 0x1.236438p-3f);
    p = f_fma1(p, f, -0x1.54679p-3f);
    p = f_fma1(p, f, 0x1.99986p-3f);
    p = f_fma1(p, f, -0x1.00023cp-2f);
    p = f_fma1(p, f, 0x1.555564p-2f);
    const f32x16 z = f_mul(f, f);
    f32x16 y = f_mul(z, f_fma1(f, p, -0.5f));
    y = f_add(f_fma(e, f_set1(-0x1.05c61p-29f), y), f);
    return f_fma(e, f_set1(0x1.62e43p-1f), y);
}

/* The exponent e of x = 2^e m, sqrt(1/2) <= m < sqrt(2), for normal x > 0. */
HN_INLINE i32x16 f_cut_log(f32x16 x) { return i_sar(i_sub(f_bits(x), i_set1(0x3f3504f3)), 23); }

HN_INLINE f32x16 f_log(f32x16 x)
{
    const m16 tiny = f_lt(x, f_set1(0x1p-126f));
    const f32x16 lifted = f_select(tiny, f_mul(x, f_set1(0x1p25f)), x);
    const i32x16 e = f_cut_log(lifted);
    const f32x16 m = i_float(i_sub(f_bits(lifted), i_shl(e, 23)));
    const f32x16 k = f_add(i_to_f(e), f_select(tiny, f_set1(-25.0f), f_zero()));
    f32x16 y = f_join_log(f_sub(m, f_set1(1.0f)), k);
    y = f_select(f_lt(x, f_set1(HUGE_VALF)), y, x); /* infinity and NaN stay */
    y = f_select(f_lt(x, f_zero()), f_set1(NAN), y);
    return f_select(f_eq(x, f_zero()), f_set1(-HUGE_VALF), y);
}

/* For x >= 0 finite: f = (1 + x) 2^-e - 1 is one fma, and so loses nothing of a small x. */
HN_INLINE f32x16 f_log1p_positive(f32x16 x)
{
    const f32x16 one = f_set1(1.0f), u = f_add(one, x);
    const i32x16 e = f_cut_log(u);
    const f32x16 s = i_float(i_shl(i_sub(i_set1(127), e), 23));
    return f_join_log(f_fma(x, s, f_sub(s, one)), i_to_f(e));
}

HN_INLINE f32x16 f_log1p(f32x16 x)
{
    const f32x16 one = f_set1(1.0f), u = f_add(one, x);
    const i32x16 e = f_cut_log(u);
    const f32x16 s = i_float(i_shl(i_sub(i_set1(127), e), 23));
    const f32x16 m = i_float(i_sub(f_bits(u), i_shl(e, 23)));
    const f32x16 f = f_select(f_lt(x, f_set1(0x1p30f)), f_fma(x, s, f_sub(s, one)),
                              f_sub(m, one)); /* 2^-e may not be normal there */
    f32x16 y = f_join_log(f, i_to_f(e));
    y = f_select(f_lt(x, f_set1(HUGE_VALF)), y, x);
    y = f_select(f_lt(x, f_set1(-1.0f)), f_set1(NAN), y);
    return f_select(f_eq(x, f_set1(-1.0f)), f_set1(-HUGE_VALF), y);
}

/* t / (t + 2), t = e^2|x| - 1. */
HN_INLINE f32x16 f_tanh(f32x16 x)
{
    const f32x16 a = f_min(f_set1(10.0f), f_abs(x));
    const f32x16 t = f_expm1_near(f_add(a, a));
    return f_copysign(f_div(t, f_add(t, f_set1(2.0f))), x);
}

/* An odd polynomial below 0.921875, 1 - exp(-w(|x|)) above. */
HN_INLINE f32x16 f_erf(f32x16 x)
{
    const f32x16 z = f_mul(x, x), a = f_min(f_set1(3.95f), f_abs(x));
    f32x16 p = f_set1(0x1.5cfc22p-14f);
    p = f_fma1(p, z, -0x1.aa326ap-11f);
    p = f_fma1(p, z, 0x1.54c2b4p-8f);
    p = f_fma1(p, z, -0x1.b80d7p-6f);
    p = f_fma1(p, z, 0x1.ce2dfp-4f);
    p = f_fma1(p, z, -0x1.812742p-2f);
    p = f_fma1(p, z, 0x1.06eba8p-3f);
    const f32x16 near = f_fma(p, x, x);
    f32x16 w = f_set1(0x1.1da358p-22f);
    w = f_fma1(w, a, 0x1.2a9338p-16f);
    w = f_fma1(w, a, -0x1.b540b6p-12f);
    w = f_fma1(w, a, 0x1.0df922p-8f);
    w = f_fma1(w, a, -0x1.9a0826p-6f);
    w = f_fma1(w, a, 0x1.bb15cap-4f);
    w = f_fma1(w, a, 0x1.444f8ap-1f);
    w = f_fma1(w, a, 0x1.09307ap-3f);
    w = f_fma1(w, a, -0x1.64a81ep-13f);
    const f32x16 far = f_sub(f_set1(1.0f), f_exp_below(f_neg(f_add(a, w))));
    return f_select(f_lt(f_abs(x), f_set1(0.921875f)), near, f_copysign(far, x));
}

/* e^-|x|, which cannot overflow. */
HN_INLINE f32x16 f_exp_minus_abs(f32x16 x)
{
    return f_exp_below(f_max(f_set1(-110.0f), f_neg(f_abs(x))));
}

/* top * sigmoid(x) in one division: silu and gelu are this. */
HN_INLINE f32x16 f_sigmoid_times(f32x16 x, f32x16 top)
{
    const f32x16 e = f_exp_minus_abs(x);
    const f32x16 above = f_select(f_lt(x, f_zero()), f_mul(top, e), top);
    return f_div(above, f_add(f_set1(1.0f), e));
}

HN_INLINE f32x16 f_sigmoid(f32x16 x)
{
    const f32x16 e = f_exp_minus_abs(x), one = f_set1(1.0f);
    return f_div(f_select(f_lt(x, f_zero()), e, one), f_add(one, e));
}

/* sigmoid(x) and sigmoid(-x), neither of which is had from the other without loss. */
HN_INLINE void f_sigmoid_both(f32x16 x, f32x16 *s, f32x16 *minus)
{
    const f32x16 e = f_exp_minus_abs(x), one = f_set1(1.0f);
    const f32x16 large = f_div(one, f_add(one, e)), small = f_mul(e, large);
    const m16 below = f_lt(x, f_zero());
    *s = f_select(below, small, large);
    *minus = f_select(below, large, small);
}

HN_INLINE f32x16 f_softplus(f32x16 x)
{
    return f_add(f_max(f_zero(), x), f_log1p_positive(f_exp_minus_abs(x)));
}

/* Rarely asked for and hard in f32: lane by lane in double. */
HN_INLINE f32x16 f_pow(f32x16 x, f32x16 y)
{
    float a[16], b[16];
    f_store(a, x);
    f_store(b, y);
    for (int l = 0; l < 16; l++)
        a[l] = (float)hn_math_pow((double)a[l], (double)b[l]);
    return f_load(a);
}

HN_INLINE f32x16 f_each(f32x16 x, double (*function)(double))
{
    float a[16];
    f_store(a, x);
    for (int l = 0; l < 16; l++)
        a[l] = (float)function((double)a[l]);
    return f_load(a);
}

HN_INLINE f32x16 f_sin(f32x16 x) { return f_each(x, hn_math_sin); }

HN_INLINE f32x16 f_cos(f32x16 x) { return f_each(x, hn_math_cos); }

#endif
