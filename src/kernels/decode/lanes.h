/* lanes.h: sixteen bytes to sixteen 32-bit lanes, and a table of sixteen floats. */
#ifndef HN_KERNELS_DECODE_LANES_H
#define HN_KERNELS_DECODE_LANES_H

#include "kernels/simd/f32x16.h"
#include "quant/points.h"

#include <string.h>

#if defined(HN_LEVEL_avx512)
HN_INLINE i32x16 bytes_u8(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
}
HN_INLINE i32x16 bytes_i8(const uint8_t *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p));
}
#elif defined(HN_LEVEL_avx2)
HN_INLINE i32x16 bytes_u8(const uint8_t *p)
{
    const __m128i v = _mm_loadu_si128((const void *)p);
    return (i32x16){ _mm256_cvtepu8_epi32(v), _mm256_cvtepu8_epi32(_mm_srli_si128(v, 8)) };
}
HN_INLINE i32x16 bytes_i8(const uint8_t *p)
{
    const __m128i v = _mm_loadu_si128((const void *)p);
    return (i32x16){ _mm256_cvtepi8_epi32(v), _mm256_cvtepi8_epi32(_mm_srli_si128(v, 8)) };
}
#else
HN_INLINE i32x16 bytes_u8(const uint8_t *p)
{
    int32_t wide[16];
    for (int l = 0; l < 16; l++)
        wide[l] = p[l];
    return i_load(wide);
}
HN_INLINE i32x16 bytes_i8(const uint8_t *p)
{
    int32_t wide[16];
    for (int l = 0; l < 16; l++)
        wide[l] = (int8_t)p[l];
    return i_load(wide);
}
#endif

/* The low four bits of each lane, plus `from`, as a float. */
#if defined(HN_LEVEL_avx512)
HN_INLINE f32x16 nibble(i32x16 q, int from)
{
    const __m512 table =
        _mm512_add_ps(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                      _mm512_set1_ps((float)from));
    return _mm512_permutexvar_ps(q, table);
}
#else
HN_INLINE f32x16 nibble(i32x16 q, int from)
{
    const i32x16 low = i_and(q, i_set1(15));
    return i_to_f(from ? i_add(low, i_set1(from)) : low);
}
#endif

/* Words and halves wherever they lie. Where loads mind neither type nor alignment there is no copy: one by
 * pieces of sixteen bytes would be waited for by each load of 32. */
#if defined(HN_LEVEL_avx512) || defined(HN_LEVEL_avx2)
HN_INLINE i32x16 i_load_bytes(const void *p) { return i_load(p); }
HN_INLINE h16 h_load_bytes(const void *p) { return h_load(p); }
#else
HN_INLINE i32x16 i_load_bytes(const void *p)
{
    int32_t lane[16];
    memcpy(lane, p, sizeof lane);
    return i_load(lane);
}
HN_INLINE h16 h_load_bytes(const void *p)
{
    uint16_t h[16];
    memcpy(h, p, sizeof h);
    return h_load(h);
}
#endif

HN_INLINE f32x16 halves_f16(const uint8_t *p) { return f_from_f16(h_load_bytes(p)); }

/* Six-bit scale and minimum of sub-block j, times d and dmin, for sixteen rows. */
HN_INLINE void k_scales(const uint8_t *block, int j, f32x16 *scale, f32x16 *minimum)
{
    const uint8_t *s = block + 64;
    const f32x16 d = halves_f16(block), dmin = halves_f16(block + 32);
    i32x16 sc, mn;
    if (j < 4) {
        sc = i_and(bytes_u8(s + 16 * j), i_set1(63));
        mn = i_and(bytes_u8(s + 16 * (j + 4)), i_set1(63));
    } else {
        const i32x16 both = bytes_u8(s + 16 * (j + 4));
        sc = i_or(i_and(both, i_set1(15)), i_shl(i_shr(bytes_u8(s + 16 * (j - 4)), 6), 4));
        mn = i_or(i_shr(both, 4), i_shl(i_shr(bytes_u8(s + 16 * j), 6), 4));
    }
    *scale = f_mul(d, i_to_f(sc));
    *minimum = f_mul(dmin, i_to_f(mn));
}

/* Word `at` (four bytes) of each of sixteen rows, where words lie side by side, and the halves of
 * such words as floats. */
HN_INLINE i32x16 words(const void *panel, int64_t at)
{
    return i_load_bytes((const uint8_t *)panel + 64 * at);
}
HN_INLINE f32x16 low_f16(i32x16 pair)
{
    return f_from_f16(h_narrow(i_and(pair, i_set1(0xffff))));
}
HN_INLINE f32x16 high_f16(i32x16 pair) { return f_from_f16(h_narrow(i_shr(pair, 16))); }

/* Scale and minimum of sub-block j from words: `packed` are three of them. A load from byte j of
 * them on has that byte lowest in each lane. */
HN_INLINE void k_scales_of_words(const uint8_t *packed, int j, i32x16 *scale, i32x16 *minimum)
{
#define FROM(byte) words(packed + 64 * ((byte) / 4) + (byte) % 4, 0)
    if (j < 4) {
        *scale = i_and(FROM(j), i_set1(63));
        *minimum = i_and(FROM(j + 4), i_set1(63));
        return;
    }
    const i32x16 both = FROM(j + 4), low = i_set1(15), two = i_set1(48);
    *scale = i_or(i_and(both, low), i_and(i_shr(FROM(j - 4), 2), two));
    *minimum = i_or(i_and(i_shr(both, 4), low), i_and(i_shr(FROM(j), 2), two));
#undef FROM
}

/* A 6-bit value of Q6_K less 32: the low four bits of `low` (or its high four) and two of
 * `top`. */
HN_INLINE f32x16 six_bits(i32x16 low, i32x16 top, int quarter)
{
    const i32x16 four = quarter < 2 ? i_and(low, i_set1(15)) : i_shr(low, 4);
    const i32x16 two = quarter == 0   ? top
                       : quarter == 1 ? i_shr(top, 2)
                       : quarter == 2 ? i_shr(top, 4)
                                      : i_shr(top, 6);
    return i_to_f(i_sub(i_or(four, i_shl(i_and(two, i_set1(3)), 4)), i_set1(32)));
}

/* Bits 2 at and 2 at + 1 of each lane, at 0 .. 3. */
HN_INLINE i32x16 two_bits(i32x16 q, int at)
{
    const i32x16 shifted = at == 0   ? q
                           : at == 1 ? i_shr(q, 2)
                           : at == 2 ? i_shr(q, 4)
                                     : i_shr(q, 6);
    return i_and(shifted, i_set1(3));
}

/* Bit `at` of each lane, at 0 .. 7. */
HN_INLINE i32x16 bit_of(i32x16 q, int at)
{
    const i32x16 pair = two_bits(q, at / 2);
    return at % 2 ? i_shr(pair, 1) : i_and(pair, i_set1(1));
}

/* Which of the low sixteen bits are set, a lane each. */
HN_INLINE m16 bits_set(uint32_t bits)
{
    static const int32_t at[16] = { 1,   2,   4,    8,    16,   32,   64,    128,
                                    256, 512, 1024, 2048, 4096, 8192, 16384, 32768 };
    return i_gt(i_and(i_set1((int32_t)(bits & 0xffff)), i_load(at)), i_set1(0));
}

/* A value of Q3_K: two bits, less 4 where the third is not set. */
HN_INLINE f32x16 three_bits(i32x16 low, i32x16 third)
{
    return i_to_f(i_sub(i_or(low, i_shl(third, 2)), i_set1(4)));
}

/* Sixteen points, and those that the lanes of q (0 .. 15) pick. */
static const float iq4_points[16] = HN_POINTS_IQ4, fp4_points[16] = HN_POINTS_FP4;

#if defined(HN_LEVEL_avx512)
typedef f32x16 points_table;
HN_INLINE points_table points_load(const float points[16]) { return f_load(points); }
HN_INLINE f32x16 points_at(const points_table *table, i32x16 q)
{
    return _mm512_permutexvar_ps(q, *table);
}
#elif defined(HN_LEVEL_avx2)
typedef f32x16 points_table;
HN_INLINE points_table points_load(const float points[16]) { return f_load(points); }
HN_INLINE __m256 eight_points(const points_table *table, __m256i q)
{
    const __m256 first = _mm256_permutevar8x32_ps(table->a, q);
    const __m256 second = _mm256_permutevar8x32_ps(table->b, q);
    /* bit 3 chooses: as a sign, which is what a blend looks at */
    return _mm256_blendv_ps(first, second, _mm256_castsi256_ps(_mm256_slli_epi32(q, 28)));
}
HN_INLINE f32x16 points_at(const points_table *table, i32x16 q)
{
    return (f32x16){ eight_points(table, q.a), eight_points(table, q.b) };
}
#else
typedef const float *points_table;
HN_INLINE points_table points_load(const float points[16]) { return points; }
HN_INLINE f32x16 points_at(const points_table *table, i32x16 q)
{
    int32_t at[16];
    float picked[16];
    i_store(at, q);
    for (int l = 0; l < 16; l++)
        picked[l] = (*table)[at[l]];
    return f_load(picked);
}
#endif

/* 2^(e - 128): half of what E8M0 means; the first two are denormal. */
HN_INLINE float e8m0_half(uint8_t e)
{
    return hn_f32_from_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

/* Half of what an E4M3 without a sign means; its NaN is zero. */
HN_INLINE float ue4m3_half(uint8_t code)
{
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    if (code == 0x7f)
        return 0;
    return exponent ? (float)(8 + mantissa) * (float)(1u << exponent) * 0x1p-11f
                    : (float)mantissa * 0x1p-10f;
}

#endif
