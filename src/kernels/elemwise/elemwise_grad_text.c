/* Gradients of maps and pairs. */
#include "kernels/elemwise/activation.h"
#include "kernels/elemwise/elemwise.h"

/* v: x or, where the contract says so, y; d: dy; a, b: the attributes. */
#define MAP_GRAD(slot, n_attributes, expr)                                                     \
    HN_KERNEL_FN(slot)                                                                         \
    {                                                                                          \
        const f32x16 a = (n_attributes) > 0 ? f_set1(p[0]) : f_zero();                         \
        const f32x16 b = (n_attributes) > 1 ? f_set1(p[1]) : f_zero();                         \
        (void)p, (void)a, (void)b;                                                             \
        int64_t i = 0;                                                                         \
        for (; i + 16 <= n; i += 16) {                                                         \
            const f32x16 v = f_load(x + i), d = f_load(dy + i);                                \
            f_store(dx + i, expr);                                                             \
        }                                                                                      \
        if (i < n) {                                                                           \
            const f32x16 v = f_load_n(x + i, n - i), d = f_load_n(dy + i, n - i);              \
            f_store_n(dx + i, expr, n - i);                                                    \
        }                                                                                      \
    }

/* 1 - y^2 */
HN_INLINE f32x16 tanh_slope(f32x16 y) { return f_fma1(f_neg(y), y, 1.0f); }

HN_INLINE f32x16 abs_grad(f32x16 x, f32x16 dy)
{
    const f32x16 zero = f_zero();
    return f_select(f_lt(zero, x), dy, f_select(f_lt(x, zero), f_neg(dy), zero));
}

HN_INLINE f32x16 slope_only(f32x16 (*slope)(f32x16, f32x16 *), f32x16 x)
{
    f32x16 value;
    return slope(x, &value);
}

MAP_GRAD(tanh_grad_f32, 0, f_mul(d, tanh_slope(v)))
MAP_GRAD(sigmoid_grad_f32, 0, f_mul(d, f_mul(v, f_sub(f_set1(1.0f), v))))
MAP_GRAD(abs_grad_f32, 0, abs_grad(v, d))
MAP_GRAD(relu_grad_f32, 0, f_select(f_lt(f_zero(), v), d, f_zero()))
MAP_GRAD(silu_grad_f32, 0, f_mul(d, slope_only(silu_slope, v)))
MAP_GRAD(gelu_grad_f32, 0, f_mul(d, slope_only(gelu_slope, v)))
MAP_GRAD(gelu_erf_grad_f32, 0, f_mul(d, slope_only(gelu_erf_slope, v)))
MAP_GRAD(softcap_grad_f32, 1, f_mul(d, tanh_slope(f_tanh(f_div(v, a)))))
MAP_GRAD(softplus_grad_f32, 0, f_mul(d, f_sigmoid(v)))
/* The ends pass the gradient. */
MAP_GRAD(clamp_grad_f32, 2, f_select(m_and(f_le(a, v), f_le(v, b)), d, f_zero()))

#define PAIR_GRAD(slot, slope)                                                                 \
    HN_KERNEL_FN(slot)                                                                         \
    {                                                                                          \
        f32x16 value;                                                                          \
        int64_t i = 0;                                                                         \
        for (; i + 16 <= n; i += 16) {                                                         \
            const f32x16 d = f_load(dy + i), u = f_load(up + i);                               \
            const f32x16 s = slope(f_load(gate + i), &value);                                  \
            f_store(dgate + i, f_mul(f_mul(d, u), s));                                         \
            f_store(dup + i, f_mul(d, value));                                                 \
        }                                                                                      \
        if (i < n) {                                                                           \
            const f32x16 d = f_load_n(dy + i, n - i), u = f_load_n(up + i, n - i);             \
            const f32x16 s = slope(f_load_n(gate + i, n - i), &value);                         \
            f_store_n(dgate + i, f_mul(f_mul(d, u), s), n - i);                                \
            f_store_n(dup + i, f_mul(d, value), n - i);                                        \
        }                                                                                      \
    }

PAIR_GRAD(swiglu_grad_f32, silu_slope)
PAIR_GRAD(geglu_grad_f32, gelu_slope)
PAIR_GRAD(geglu_erf_grad_f32, gelu_erf_slope)
