/* pieces.h: what blocks that lie side by side in a row are put together from: pieces of a row's bytes, as blocks of 32 elements two
 * to a register; a number of each of sixteen blocks; and what such registers add up to. */
#ifndef HN_KERNELS_INT8_PIECES_H
#define HN_KERNELS_INT8_PIECES_H

#include "kernels/int8/unpack.h"

HN_INLINE uint64_t eight_at(const uint8_t *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}
HN_INLINE uint32_t four_at(const uint8_t *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}
HN_INLINE uint64_t two_at(const uint8_t *p)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* ---- two blocks: 32 bytes of each ---- */

#if defined(HN_LEVEL_avx512)
HN_INLINE i32x16 two_32(const uint8_t *p, const uint8_t *q)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)p)), _mm256_loadu_si256((const void *)q), 1);
}
HN_INLINE __m256i twice_16(const uint8_t *p) { return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p)); }
HN_INLINE i32x16 two_twice_16(const uint8_t *p, const uint8_t *q)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(twice_16(p)), twice_16(q), 1);
}
HN_INLINE i32x16 a_32_and_twice_16(const uint8_t *p, const uint8_t *q)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)p)), twice_16(q), 1);
}
/* Pieces of eight bytes of 32 that are one, each twice. */
HN_INLINE i32x16 each_8_twice(const uint8_t *p)
{
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), _mm512_castsi256_si512(_mm256_loadu_si256((const void *)p)));
}
HN_INLINE i32x16 twice_32(const uint8_t *p) { return _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)p)); }
HN_INLINE i32x16 i_shr_by(i32x16 x, i32x16 by) { return _mm512_srlv_epi32(x, by); }
#elif defined(HN_LEVEL_avx2)
HN_INLINE i32x16 two_32(const uint8_t *p, const uint8_t *q)
{
    return (i32x16){ _mm256_loadu_si256((const void *)p), _mm256_loadu_si256((const void *)q) };
}
HN_INLINE __m256i twice_16(const uint8_t *p) { return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p)); }
HN_INLINE i32x16 two_twice_16(const uint8_t *p, const uint8_t *q) { return (i32x16){ twice_16(p), twice_16(q) }; }
HN_INLINE i32x16 a_32_and_twice_16(const uint8_t *p, const uint8_t *q)
{
    return (i32x16){ _mm256_loadu_si256((const void *)p), twice_16(q) };
}
HN_INLINE i32x16 each_8_twice(const uint8_t *p)
{
    const __m256i all = _mm256_loadu_si256((const void *)p);
    return (i32x16){ _mm256_permute4x64_epi64(all, 0x50), _mm256_permute4x64_epi64(all, 0xfa) };
}
HN_INLINE i32x16 i_shr_by(i32x16 x, i32x16 by) { return (i32x16){ _mm256_srlv_epi32(x.a, by.a), _mm256_srlv_epi32(x.b, by.b) }; }
#else
HN_INLINE i32x16 of_eights(const uint8_t *const piece[8])
{
    uint8_t byte[64];
    for (int i = 0; i < 8; i++)
        memcpy(byte + 8 * i, piece[i], 8);
    return i_load_bytes(byte);
}
HN_INLINE i32x16 two_32(const uint8_t *p, const uint8_t *q)
{
    return of_eights((const uint8_t *const[]){ p, p + 8, p + 16, p + 24, q, q + 8, q + 16, q + 24 });
}
HN_INLINE i32x16 two_twice_16(const uint8_t *p, const uint8_t *q)
{
    return of_eights((const uint8_t *const[]){ p, p + 8, p, p + 8, q, q + 8, q, q + 8 });
}
HN_INLINE i32x16 a_32_and_twice_16(const uint8_t *p, const uint8_t *q)
{
    return of_eights((const uint8_t *const[]){ p, p + 8, p + 16, p + 24, q, q + 8, q, q + 8 });
}
HN_INLINE i32x16 each_8_twice(const uint8_t *p)
{
    return of_eights((const uint8_t *const[]){ p, p, p + 8, p + 8, p + 16, p + 16, p + 24, p + 24 });
}
HN_INLINE i32x16 i_shr_by(i32x16 x, i32x16 by)
{
    int32_t word[16], bits[16];
    i_store(word, x);
    i_store(bits, by);
    for (int l = 0; l < 16; l++)
        word[l] = (int32_t)((uint32_t)word[l] >> bits[l]);
    return i_load(word);
}
#endif

#if !defined(HN_LEVEL_avx512)
HN_INLINE i32x16 twice_32(const uint8_t *p) { return two_32(p, p); }
#endif

/* A number for each word: one for the first block and one for the second, or for each sixteen bytes, or eight. */
#define BY_BLOCK(a, b)    ((const int32_t[16]){ a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b })
#define BY_SIXTEEN(a, b, c, d) ((const int32_t[16]){ a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d })
#define BY_EIGHT(a, b)    ((const int32_t[16]){ a, a, b, b, a, a, b, b, a, a, b, b, a, a, b, b })

HN_INLINE i32x16 shift_right(i32x16 x, const int32_t by[16]) { return i_shr_by(x, i_load(by)); }

/* A word of each, eight times. */
#if defined(HN_LEVEL_avx512)
HN_INLINE i32x16 word_of_each(const uint8_t *p, const uint8_t *q)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set1_epi32((int)four_at(p))), _mm256_set1_epi32((int)four_at(q)), 1);
}
#elif defined(HN_LEVEL_avx2)
HN_INLINE i32x16 word_of_each(const uint8_t *p, const uint8_t *q)
{
    return (i32x16){ _mm256_set1_epi32((int)four_at(p)), _mm256_set1_epi32((int)four_at(q)) };
}
#else
HN_INLINE i32x16 word_of_each(const uint8_t *p, const uint8_t *q)
{
    const int32_t a = (int32_t)four_at(p), b = (int32_t)four_at(q);
    return i_load(BY_BLOCK(a, b));
}
#endif

/* ---- a number of each of sixteen blocks ---- */

/* Sixteen bytes, or halves, out of general registers: what is put together in memory is waited for. */
#if defined(HN_LEVEL_avx512)
HN_INLINE i32x16 sixteen_u8(uint64_t a, uint64_t b) { return _mm512_cvtepu8_epi32(_mm_set_epi64x((int64_t)b, (int64_t)a)); }
HN_INLINE h16 sixteen_halves(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return _mm256_set_epi64x((int64_t)d, (int64_t)c, (int64_t)b, (int64_t)a);
}
#elif defined(HN_LEVEL_avx2)
HN_INLINE i32x16 sixteen_u8(uint64_t a, uint64_t b)
{
    return (i32x16){ _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)a)), _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)b)) };
}
HN_INLINE h16 sixteen_halves(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (h16){ _mm_set_epi64x((int64_t)b, (int64_t)a), _mm_set_epi64x((int64_t)d, (int64_t)c) };
}
#else
HN_INLINE i32x16 sixteen_u8(uint64_t a, uint64_t b)
{
    uint8_t byte[16];
    memcpy(byte, &a, 8);
    memcpy(byte + 8, &b, 8);
    return bytes_u8(byte);
}
HN_INLINE h16 sixteen_halves(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint16_t half[16];
    memcpy(half, &a, 8);
    memcpy(half + 4, &b, 8);
    memcpy(half + 8, &c, 8);
    memcpy(half + 12, &d, 8);
    return h_load(half);
}
#endif

/* Halves at p, of blocks `bytes` apart that have `each` blocks of 32: of blocks [at, at + 4). */
HN_INLINE uint64_t four_halves(const uint8_t *p, const int bytes, const int each, const int at)
{
    return two_at(p + at / each * bytes) | two_at(p + (at + 1) / each * bytes) << 16 |
           two_at(p + (at + 2) / each * bytes) << 32 | two_at(p + (at + 3) / each * bytes) << 48;
}
HN_INLINE h16 halves_of_blocks(const uint8_t *p, const int bytes, const int each)
{
    return sixteen_halves(four_halves(p, bytes, each, 0), four_halves(p, bytes, each, 4), four_halves(p, bytes, each, 8),
                          four_halves(p, bytes, each, 12));
}
#if defined(HN_LEVEL_avx512)
/* As many as lie within a line's length at a time, of which no other byte is touched. */
HN_INLINE h16 picked_halves(const uint8_t *p, const int bytes, const int each)
{
    const int some = 3 * bytes + 2 <= 64 ? 4 : 2, lanes = some * each;
    const __m512i lane = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8,
                                          7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i block = _mm512_and_si512(_mm512_srl_epi16(lane, _mm_cvtsi32_si128(each / 2)), _mm512_set1_epi16((short)(some - 1)));
    const __m512i word = _mm512_mullo_epi16(block, _mm512_set1_epi16((short)(bytes / 2)));
    __m512i half = _mm512_setzero_si512();
    uint32_t which = 0;
    for (int b = 0; b < some; b++)
        which |= 1u << b * bytes / 2;
    HN_UNROLL
    for (int at = 0; at < 16; at += lanes)
        half = _mm512_mask_permutexvar_epi16(half, ((1u << lanes) - 1) << at, word,
                                             _mm512_maskz_loadu_epi16(which, p + at / each * bytes));
    return _mm512_castsi512_si256(half);
}
HN_INLINE h16 two_halves(const uint8_t *p, const uint8_t *q)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi16((short)two_at(p))), _mm_set1_epi16((short)two_at(q)), 1);
}
#elif defined(HN_LEVEL_avx2)
HN_INLINE h16 picked_halves(const uint8_t *p, const int bytes, const int each) { return halves_of_blocks(p, bytes, each); }
HN_INLINE h16 two_halves(const uint8_t *p, const uint8_t *q)
{
    return (h16){ _mm_set1_epi16((short)two_at(p)), _mm_set1_epi16((short)two_at(q)) };
}
#else
HN_INLINE h16 picked_halves(const uint8_t *p, const int bytes, const int each) { return halves_of_blocks(p, bytes, each); }
HN_INLINE h16 two_halves(const uint8_t *p, const uint8_t *q)
{
    const uint64_t all = 0x0001000100010001u, a = two_at(p) * all, b = two_at(q) * all;
    return sixteen_halves(a, a, b, b);
}
#endif
HN_INLINE f32x16 f16_of_blocks(const uint8_t *p, const int bytes, const int each)
{
    return f_from_f16(each == 8 ? two_halves(p, p + bytes) : picked_halves(p, bytes, each));
}

/* Scales and minimums of six bits, eight each of the twelve bytes at p, and of those at q: four bytes more are read. */
#if defined(HN_LEVEL_avx512) || defined(HN_LEVEL_avx2)
HN_INLINE void sixes_of_two(const uint8_t *p, const uint8_t *q, i32x16 *scales, i32x16 *minimums)
{
    const __m256i abc = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)p)), _mm_loadu_si128((const void *)q), 1);
    const __m256i low = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi32(abc, 0x98), _mm256_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4)),
                                         _mm256_set1_epi64x(0x0f0f0f0f3f3f3f3f));
    const __m256i top = _mm256_and_si256(_mm256_srli_epi32(_mm256_shuffle_epi32(abc, 0x50), 2), _mm256_set1_epi64x(0x3030303000000000));
    const __m256i apart = _mm256_permute4x64_epi64(_mm256_or_si256(low, top), 0xd8);
    const __m128i of_scales = _mm256_castsi256_si128(apart), of_minimums = _mm256_extracti128_si256(apart, 1);
#if defined(HN_LEVEL_avx512)
    *scales = _mm512_cvtepu8_epi32(of_scales);
    *minimums = _mm512_cvtepu8_epi32(of_minimums);
#else
    *scales = (i32x16){ _mm256_cvtepu8_epi32(of_scales), _mm256_cvtepu8_epi32(_mm_srli_si128(of_scales, 8)) };
    *minimums = (i32x16){ _mm256_cvtepu8_epi32(of_minimums), _mm256_cvtepu8_epi32(_mm_srli_si128(of_minimums, 8)) };
#endif
}
#else
HN_INLINE void sixes_of(const uint8_t *p, uint64_t *scales, uint64_t *minimums)
{
    const uint32_t a = four_at(p), b = four_at(p + 4), c = four_at(p + 8);
    const uint32_t above = (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030), above_m = (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);
    *scales = (a & 0x3f3f3f3f) | (uint64_t)above << 32;
    *minimums = (b & 0x3f3f3f3f) | (uint64_t)above_m << 32;
}
HN_INLINE void sixes_of_two(const uint8_t *p, const uint8_t *q, i32x16 *scales, i32x16 *minimums)
{
    uint64_t s[2], m[2];
    sixes_of(p, &s[0], &m[0]);
    sixes_of(q, &s[1], &m[1]);
    *scales = sixteen_u8(s[0], s[1]);
    *minimums = sixteen_u8(m[0], m[1]);
}
#endif

/* Pairs of bytes, a word each. */
HN_INLINE i32x16 sixteen_pairs(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { return h_widen(sixteen_halves(a, b, c, d)); }
HN_INLINE i32x16 low_byte(i32x16 pair) { return i_and(pair, i_set1(255)); }
HN_INLINE i32x16 high_byte(i32x16 pair) { return i_shr(pair, 8); }
HN_INLINE i32x16 signed_byte(i32x16 byte) { return i_sub(i_xor(byte, i_set1(128)), i_set1(128)); }

/* ---- sums ---- */

/* v[i] has eight parts of block 2 i, then as many of block 2 i + 1: the first four of each belong to its first half. */
#if defined(HN_LEVEL_avx512)
HN_INLINE i32x16 crosswise(i32x16 a, i32x16 b, i32x16 c, i32x16 d)
{
    const i32x16 ab = i_add(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    const i32x16 cd = i_add(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    return i_add(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}
HN_INLINE void add_up(const i32x16 v[8], i32x16 *first, i32x16 *second)
{
    const i32x16 low = crosswise(v[0], v[1], v[2], v[3]), high = crosswise(v[4], v[5], v[6], v[7]);
    const i32x16 of_first = _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 16, 24, 17, 25, 18, 26, 19, 27);
    *first = _mm512_permutex2var_epi32(low, of_first, high);
    *second = _mm512_permutex2var_epi32(low, i_add(of_first, i_set1(4)), high);
}
#elif defined(HN_LEVEL_avx2)
HN_INLINE __m256i crosswise(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    const __m256i cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    return _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
}
HN_INLINE void add_up_eight(const i32x16 v[4], __m256i *first, __m256i *second)
{
    const __m256i even = crosswise(v[0].a, v[1].a, v[2].a, v[3].a), odd = crosswise(v[0].b, v[1].b, v[2].b, v[3].b);
    const __m256i low = _mm256_unpacklo_epi32(even, odd), high = _mm256_unpackhi_epi32(even, odd);
    *first = _mm256_permute2x128_si256(low, high, 0x20);
    *second = _mm256_permute2x128_si256(low, high, 0x31);
}
HN_INLINE void add_up(const i32x16 v[8], i32x16 *first, i32x16 *second)
{
    add_up_eight(v, &first->a, &second->a);
    add_up_eight(v + 4, &first->b, &second->b);
}
#else
HN_INLINE void add_up(const i32x16 v[8], i32x16 *first, i32x16 *second)
{
    int32_t part[16], sum[2][16];
    for (int i = 0; i < 8; i++) {
        i_store(part, v[i]);
        for (int quarter = 0; quarter < 4; quarter++)
            sum[quarter % 2][2 * i + quarter / 2] =
                part[4 * quarter] + part[4 * quarter + 1] + part[4 * quarter + 2] + part[4 * quarter + 3];
    }
    *first = i_load(sum[0]);
    *second = i_load(sum[1]);
}
#endif

#endif
