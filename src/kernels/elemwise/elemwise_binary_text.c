/* Maps of two and three inputs, and dropout. */
#include "kernels/elemwise/activation.h"
#include "kernels/elemwise/elemwise.h"
#include "kernels/simd/philox.h"

#include <math.h>

/* A broadcast value is read before the first store, because y may be its storage. */
#define BINARY(slot, expr)                                                                     \
    HN_KERNEL_FN(slot)                                                                         \
    {                                                                                          \
        const f32x16 a_all = f_set1(*a), b_all = f_set1(*b);                                   \
        int64_t i = 0;                                                                         \
        for (; i + 16 <= n; i += 16) {                                                         \
            const f32x16 v = a_step ? f_load(a + i) : a_all;                                   \
            const f32x16 w = b_step ? f_load(b + i) : b_all;                                   \
            f_store(y + i, expr);                                                              \
        }                                                                                      \
        if (i < n) {                                                                           \
            const f32x16 v = a_step ? f_load_n(a + i, n - i) : a_all;                          \
            const f32x16 w = b_step ? f_load_n(b + i, n - i) : b_all;                          \
            f_store_n(y + i, expr, n - i);                                                     \
        }                                                                                      \
    }

BINARY(add_f32, f_add(v, w))
BINARY(sub_f32, f_sub(v, w))
BINARY(mul_f32, f_mul(v, w))
BINARY(div_f32, f_div(v, w))
BINARY(pow_f32, f_pow(v, w))
BINARY(min_f32, f_min(v, w))
BINARY(max_f32, f_max(v, w))

HN_KERNEL_FN(where_f32)
{
    const f32x16 a_all = f_set1(*a), b_all = f_set1(*b);
    const m16 c_all = i_gt(i_set1(*c), i_set1(0));
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const f32x16 v = a_step ? f_load(a + i) : a_all;
        const f32x16 w = b_step ? f_load(b + i) : b_all;
        f_store(y + i, f_select(c_step ? m_load_bytes(c + i) : c_all, v, w));
    }
    if (i < n) {
        const f32x16 v = a_step ? f_load_n(a + i, n - i) : a_all;
        const f32x16 w = b_step ? f_load_n(b + i, n - i) : b_all;
        const m16 m = c_step ? m_load_bytes_n(c + i, n - i) : c_all;
        f_store_n(y + i, f_select(m, v, w), n - i);
    }
}

#define PAIR(slot, act)                                                                        \
    HN_KERNEL_FN(slot)                                                                         \
    {                                                                                          \
        int64_t i = 0;                                                                         \
        for (; i + 16 <= n; i += 16)                                                           \
            f_store(y + i, f_mul(act(f_load(gate + i)), f_load(up + i)));                      \
        if (i < n) {                                                                           \
            const f32x16 g = f_load_n(gate + i, n - i), u = f_load_n(up + i, n - i);           \
            f_store_n(y + i, f_mul(act(g), u), n - i);                                         \
        }                                                                                      \
    }

PAIR(swiglu_f32, silu)
PAIR(geglu_f32, gelu)
PAIR(geglu_erf_f32, gelu_erf)

HN_KERNEL_FN(dropout_f32)
{
    /* A word's upper 24 bits, as a fraction, are below `rate` where they are below this. */
    const i32x16 bound = i_set1((int32_t)ceilf(rate * 0x1p24f));
    const f32x16 kept = f_set1(1.0f / (1.0f - rate));
    for (int64_t i = 0; i < n; i += 128) {
        f32x16 word[8];
        words128(key, first + (uint64_t)i, word);
        for (int q = 0; q < 8 && i + 16 * q < n; q++) {
            const int64_t at = i + 16 * q, left = n - at;
            const m16 is_dropped = i_gt(bound, i_shr(f_bits(word[q]), 8));
            const f32x16 factor = f_select(is_dropped, f_zero(), kept);
            if (left < 16)
                f_store_n(y + at, f_mul(f_load_n(x + at, left), factor), left);
            else
                f_store(y + at, f_mul(f_load(x + at), factor));
        }
    }
}
