/* Maps of one input. */
#include "kernels/elemwise/elemwise.h"

#include "kernels/elemwise/activation.h"

/* a, b: the attributes, read before the first store because y may be anything. */
#define MAP(slot, n_attributes, expr)                                                          \
    HN_KERNEL_FN(slot)                                                                         \
    {                                                                                          \
        const f32x16 a = (n_attributes) > 0 ? f_set1(p[0]) : f_zero();                         \
        const f32x16 b = (n_attributes) > 1 ? f_set1(p[1]) : f_zero();                         \
        (void)p, (void)a, (void)b;                                                             \
        int64_t i = 0;                                                                         \
        for (; i + 16 <= n; i += 16) {                                                         \
            const f32x16 v = f_load(x + i);                                                    \
            f_store(y + i, expr);                                                              \
        }                                                                                      \
        if (i < n) {                                                                           \
            const f32x16 v = f_load_n(x + i, n - i);                                           \
            f_store_n(y + i, expr, n - i);                                                     \
        }                                                                                      \
    }

MAP(neg_f32, 0, f_neg(v))
MAP(abs_f32, 0, f_abs(v))
MAP(sqr_f32, 0, f_mul(v, v))
MAP(sqrt_f32, 0, f_sqrt(v))
MAP(rsqrt_f32, 0, f_div(f_set1(1.0f), f_sqrt(v)))
MAP(scale_f32, 2, f_fma(a, v, b))
MAP(clamp_f32, 2, f_min(b, f_max(a, v)))
MAP(relu_f32, 0, f_max(f_zero(), v))
MAP(exp_f32, 0, f_exp(v))
MAP(expm1_f32, 0, f_expm1(v))
MAP(log_f32, 0, f_log(v))
MAP(log1p_f32, 0, f_log1p(v))
MAP(sin_f32, 0, f_sin(v))
MAP(cos_f32, 0, f_cos(v))
MAP(erf_f32, 0, f_erf(v))
MAP(tanh_f32, 0, f_tanh(v))
MAP(sigmoid_f32, 0, f_sigmoid(v))
MAP(silu_f32, 0, silu(v))
MAP(gelu_f32, 0, gelu(v))
MAP(gelu_erf_f32, 0, gelu_erf(v))
MAP(softplus_f32, 0, f_softplus(v))
MAP(softcap_f32, 1, f_mul(a, f_tanh(f_div(v, a))))

HN_KERNEL_TABLE(elemwise) = {
#define HN_KERNEL(slot) HN_KERNEL_ENTRY(slot)
#include "kernels/elemwise/elemwise.def"
#undef HN_KERNEL
};
