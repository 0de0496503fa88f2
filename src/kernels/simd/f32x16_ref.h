/* Sixteen lanes in arrays: what each word means, in portable C. */
#ifndef HN_KERNELS_SIMD_F32X16_REF_H
#define HN_KERNELS_SIMD_F32X16_REF_H

#include <math.h>
#include <string.h>

typedef struct f32x16 {
    float v[16];
} f32x16;
typedef struct i32x16 {
    uint32_t v[16]; /* unsigned, so that wrapping is defined */
} i32x16;
typedef struct h16 {
    uint16_t v[16];
} h16;
typedef struct m16 {
    bool v[16];
} m16;
typedef struct f64x16 {
    double v[16];
} f64x16;

#define HN_EACH(type, name, params, expr)                                                      \
    HN_INLINE type name params                                                                 \
    {                                                                                          \
        type r;                                                                                \
        for (int l = 0; l < 16; l++)                                                           \
            r.v[l] = (expr);                                                                   \
        return r;                                                                              \
    }
#define HN_MEMORY(type, letter, element, memory)                                               \
    HN_INLINE type letter##_load_n(const memory *p, int64_t n)                                 \
    {                                                                                          \
        type r = { { 0 } };                                                                    \
        for (int64_t l = 0; l < n; l++)                                                        \
            r.v[l] = (element)p[l];                                                            \
        return r;                                                                              \
    }                                                                                          \
    HN_INLINE void letter##_store_n(memory *p, type x, int64_t n)                              \
    {                                                                                          \
        for (int64_t l = 0; l < n; l++)                                                        \
            p[l] = (memory)x.v[l];                                                             \
    }                                                                                          \
    HN_EACH(type, letter##_load, (const memory *p), (element)p[l])                             \
    HN_INLINE void letter##_store(memory *p, type x)                                           \
    {                                                                                          \
        for (int l = 0; l < 16; l++)                                                           \
            p[l] = (memory)x.v[l];                                                             \
    }

HN_EACH(m16, m_first, (int64_t n), l < n)
HN_EACH(m16, m_and, (m16 a, m16 b), a.v[l] && b.v[l])
HN_EACH(m16, m_or, (m16 a, m16 b), a.v[l] || b.v[l])
HN_EACH(m16, m_not, (m16 a), !a.v[l])
HN_INLINE bool m_any(m16 a)
{
    bool any = false;
    for (int l = 0; l < 16; l++)
        any = any || a.v[l];
    return any;
}

HN_MEMORY(f32x16, f, float, float)
HN_EACH(f32x16, f_set1, (float x), x)
HN_EACH(f32x16, f_add, (f32x16 a, f32x16 b), a.v[l] + b.v[l])
HN_EACH(f32x16, f_sub, (f32x16 a, f32x16 b), a.v[l] - b.v[l])
HN_EACH(f32x16, f_mul, (f32x16 a, f32x16 b), a.v[l] * b.v[l])
HN_EACH(f32x16, f_div, (f32x16 a, f32x16 b), a.v[l] / b.v[l])
HN_EACH(f32x16, f_fma, (f32x16 a, f32x16 b, f32x16 c), fmaf(a.v[l], b.v[l], c.v[l]))
HN_EACH(f32x16, f_sqrt, (f32x16 a), sqrtf(a.v[l]))
HN_EACH(f32x16, f_max, (f32x16 a, f32x16 b), a.v[l] > b.v[l] ? a.v[l] : b.v[l])
HN_EACH(f32x16, f_min, (f32x16 a, f32x16 b), a.v[l] < b.v[l] ? a.v[l] : b.v[l])
HN_EACH(m16, f_lt, (f32x16 a, f32x16 b), a.v[l] < b.v[l])
HN_EACH(m16, f_le, (f32x16 a, f32x16 b), a.v[l] <= b.v[l])
HN_EACH(m16, f_eq, (f32x16 a, f32x16 b), a.v[l] == b.v[l])
HN_EACH(f32x16, f_select, (m16 m, f32x16 yes, f32x16 no), m.v[l] ? yes.v[l] : no.v[l])
HN_EACH(i32x16, f_bits, (f32x16 x), hn_f32_bits(x.v[l]))
HN_EACH(f32x16, i_float, (i32x16 x), hn_f32_from_bits(x.v[l]))
/* A lane that does not fit is the caller's to select away; the cast itself must stay defined.
 */
HN_EACH(i32x16, f_to_i, (f32x16 x),
        x.v[l] >= -0x1p31f && x.v[l] < 0x1p31f ? (uint32_t)(int32_t)rintf(x.v[l]) : 0x80000000u)
HN_EACH(f32x16, i_to_f, (i32x16 x), (float)(int32_t)x.v[l])

HN_MEMORY(i32x16, i, uint32_t, int32_t)
HN_EACH(i32x16, i_set1, (int32_t x), (uint32_t)x)
HN_EACH(i32x16, i_add, (i32x16 a, i32x16 b), a.v[l] + b.v[l])
HN_EACH(i32x16, i_sub, (i32x16 a, i32x16 b), a.v[l] - b.v[l])
HN_EACH(i32x16, i_mul, (i32x16 a, i32x16 b), a.v[l] * b.v[l])
HN_EACH(i32x16, i_and, (i32x16 a, i32x16 b), a.v[l] & b.v[l])
HN_EACH(i32x16, i_or, (i32x16 a, i32x16 b), a.v[l] | b.v[l])
HN_EACH(i32x16, i_xor, (i32x16 a, i32x16 b), a.v[l] ^ b.v[l])
HN_EACH(i32x16, i_shl, (i32x16 a, int bits), a.v[l] << bits)
HN_EACH(i32x16, i_shr, (i32x16 a, int bits), a.v[l] >> bits)
HN_EACH(i32x16, i_sar, (i32x16 a, int bits), (uint32_t)((int32_t)a.v[l] >> bits))
HN_EACH(m16, i_eq, (i32x16 a, i32x16 b), a.v[l] == b.v[l])
HN_EACH(i32x16, i_max, (i32x16 a, i32x16 b), (int32_t)a.v[l] > (int32_t)b.v[l] ? a.v[l] : b.v[l])
HN_EACH(m16, i_gt, (i32x16 a, i32x16 b), (int32_t)a.v[l] > (int32_t)b.v[l])
HN_EACH(i32x16, i_select, (m16 m, i32x16 yes, i32x16 no), m.v[l] ? yes.v[l] : no.v[l])
/* Lanes in pairs, a number in the even one of each: the whole products with one factor; what
 * the odd ones hold; four even (odd) lanes of each 128 bits, two of a, then two of b. */
HN_INLINE i32x16 i_mul_even(i32x16 a, uint32_t b)
{
    for (int l = 0; l < 16; l += 2) {
        const uint64_t product = (uint64_t)a.v[l] * b;
        a.v[l] = (uint32_t)product, a.v[l + 1] = (uint32_t)(product >> 32);
    }
    return a;
}
HN_EACH(i32x16, i_odd, (i32x16 x), l % 2 ? 0 : x.v[l + 1])
HN_EACH(i32x16, i_pick_even, (i32x16 x, i32x16 y),
        l % 4 < 2 ? x.v[l / 4 * 4 + l % 4 * 2] : y.v[l / 4 * 4 + l % 4 * 2 - 4])
HN_EACH(i32x16, i_pick_odd, (i32x16 x, i32x16 y),
        l % 4 < 2 ? x.v[l / 4 * 4 + l % 4 * 2 + 1] : y.v[l / 4 * 4 + l % 4 * 2 - 3])

HN_MEMORY(h16, h, uint16_t, uint16_t)
HN_EACH(i32x16, h_widen, (h16 x), x.v[l])
HN_EACH(h16, h_narrow, (i32x16 x), (uint16_t)x.v[l])
HN_EACH(f32x16, f_from_f16, (h16 x), hn_f16_to_f32(x.v[l]))
HN_EACH(h16, f_to_f16, (f32x16 x), hn_f32_to_f16(x.v[l]))

HN_MEMORY(f64x16, d, double, double)
HN_EACH(f64x16, d_set1, (double x), x)
HN_EACH(f64x16, d_add, (f64x16 a, f64x16 b), a.v[l] + b.v[l])
HN_EACH(f64x16, d_mul, (f64x16 a, f64x16 b), a.v[l] * b.v[l])
HN_EACH(f64x16, d_from_f, (f32x16 x), (double)x.v[l])
HN_EACH(f32x16, d_to_f, (f64x16 x), (float)x.v[l])

/* 16 -> 8 -> 4 -> 2 -> 1, halves joined. */
HN_INLINE float f_sum(f32x16 x)
{
    for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; l++)
            x.v[l] = x.v[l] + x.v[l + half];
    return x.v[0];
}
HN_INLINE float f_largest(f32x16 x)
{
    for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; l++)
            x.v[l] = x.v[l] > x.v[l + half] ? x.v[l] : x.v[l + half];
    return x.v[0];
}

/* Lanes of -128 to 127 as bytes; returns what they add up to. Of others, which are made of what is not finite, anything. */
HN_INLINE int32_t i_put_bytes(int8_t *p, i32x16 x)
{
    int32_t sum = 0;
    for (int l = 0; l < 16; l++) {
        p[l] = (int8_t)(int32_t)x.v[l];
        sum += p[l];
    }
    return sum;
}

/* (p[0], p[2], ...) and (p[1], p[3], ...) of 32 floats; f_interleave is the way back. */
HN_INLINE void f_load_pairs(const float *p, f32x16 *even, f32x16 *odd)
{
    for (int l = 0; l < 16; l++)
        even->v[l] = p[2 * l], odd->v[l] = p[2 * l + 1];
}
HN_INLINE void f_interleave(f32x16 even, f32x16 odd, f32x16 *low, f32x16 *high)
{
    for (int l = 0; l < 16; l++) {
        f32x16 *half = l < 8 ? low : high;
        half->v[2 * l % 16] = even.v[l], half->v[2 * l % 16 + 1] = odd.v[l];
    }
}

#undef HN_EACH
#undef HN_MEMORY
#endif
