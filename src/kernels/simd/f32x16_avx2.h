/* Sixteen lanes in two AVX2 registers: lanes 0-7 in `a`, 8-15 in `b`. */
#ifndef HN_KERNELS_SIMD_F32X16_AVX2_H
#define HN_KERNELS_SIMD_F32X16_AVX2_H

#include <immintrin.h>

typedef struct f32x16 {
    __m256 a, b;
} f32x16;
typedef struct i32x16 {
    __m256i a, b;
} i32x16;
typedef struct h16 {
    __m128i a, b;
} h16;
typedef struct m16 {
    __m256 a, b; /* all ones or all zeros in each lane */
} m16;
typedef struct f64x16 {
    __m256d v[4];
} f64x16;

#define HN_ONE(type, name, of, op)                                                             \
    HN_INLINE type name(of x) { return (type){ op(x.a), op(x.b) }; }
#define HN_TWO(type, name, of, op)                                                             \
    HN_INLINE type name(of x, of y) { return (type){ op(x.a, y.a), op(x.b, y.b) }; }
#define HN_COMPARE(name, how)                                                                  \
    HN_INLINE m16 name(f32x16 x, f32x16 y)                                                     \
    {                                                                                          \
        return (m16){ _mm256_cmp_ps(x.a, y.a, how), _mm256_cmp_ps(x.b, y.b, how) };            \
    }

/* Lanes below n, as maskload wants them, starting at lane `from`. */
HN_INLINE __m256i lanes_below(int64_t n, int from)
{
    const __m256i lane =
        _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(from));
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}

HN_INLINE m16 m_first(int64_t n)
{
    return (m16){ _mm256_castsi256_ps(lanes_below(n, 0)),
                  _mm256_castsi256_ps(lanes_below(n, 8)) };
}
HN_TWO(m16, m_and, m16, _mm256_and_ps)
HN_TWO(m16, m_or, m16, _mm256_or_ps)
HN_INLINE m16 m_not(m16 x)
{
    const __m256 ones = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    return (m16){ _mm256_xor_ps(x.a, ones), _mm256_xor_ps(x.b, ones) };
}
HN_INLINE bool m_any(m16 x) { return _mm256_movemask_ps(_mm256_or_ps(x.a, x.b)) != 0; }

HN_INLINE f32x16 f_set1(float x) { return (f32x16){ _mm256_set1_ps(x), _mm256_set1_ps(x) }; }
HN_INLINE f32x16 f_load(const float *p)
{
    return (f32x16){ _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) };
}
HN_INLINE f32x16 f_load_n(const float *p, int64_t n)
{
    return (f32x16){ _mm256_maskload_ps(p, lanes_below(n, 0)),
                     _mm256_maskload_ps(p + 8, lanes_below(n, 8)) };
}
HN_INLINE void f_stream(float *p, f32x16 x)
{
    _mm256_stream_ps(p, x.a);
    _mm256_stream_ps(p + 8, x.b);
}
/* Four tables of eight; two bits of the index, moved into the sign, choose among them. */
HN_INLINE __m256 look8(const float *table, __m256i index)
{
    const __m256 bit3 = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    const __m256 bit4 = _mm256_castsi256_ps(_mm256_slli_epi32(index, 27));
    const __m256 low = _mm256_blendv_ps(_mm256_permutevar8x32_ps(_mm256_loadu_ps(table), index),
                                        _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), index),
                                        bit3);
    const __m256 high = _mm256_blendv_ps(
        _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 16), index),
        _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 24), index), bit3);
    return _mm256_blendv_ps(low, high, bit4);
}
HN_INLINE f32x16 f_look(const float table[32], i32x16 index)
{
    return (f32x16){ look8(table, index.a), look8(table, index.b) };
}
HN_INLINE void f_store(float *p, f32x16 x)
{
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
HN_INLINE void f_store_n(float *p, f32x16 x, int64_t n)
{
    _mm256_maskstore_ps(p, lanes_below(n, 0), x.a);
    _mm256_maskstore_ps(p + 8, lanes_below(n, 8), x.b);
}
HN_TWO(f32x16, f_add, f32x16, _mm256_add_ps)
HN_TWO(f32x16, f_sub, f32x16, _mm256_sub_ps)
HN_TWO(f32x16, f_mul, f32x16, _mm256_mul_ps)
HN_TWO(f32x16, f_div, f32x16, _mm256_div_ps)
HN_TWO(f32x16, f_max, f32x16, _mm256_max_ps)
HN_TWO(f32x16, f_min, f32x16, _mm256_min_ps)
HN_ONE(f32x16, f_sqrt, f32x16, _mm256_sqrt_ps)
HN_INLINE f32x16 f_fma(f32x16 x, f32x16 y, f32x16 z)
{
    return (f32x16){ _mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b) };
}
HN_COMPARE(f_lt, _CMP_LT_OQ)
HN_COMPARE(f_le, _CMP_LE_OQ)
HN_COMPARE(f_eq, _CMP_EQ_OQ)
HN_INLINE f32x16 f_select(m16 m, f32x16 yes, f32x16 no)
{
    return (f32x16){ _mm256_blendv_ps(no.a, yes.a, m.a), _mm256_blendv_ps(no.b, yes.b, m.b) };
}
HN_ONE(i32x16, f_bits, f32x16, _mm256_castps_si256)
HN_ONE(f32x16, i_float, i32x16, _mm256_castsi256_ps)
HN_ONE(i32x16, f_to_i, f32x16, _mm256_cvtps_epi32)
HN_ONE(f32x16, i_to_f, i32x16, _mm256_cvtepi32_ps)

HN_INLINE i32x16 i_set1(int32_t x)
{
    return (i32x16){ _mm256_set1_epi32(x), _mm256_set1_epi32(x) };
}
HN_INLINE i32x16 i_load(const int32_t *p)
{
    return (i32x16){ _mm256_loadu_si256((const void *)p),
                     _mm256_loadu_si256((const void *)(p + 8)) };
}
HN_INLINE i32x16 i_load_n(const int32_t *p, int64_t n)
{
    return (i32x16){ _mm256_maskload_epi32(p, lanes_below(n, 0)),
                     _mm256_maskload_epi32(p + 8, lanes_below(n, 8)) };
}
HN_INLINE void i_store(int32_t *p, i32x16 x)
{
    _mm256_storeu_si256((void *)p, x.a);
    _mm256_storeu_si256((void *)(p + 8), x.b);
}
HN_INLINE void i_store_n(int32_t *p, i32x16 x, int64_t n)
{
    _mm256_maskstore_epi32(p, lanes_below(n, 0), x.a);
    _mm256_maskstore_epi32(p + 8, lanes_below(n, 8), x.b);
}
HN_TWO(i32x16, i_add, i32x16, _mm256_add_epi32)
HN_TWO(i32x16, i_sub, i32x16, _mm256_sub_epi32)
HN_TWO(i32x16, i_mul, i32x16, _mm256_mullo_epi32)
HN_TWO(i32x16, i_and, i32x16, _mm256_and_si256)
HN_TWO(i32x16, i_or, i32x16, _mm256_or_si256)
HN_TWO(i32x16, i_xor, i32x16, _mm256_xor_si256)
#define HN_SHIFT(name, op)                                                                     \
    HN_INLINE i32x16 name(i32x16 x, int bits)                                                  \
    {                                                                                          \
        return (i32x16){ op(x.a, bits), op(x.b, bits) };                                       \
    }
HN_SHIFT(i_shl, _mm256_slli_epi32)
HN_SHIFT(i_shr, _mm256_srli_epi32)
HN_SHIFT(i_sar, _mm256_srai_epi32)
HN_INLINE m16 i_eq(i32x16 x, i32x16 y)
{
    return (m16){ _mm256_castsi256_ps(_mm256_cmpeq_epi32(x.a, y.a)),
                  _mm256_castsi256_ps(_mm256_cmpeq_epi32(x.b, y.b)) };
}
HN_TWO(i32x16, i_max, i32x16, _mm256_max_epi32)
HN_INLINE m16 i_gt(i32x16 x, i32x16 y)
{
    return (m16){ _mm256_castsi256_ps(_mm256_cmpgt_epi32(x.a, y.a)),
                  _mm256_castsi256_ps(_mm256_cmpgt_epi32(x.b, y.b)) };
}
HN_INLINE i32x16 i_select(m16 m, i32x16 yes, i32x16 no)
{
    return f_bits(f_select(m, i_float(yes), i_float(no)));
}
/* Lanes in pairs, a number in the even one of each: the whole products with one factor; what
 * the odd ones hold; four even (odd) lanes of each 128 bits, two of a, then two of b. */
HN_INLINE i32x16 i_mul_even(i32x16 x, uint32_t y)
{
    const __m256i factor = _mm256_set1_epi64x(y);
    return (i32x16){ _mm256_mul_epu32(x.a, factor), _mm256_mul_epu32(x.b, factor) };
}
HN_INLINE i32x16 i_odd(i32x16 x)
{
    return (i32x16){ _mm256_srli_epi64(x.a, 32), _mm256_srli_epi64(x.b, 32) };
}
HN_INLINE i32x16 i_pick_even(i32x16 x, i32x16 y)
{
    const f32x16 f = i_float(x), g = i_float(y);
    return f_bits(
        (f32x16){ _mm256_shuffle_ps(f.a, g.a, 0x88), _mm256_shuffle_ps(f.b, g.b, 0x88) });
}
HN_INLINE i32x16 i_pick_odd(i32x16 x, i32x16 y)
{
    const f32x16 f = i_float(x), g = i_float(y);
    return f_bits(
        (f32x16){ _mm256_shuffle_ps(f.a, g.a, 0xdd), _mm256_shuffle_ps(f.b, g.b, 0xdd) });
}

HN_INLINE h16 h_load(const uint16_t *p)
{
    return (h16){ _mm_loadu_si128((const void *)p), _mm_loadu_si128((const void *)(p + 8)) };
}
HN_INLINE h16 h_load_n(const uint16_t *p, int64_t n)
{
    uint16_t whole[16] = { 0 };
    for (int64_t l = 0; l < n; l++)
        whole[l] = p[l];
    return h_load(whole);
}
HN_INLINE void h_store(uint16_t *p, h16 x)
{
    _mm_storeu_si128((void *)p, x.a);
    _mm_storeu_si128((void *)(p + 8), x.b);
}
HN_INLINE void h_store_n(uint16_t *p, h16 x, int64_t n)
{
    uint16_t whole[16];
    h_store(whole, x);
    for (int64_t l = 0; l < n; l++)
        p[l] = whole[l];
}
HN_ONE(i32x16, h_widen, h16, _mm256_cvtepu16_epi32)
HN_INLINE __m128i narrow8(__m256i x)
{
    return _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}
HN_ONE(h16, h_narrow, i32x16, narrow8)
HN_ONE(f32x16, f_from_f16, h16, _mm256_cvtph_ps)
HN_INLINE h16 f_to_f16(f32x16 x)
{
    return (h16){ _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT),
                  _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT) };
}

HN_INLINE f64x16 d_set1(double x)
{
    const __m256d v = _mm256_set1_pd(x);
    return (f64x16){ { v, v, v, v } };
}
HN_INLINE f64x16 d_load(const double *p)
{
    return (f64x16){ { _mm256_loadu_pd(p), _mm256_loadu_pd(p + 4), _mm256_loadu_pd(p + 8),
                       _mm256_loadu_pd(p + 12) } };
}
HN_INLINE void d_store(double *p, f64x16 x)
{
    for (int q = 0; q < 4; q++)
        _mm256_storeu_pd(p + 4 * q, x.v[q]);
}
HN_INLINE f64x16 d_add(f64x16 x, f64x16 y)
{
    for (int q = 0; q < 4; q++)
        x.v[q] = _mm256_add_pd(x.v[q], y.v[q]);
    return x;
}
HN_INLINE f64x16 d_mul(f64x16 x, f64x16 y)
{
    for (int q = 0; q < 4; q++)
        x.v[q] = _mm256_mul_pd(x.v[q], y.v[q]);
    return x;
}
HN_INLINE f64x16 d_from_f(f32x16 x)
{
    return (f64x16){ { _mm256_cvtps_pd(_mm256_castps256_ps128(x.a)),
                       _mm256_cvtps_pd(_mm256_extractf128_ps(x.a, 1)),
                       _mm256_cvtps_pd(_mm256_castps256_ps128(x.b)),
                       _mm256_cvtps_pd(_mm256_extractf128_ps(x.b, 1)) } };
}
HN_INLINE f32x16 d_to_f(f64x16 x)
{
    return (f32x16){ _mm256_set_m128(_mm256_cvtpd_ps(x.v[1]), _mm256_cvtpd_ps(x.v[0])),
                     _mm256_set_m128(_mm256_cvtpd_ps(x.v[3]), _mm256_cvtpd_ps(x.v[2])) };
}

/* 16 -> 8 -> 4 -> 2 -> 1, halves joined. */
HN_INLINE float f_sum(f32x16 x)
{
    const __m256 eight = _mm256_add_ps(x.a, x.b);
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
HN_INLINE float f_largest(f32x16 x)
{
    const __m256 eight = _mm256_max_ps(x.a, x.b);
    const __m128 four =
        _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

HN_INLINE void split8(__m256 x, __m256 y, __m256 *even, __m256 *odd)
{
    const __m256 low = _mm256_permute2f128_ps(x, y, 0x20);
    const __m256 high = _mm256_permute2f128_ps(x, y, 0x31);
    const __m256 e = _mm256_shuffle_ps(low, high, 0x88), o = _mm256_shuffle_ps(low, high, 0xdd);
    *even = e, *odd = o;
}
/* Lanes of -128 to 127 as bytes; returns what they add up to. Words are packed within each half of a register, so that
 * fours of bytes come as 0 2 1 3. */
HN_INLINE int32_t i_put_bytes(int8_t *p, i32x16 x)
{
    const __m256i words = _mm256_packs_epi32(x.a, x.b);
    const __m128i fours = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    const __m128i sums = _mm_sad_epu8(_mm_xor_si128(fours, _mm_set1_epi8(-128)), _mm_setzero_si128());
    _mm_storeu_si128((void *)p, _mm_shuffle_epi32(fours, 0xd8));
    return _mm_cvtsi128_si32(sums) + _mm_extract_epi32(sums, 2) - 16 * 128;
}

/* (p[0], p[2], ...) and (p[1], p[3], ...) of 32 floats; f_interleave is the way back. */
HN_INLINE void f_load_pairs(const float *p, f32x16 *even, f32x16 *odd)
{
    const f32x16 x = f_load(p), y = f_load(p + 16);
    __m256 e[2], o[2];
    split8(x.a, x.b, &e[0], &o[0]);
    split8(y.a, y.b, &e[1], &o[1]);
    *even = (f32x16){ e[0], e[1] };
    *odd = (f32x16){ o[0], o[1] };
}
HN_INLINE void f_interleave(f32x16 even, f32x16 odd, f32x16 *low, f32x16 *high)
{
    const __m256 l0 = _mm256_unpacklo_ps(even.a, odd.a), h0 = _mm256_unpackhi_ps(even.a, odd.a);
    const __m256 l1 = _mm256_unpacklo_ps(even.b, odd.b), h1 = _mm256_unpackhi_ps(even.b, odd.b);
    *low =
        (f32x16){ _mm256_permute2f128_ps(l0, h0, 0x20), _mm256_permute2f128_ps(l0, h0, 0x31) };
    *high =
        (f32x16){ _mm256_permute2f128_ps(l1, h1, 0x20), _mm256_permute2f128_ps(l1, h1, 0x31) };
}

#undef HN_ONE
#undef HN_TWO
#undef HN_COMPARE
#undef HN_SHIFT
#endif
