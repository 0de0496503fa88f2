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

#endif
