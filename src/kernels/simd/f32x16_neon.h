/* Sixteen lanes in four NEON registers. */
#ifndef HN_KERNELS_SIMD_F32X16_NEON_H
#define HN_KERNELS_SIMD_F32X16_NEON_H

#include <arm_neon.h>

typedef struct f32x16 {
    float32x4_t v[4];
} f32x16;
typedef struct i32x16 {
    uint32x4_t v[4];
} i32x16;
typedef struct h16 {
    uint16x4_t v[4];
} h16;
typedef struct m16 {
    uint32x4_t v[4]; /* all ones or all zeros in each lane */
} m16;
typedef struct f64x16 {
    float64x2_t v[8];
} f64x16;

/* A register at a time, written out: a loop would be one more in every word, and a kernel is thousands of words inlined
 * into one function, which the compiler would unroll one by one. */
#define HN_EACH_PART(n, expr)                                                                  \
    {                                                                                          \
        enum { q = n };                                                                        \
        r.v[q] = (expr);                                                                       \
    }
#define HN_EACH(type, name, params, expr)                                                      \
    HN_INLINE type name params                                                                 \
    {                                                                                          \
        type r;                                                                                \
        HN_EACH_PART(0, expr)                                                                  \
        HN_EACH_PART(1, expr)                                                                  \
        HN_EACH_PART(2, expr)                                                                  \
        HN_EACH_PART(3, expr)                                                                  \
        return r;                                                                              \
    }
#define HN_EACH8(type, name, params, expr)                                                     \
    HN_INLINE type name params                                                                 \
    {                                                                                          \
        type r;                                                                                \
        HN_EACH_PART(0, expr)                                                                  \
        HN_EACH_PART(1, expr)                                                                  \
        HN_EACH_PART(2, expr)                                                                  \
        HN_EACH_PART(3, expr)                                                                  \
        HN_EACH_PART(4, expr)                                                                  \
        HN_EACH_PART(5, expr)                                                                  \
        HN_EACH_PART(6, expr)                                                                  \
        HN_EACH_PART(7, expr)                                                                  \
        return r;                                                                              \
    }
#define HN_MEMORY(each, type, letter, memory, per, load, store)                                     \
    each(type, letter##_load, (const memory *p), load(p + per * q))                            \
    HN_INLINE void letter##_store(memory *p, type x)                                           \
    {                                                                                          \
        for (int q = 0; q < 16 / per; q++)                                                     \
            store(p + per * q, x.v[q]);                                                        \
    }                                                                                          \
    HN_INLINE type letter##_load_n(const memory *p, int64_t n)                                 \
    {                                                                                          \
        memory whole[16] = { 0 };                                                              \
        for (int64_t l = 0; l < n; l++)                                                        \
            whole[l] = p[l];                                                                   \
        return letter##_load(whole);                                                           \
    }                                                                                          \
    HN_INLINE void letter##_store_n(memory *p, type x, int64_t n)                              \
    {                                                                                          \
        memory whole[16];                                                                      \
        letter##_store(whole, x);                                                              \
        for (int64_t l = 0; l < n; l++)                                                        \
            p[l] = whole[l];                                                                   \
    }

HN_INLINE uint32x4_t lanes_from(int first)
{
    const uint32_t lane[4] = { 0, 1, 2, 3 };
    return vaddq_u32(vld1q_u32(lane), vdupq_n_u32((uint32_t)first));
}
HN_INLINE uint32x4_t load_words(const int32_t *p)
{
    return vreinterpretq_u32_s32(vld1q_s32(p));
}
HN_INLINE void store_words(int32_t *p, uint32x4_t x) { vst1q_s32(p, vreinterpretq_s32_u32(x)); }

HN_EACH(m16, m_first, (int64_t n), vcltq_u32(lanes_from(4 * q), vdupq_n_u32((uint32_t)n)))
HN_EACH(m16, m_and, (m16 a, m16 b), vandq_u32(a.v[q], b.v[q]))
HN_EACH(m16, m_or, (m16 a, m16 b), vorrq_u32(a.v[q], b.v[q]))
HN_EACH(m16, m_not, (m16 a), vmvnq_u32(a.v[q]))
HN_INLINE bool m_any(m16 a)
{
    return vmaxvq_u32(vorrq_u32(vorrq_u32(a.v[0], a.v[1]), vorrq_u32(a.v[2], a.v[3]))) != 0;
}

HN_MEMORY(HN_EACH, f32x16, f, float, 4, vld1q_f32, vst1q_f32)
HN_EACH(f32x16, f_set1, (float x), vdupq_n_f32(x))
HN_EACH(f32x16, f_add, (f32x16 a, f32x16 b), vaddq_f32(a.v[q], b.v[q]))
HN_EACH(f32x16, f_sub, (f32x16 a, f32x16 b), vsubq_f32(a.v[q], b.v[q]))
HN_EACH(f32x16, f_mul, (f32x16 a, f32x16 b), vmulq_f32(a.v[q], b.v[q]))
HN_EACH(f32x16, f_div, (f32x16 a, f32x16 b), vdivq_f32(a.v[q], b.v[q]))
HN_EACH(f32x16, f_fma, (f32x16 a, f32x16 b, f32x16 c), vfmaq_f32(c.v[q], a.v[q], b.v[q]))
HN_EACH(f32x16, f_sqrt, (f32x16 a), vsqrtq_f32(a.v[q]))
/* vmaxq orders zeros and spreads NaN; the house's max is a comparison and a choice. */
HN_EACH(f32x16, f_max, (f32x16 a, f32x16 b),
        vbslq_f32(vcgtq_f32(a.v[q], b.v[q]), a.v[q], b.v[q]))
HN_EACH(f32x16, f_min, (f32x16 a, f32x16 b),
        vbslq_f32(vcltq_f32(a.v[q], b.v[q]), a.v[q], b.v[q]))
HN_EACH(m16, f_lt, (f32x16 a, f32x16 b), vcltq_f32(a.v[q], b.v[q]))
HN_EACH(m16, f_le, (f32x16 a, f32x16 b), vcleq_f32(a.v[q], b.v[q]))
HN_EACH(m16, f_eq, (f32x16 a, f32x16 b), vceqq_f32(a.v[q], b.v[q]))
HN_EACH(f32x16, f_select, (m16 m, f32x16 yes, f32x16 no), vbslq_f32(m.v[q], yes.v[q], no.v[q]))
HN_EACH(i32x16, f_bits, (f32x16 x), vreinterpretq_u32_f32(x.v[q]))
HN_EACH(f32x16, i_float, (i32x16 x), vreinterpretq_f32_u32(x.v[q]))
HN_EACH(i32x16, f_to_i, (f32x16 x), vreinterpretq_u32_s32(vcvtnq_s32_f32(x.v[q])))
HN_EACH(f32x16, i_to_f, (i32x16 x), vcvtq_f32_s32(vreinterpretq_s32_u32(x.v[q])))

HN_MEMORY(HN_EACH, i32x16, i, int32_t, 4, load_words, store_words)
HN_EACH(i32x16, i_set1, (int32_t x), vdupq_n_u32((uint32_t)x))
HN_EACH(i32x16, i_add, (i32x16 a, i32x16 b), vaddq_u32(a.v[q], b.v[q]))
HN_EACH(i32x16, i_sub, (i32x16 a, i32x16 b), vsubq_u32(a.v[q], b.v[q]))
HN_EACH(i32x16, i_mul, (i32x16 a, i32x16 b), vmulq_u32(a.v[q], b.v[q]))
HN_EACH(i32x16, i_and, (i32x16 a, i32x16 b), vandq_u32(a.v[q], b.v[q]))
HN_EACH(i32x16, i_or, (i32x16 a, i32x16 b), vorrq_u32(a.v[q], b.v[q]))
HN_EACH(i32x16, i_xor, (i32x16 a, i32x16 b), veorq_u32(a.v[q], b.v[q]))
HN_EACH(i32x16, i_shl, (i32x16 a, int bits), vshlq_u32(a.v[q], vdupq_n_s32(bits)))
HN_EACH(i32x16, i_shr, (i32x16 a, int bits), vshlq_u32(a.v[q], vdupq_n_s32(-bits)))
HN_EACH(i32x16, i_sar, (i32x16 a, int bits),
        vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(a.v[q]), vdupq_n_s32(-bits))))
HN_EACH(m16, i_eq, (i32x16 a, i32x16 b), vceqq_u32(a.v[q], b.v[q]))
HN_EACH(i32x16, i_max, (i32x16 a, i32x16 b),
        vreinterpretq_u32_s32(vmaxq_s32(vreinterpretq_s32_u32(a.v[q]), vreinterpretq_s32_u32(b.v[q]))))
HN_EACH(m16, i_gt, (i32x16 a, i32x16 b),
        vcgtq_s32(vreinterpretq_s32_u32(a.v[q]), vreinterpretq_s32_u32(b.v[q])))
HN_EACH(i32x16, i_select, (m16 m, i32x16 yes, i32x16 no), vbslq_u32(m.v[q], yes.v[q], no.v[q]))
/* Lanes in pairs, a number in the even one of each: the whole products with one factor; what
 * the odd ones hold; four even (odd) lanes of each 128 bits, two of a, then two of b. */
HN_INLINE i32x16 i_mul_even(i32x16 a, uint32_t b)
{
    for (int q = 0; q < 4; q++) {
        const uint32x2_t even = vmovn_u64(vreinterpretq_u64_u32(a.v[q]));
        a.v[q] = vreinterpretq_u32_u64(vmull_n_u32(even, b));
    }
    return a;
}
HN_EACH(i32x16, i_odd, (i32x16 x),
        vreinterpretq_u32_u64(vshrq_n_u64(vreinterpretq_u64_u32(x.v[q]), 32)))
HN_EACH(i32x16, i_pick_even, (i32x16 x, i32x16 y), vuzp1q_u32(x.v[q], y.v[q]))
HN_EACH(i32x16, i_pick_odd, (i32x16 x, i32x16 y), vuzp2q_u32(x.v[q], y.v[q]))

HN_MEMORY(HN_EACH, h16, h, uint16_t, 4, vld1_u16, vst1_u16)
HN_EACH(i32x16, h_widen, (h16 x), vmovl_u16(x.v[q]))
HN_EACH(h16, h_narrow, (i32x16 x), vmovn_u32(x.v[q]))
HN_EACH(f32x16, f_from_f16, (h16 x), vcvt_f32_f16(vreinterpret_f16_u16(x.v[q])))
HN_EACH(h16, f_to_f16, (f32x16 x), vreinterpret_u16_f16(vcvt_f16_f32(x.v[q])))

HN_MEMORY(HN_EACH8, f64x16, d, double, 2, vld1q_f64, vst1q_f64)
HN_EACH8(f64x16, d_set1, (double x), vdupq_n_f64(x))
HN_EACH8(f64x16, d_add, (f64x16 a, f64x16 b), vaddq_f64(a.v[q], b.v[q]))
HN_EACH8(f64x16, d_mul, (f64x16 a, f64x16 b), vmulq_f64(a.v[q], b.v[q]))
HN_EACH8(f64x16, d_from_f, (f32x16 x),
        q & 1 ? vcvt_high_f64_f32(x.v[q / 2]) : vcvt_f64_f32(vget_low_f32(x.v[q / 2])))
HN_EACH(f32x16, d_to_f, (f64x16 x), vcvt_high_f32_f64(vcvt_f32_f64(x.v[2 * q]), x.v[2 * q + 1]))

/* 16 -> 8 -> 4 -> 2 -> 1, halves joined. */
HN_INLINE float f_sum(f32x16 x)
{
    const float32x4_t four = vaddq_f32(vaddq_f32(x.v[0], x.v[2]), vaddq_f32(x.v[1], x.v[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
HN_INLINE float f_largest(f32x16 x)
{
    float lane[16];
    f_store(lane, x);
    for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] = lane[l] > lane[l + half] ? lane[l] : lane[l + half];
    return lane[0];
}
/* Lanes of -128 to 127 as bytes; returns what they add up to. */
HN_INLINE int32_t i_put_bytes(int8_t *p, i32x16 x)
{
    const uint16x8_t low = vcombine_u16(vmovn_u32(x.v[0]), vmovn_u32(x.v[1]));
    const uint16x8_t high = vcombine_u16(vmovn_u32(x.v[2]), vmovn_u32(x.v[3]));
    const int8x16_t bytes = vreinterpretq_s8_u8(vcombine_u8(vmovn_u16(low), vmovn_u16(high)));
    vst1q_s8(p, bytes);
    return vaddlvq_s8(bytes);
}

/* (p[0], p[2], ...) and (p[1], p[3], ...) of 32 floats; f_interleave is the way back. */
HN_INLINE void f_load_pairs(const float *p, f32x16 *even, f32x16 *odd)
{
    for (int q = 0; q < 4; q++) {
        const float32x4x2_t pair = vld2q_f32(p + 8 * q);
        even->v[q] = pair.val[0];
        odd->v[q] = pair.val[1];
    }
}
HN_INLINE void f_interleave(f32x16 even, f32x16 odd, f32x16 *low, f32x16 *high)
{
    for (int q = 0; q < 4; q++) {
        f32x16 *half = q < 2 ? low : high;
        half->v[2 * q % 4] = vzip1q_f32(even.v[q], odd.v[q]);
        half->v[2 * q % 4 + 1] = vzip2q_f32(even.v[q], odd.v[q]);
    }
}

#undef HN_EACH
#undef HN_EACH8
#undef HN_EACH_PART
#undef HN_MEMORY
#endif
