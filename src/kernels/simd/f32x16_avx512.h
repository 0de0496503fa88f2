/* Sixteen lanes in one AVX-512 register. */
#ifndef HN_KERNELS_SIMD_F32X16_AVX512_H
#define HN_KERNELS_SIMD_F32X16_AVX512_H

#include <immintrin.h>

typedef __m512 f32x16;
typedef __m512i i32x16;
typedef __m256i h16;
typedef __mmask16 m16;
typedef struct f64x16 {
    __m512d low, high;
} f64x16;

HN_INLINE m16 m_first(int64_t n) { return (m16)((1u << n) - 1u); }
HN_INLINE m16 m_and(m16 a, m16 b) { return a & b; }
HN_INLINE m16 m_or(m16 a, m16 b) { return a | b; }
HN_INLINE m16 m_not(m16 a) { return (m16)~a; }
/* Which of sixteen bytes are not zero. */
HN_INLINE m16 m_load_bytes(const uint8_t *p)
{
    const __m128i bytes = _mm_loadu_si128((const void *)p);
    return _mm_test_epi8_mask(bytes, bytes);
}
HN_INLINE m16 m_load_bytes_n(const uint8_t *p, int64_t n)
{
    const __m128i bytes = _mm_maskz_loadu_epi8(m_first(n), p);
    return _mm_test_epi8_mask(bytes, bytes);
}
HN_INLINE bool m_any(m16 a) { return a != 0; }

HN_INLINE f32x16 f_set1(float x) { return _mm512_set1_ps(x); }
HN_INLINE f32x16 f_load(const float *p) { return _mm512_loadu_ps(p); }
HN_INLINE f32x16 f_load_n(const float *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(m_first(n), p);
}
HN_INLINE void f_store(float *p, f32x16 x) { _mm512_storeu_ps(p, x); }
HN_INLINE void f_stream(float *p, f32x16 x) { _mm512_stream_ps(p, x); }
HN_INLINE f32x16 f_look(const float table[32], i32x16 index)
{
    return _mm512_permutex2var_ps(f_load(table), index, f_load(table + 16));
}
HN_INLINE void f_store_n(float *p, f32x16 x, int64_t n)
{
    _mm512_mask_storeu_ps(p, m_first(n), x);
}
HN_INLINE f32x16 f_add(f32x16 a, f32x16 b) { return _mm512_add_ps(a, b); }
HN_INLINE f32x16 f_sub(f32x16 a, f32x16 b) { return _mm512_sub_ps(a, b); }
HN_INLINE f32x16 f_mul(f32x16 a, f32x16 b) { return _mm512_mul_ps(a, b); }
HN_INLINE f32x16 f_div(f32x16 a, f32x16 b) { return _mm512_div_ps(a, b); }
HN_INLINE f32x16 f_fma(f32x16 a, f32x16 b, f32x16 c) { return _mm512_fmadd_ps(a, b, c); }
/* a x[0] + c. The product takes x from memory for all lanes in passing; a broadcast of its own, which is what
 * comes of f_set1 if several products want it, takes a pipe from them. */
HN_INLINE f32x16 f_fma_by(f32x16 a, const float *x, f32x16 c)
{
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(a), "m"(*x));
    return c;
}
HN_INLINE f32x16 f_sqrt(f32x16 a) { return _mm512_sqrt_ps(a); }
HN_INLINE f32x16 f_max(f32x16 a, f32x16 b) { return _mm512_max_ps(a, b); }
HN_INLINE f32x16 f_min(f32x16 a, f32x16 b) { return _mm512_min_ps(a, b); }
HN_INLINE m16 f_lt(f32x16 a, f32x16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
HN_INLINE m16 f_le(f32x16 a, f32x16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
HN_INLINE m16 f_eq(f32x16 a, f32x16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
HN_INLINE f32x16 f_select(m16 m, f32x16 yes, f32x16 no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}
HN_INLINE i32x16 f_bits(f32x16 x) { return _mm512_castps_si512(x); }
HN_INLINE f32x16 i_float(i32x16 x) { return _mm512_castsi512_ps(x); }
HN_INLINE i32x16 f_to_i(f32x16 x) { return _mm512_cvtps_epi32(x); }
HN_INLINE f32x16 i_to_f(i32x16 x) { return _mm512_cvtepi32_ps(x); }

/* x 2^n for a whole n, rounded once. */
HN_INLINE f32x16 f_scale(f32x16 x, f32x16 n) { return _mm512_scalef_ps(x, n); }

HN_INLINE i32x16 i_set1(int32_t x) { return _mm512_set1_epi32(x); }
HN_INLINE i32x16 i_load(const int32_t *p) { return _mm512_loadu_si512(p); }
HN_INLINE i32x16 i_load_n(const int32_t *p, int64_t n)
{
    return _mm512_maskz_loadu_epi32(m_first(n), p);
}
HN_INLINE void i_store(int32_t *p, i32x16 x) { _mm512_storeu_si512(p, x); }
HN_INLINE void i_store_n(int32_t *p, i32x16 x, int64_t n)
{
    _mm512_mask_storeu_epi32(p, m_first(n), x);
}
HN_INLINE i32x16 i_add(i32x16 a, i32x16 b) { return _mm512_add_epi32(a, b); }
HN_INLINE i32x16 i_sub(i32x16 a, i32x16 b) { return _mm512_sub_epi32(a, b); }
HN_INLINE i32x16 i_mul(i32x16 a, i32x16 b) { return _mm512_mullo_epi32(a, b); }
HN_INLINE i32x16 i_and(i32x16 a, i32x16 b) { return _mm512_and_si512(a, b); }
HN_INLINE i32x16 i_or(i32x16 a, i32x16 b) { return _mm512_or_si512(a, b); }
HN_INLINE i32x16 i_xor(i32x16 a, i32x16 b) { return _mm512_xor_si512(a, b); }
#define i_shl(x, bits) _mm512_slli_epi32(x, (unsigned)(bits))
#define i_shr(x, bits) _mm512_srli_epi32(x, (unsigned)(bits))
#define i_sar(x, bits) _mm512_srai_epi32(x, (unsigned)(bits))
HN_INLINE m16 i_eq(i32x16 a, i32x16 b) { return _mm512_cmpeq_epi32_mask(a, b); }
HN_INLINE i32x16 i_max(i32x16 a, i32x16 b) { return _mm512_max_epi32(a, b); }
HN_INLINE m16 i_gt(i32x16 a, i32x16 b) { return _mm512_cmpgt_epi32_mask(a, b); }
HN_INLINE i32x16 i_select(m16 m, i32x16 yes, i32x16 no)
{
    return _mm512_mask_blend_epi32(m, no, yes);
}
/* Lanes in pairs, a number in the even one of each: the whole products with one factor; what
 * the odd ones hold; four even (odd) lanes of each 128 bits, two of a, then two of b. */
HN_INLINE i32x16 i_mul_even(i32x16 a, uint32_t b)
{
    return _mm512_mul_epu32(a, _mm512_set1_epi64(b));
}
HN_INLINE i32x16 i_odd(i32x16 a) { return _mm512_srli_epi64(a, 32); }
HN_INLINE i32x16 i_pick_even(i32x16 a, i32x16 b)
{
    return f_bits(_mm512_shuffle_ps(i_float(a), i_float(b), 0x88));
}
HN_INLINE i32x16 i_pick_odd(i32x16 a, i32x16 b)
{
    return f_bits(_mm512_shuffle_ps(i_float(a), i_float(b), 0xdd));
}

HN_INLINE h16 h_load(const uint16_t *p) { return _mm256_loadu_si256((const void *)p); }
HN_INLINE h16 h_load_n(const uint16_t *p, int64_t n)
{
    return _mm256_maskz_loadu_epi16(m_first(n), p);
}
HN_INLINE void h_store(uint16_t *p, h16 x) { _mm256_storeu_si256((void *)p, x); }
HN_INLINE void h_store_n(uint16_t *p, h16 x, int64_t n)
{
    _mm256_mask_storeu_epi16(p, m_first(n), x);
}
HN_INLINE i32x16 h_widen(h16 x) { return _mm512_cvtepu16_epi32(x); }
HN_INLINE h16 h_narrow(i32x16 x) { return _mm512_cvtepi32_epi16(x); }
HN_INLINE f32x16 f_from_f16(h16 x) { return _mm512_cvtph_ps(x); }
HN_INLINE h16 f_to_f16(f32x16 x)
{
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

HN_INLINE f64x16 d_set1(double x) { return (f64x16){ _mm512_set1_pd(x), _mm512_set1_pd(x) }; }
HN_INLINE f64x16 d_load(const double *p)
{
    return (f64x16){ _mm512_loadu_pd(p), _mm512_loadu_pd(p + 8) };
}
HN_INLINE void d_store(double *p, f64x16 x)
{
    _mm512_storeu_pd(p, x.low);
    _mm512_storeu_pd(p + 8, x.high);
}
HN_INLINE f64x16 d_add(f64x16 a, f64x16 b)
{
    return (f64x16){ _mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high) };
}
HN_INLINE f64x16 d_mul(f64x16 a, f64x16 b)
{
    return (f64x16){ _mm512_mul_pd(a.low, b.low), _mm512_mul_pd(a.high, b.high) };
}
HN_INLINE f64x16 d_from_f(f32x16 x)
{
    return (f64x16){ _mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                     _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)) };
}
HN_INLINE f32x16 d_to_f(f64x16 x)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x.low)),
                              _mm512_cvtpd_ps(x.high), 1);
}

/* 16 -> 8 -> 4 -> 2 -> 1, halves joined. */
HN_INLINE float f_sum(f32x16 x)
{
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
HN_INLINE float f_largest(f32x16 x)
{
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 four =
        _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* The halves of a vector's halves, as f_sum and f_largest put them together, of sixteen vectors at once: two share a vector after each
 * step. In which lane each ends up, `in_order` says. */
#define HN_HALVES_OF_ALL(join)                                                                 \
    __m512 eights[8], fours[4], twos[2];                                                       \
    HN_UNROLL                                                                                  \
    for (int i = 0; i < 8; i++)                                                                \
        eights[i] = join(_mm512_shuffle_f32x4(x[i], x[i + 8], 0x44), _mm512_shuffle_f32x4(x[i], x[i + 8], 0xee)); \
    HN_UNROLL                                                                                  \
    for (int i = 0; i < 4; i++)                                                                \
        fours[i] = join(_mm512_shuffle_f32x4(eights[i], eights[i + 4], 0x88),                  \
                        _mm512_shuffle_f32x4(eights[i], eights[i + 4], 0xdd));                 \
    HN_UNROLL                                                                                  \
    for (int i = 0; i < 2; i++)                                                                \
        twos[i] = join(_mm512_shuffle_ps(fours[i], fours[i + 2], 0x44), _mm512_shuffle_ps(fours[i], fours[i + 2], 0xee)); \
    const __m512 ones = join(_mm512_shuffle_ps(twos[0], twos[1], 0x88), _mm512_shuffle_ps(twos[0], twos[1], 0xdd)); \
    const __m512i in_order = _mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15)
HN_INLINE f32x16 f_sums(const f32x16 x[16])
{
    HN_HALVES_OF_ALL(_mm512_add_ps);
    return _mm512_permutexvar_ps(in_order, ones);
}
HN_INLINE f32x16 f_largests(const f32x16 x[16])
{
    HN_HALVES_OF_ALL(_mm512_max_ps);
    return _mm512_permutexvar_ps(in_order, ones);
}
#undef HN_HALVES_OF_ALL

/* Lanes of -128 to 127 as bytes; returns what they add up to. */
HN_INLINE int32_t i_put_bytes(int8_t *p, i32x16 x)
{
    const __m128i bytes = _mm512_cvtepi32_epi8(x);
    const __m128i sums = _mm_sad_epu8(_mm_xor_si128(bytes, _mm_set1_epi8(-128)), _mm_setzero_si128());
    _mm_storeu_si128((void *)p, bytes);
    return _mm_cvtsi128_si32(sums) + _mm_extract_epi32(sums, 2) - 16 * 128;
}

/* (p[0], p[2], ...) and (p[1], p[3], ...) of 32 floats; f_interleave is the way back. */
HN_INLINE void f_load_pairs(const float *p, f32x16 *even, f32x16 *odd)
{
    const __m512i at =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const f32x16 a = f_load(p), b = f_load(p + 16);
    *even = _mm512_permutex2var_ps(a, at, b);
    *odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(at, _mm512_set1_epi32(1)), b);
}
HN_INLINE void f_interleave(f32x16 even, f32x16 odd, f32x16 *low, f32x16 *high)
{
    const __m512i at =
        _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *low = _mm512_permutex2var_ps(even, at, odd);
    *high = _mm512_permutex2var_ps(even, _mm512_add_epi32(at, _mm512_set1_epi32(8)), odd);
}

#endif
