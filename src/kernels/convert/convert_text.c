/* One loop for every pair of types: sixteen at a time, then the rest by loads and stores that touch no element
 * beyond n. */
#include "kernels/convert/convert.h"

#include "kernels/simd/f32x16.h"

/* `from` and `to` are the letters of the vocabulary that load x and store y. */
#define CONVERT(slot, from, to, expr)                                                          \
    HN_KERNEL_FN(slot)                                                                         \
    {                                                                                          \
        int64_t i = 0;                                                                         \
        for (; i + 16 <= n; i += 16) {                                                         \
            const from##_type v = from##_load(x + i);                                          \
            to##_store(y + i, expr);                                                           \
        }                                                                                      \
        if (i < n) {                                                                           \
            const from##_type v = from##_load_n(x + i, n - i);                                 \
            to##_store_n(y + i, expr, n - i);                                                  \
        }                                                                                      \
    }

typedef f32x16 f_type;
typedef i32x16 i_type;
typedef h16 h_type;

HN_INLINE i32x16 to_i32(f32x16 x)
{
    i32x16 y = f_to_i(x);
    y = i_select(f_le(f_set1(0x1p31f), x), i_set1(INT32_MAX), y);
    y = i_select(f_lt(x, f_set1(-0x1p31f)), i_set1(INT32_MIN), y);
    return i_select(f_eq(x, x), y, i_set1(0));
}

CONVERT(f16_to_f32, h, f, f_from_f16(v))
CONVERT(f32_to_f16, f, h, f_to_f16(v))
CONVERT(bf16_to_f32, h, f, f_from_bf16(v))
CONVERT(f32_to_bf16, f, h, f_to_bf16(v))
CONVERT(round_f16, f, f, f_from_f16(f_to_f16(v)))
CONVERT(round_bf16, f, f, f_round_bf16(v))
CONVERT(i32_to_f32, i, f, i_to_f(v))
CONVERT(f32_to_i32, f, i, to_i32(v))

HN_KERNEL_FN(f32_to_f64)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        d_store(y + i, d_from_f(f_load(x + i)));
    for (; i < n; i++)
        y[i] = (double)x[i];
}

HN_KERNEL_FN(f64_to_f32)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        f_store(y + i, d_to_f(d_load(x + i)));
    for (; i < n; i++)
        y[i] = (float)x[i];
}

HN_KERNEL_TABLE(convert) = {
#define HN_KERNEL(slot) HN_KERNEL_ENTRY(slot)
#include "kernels/convert/convert.def"
#undef HN_KERNEL
};
