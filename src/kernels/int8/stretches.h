/* stretches.h: every block format as it lies in a row, sixteen blocks of 32 at a time. Of each there are
 *
 *   two_NAME(p, q, g)     blocks g and g + 1 of the format's block at p, or block 0 of p and of q: 64 bytes without a sign
 *   of_NAME(row, s)       what sixteen blocks from `row` on are multiplied by
 *
 * Bytes are counted as the format's file in src/quant has them. */
#ifndef HN_KERNELS_INT8_STRETCHES_H
#define HN_KERNELS_INT8_STRETCHES_H

#include "kernels/int8/pieces.h"

enum { STRETCH = 16 };

/* As int8.h has them; what a kind has not is not set. */
typedef struct stretch {
    f32x16 scale, minus_minimum;
    f32x16 factor[2], less[2]; /* of halves; factor: of steps, their scales */
} stretch;

/* ---- blocks of 32 ---- */

HN_INLINE i32x16 two_q8_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return i_xor(two_32(p + 2, q + 2), i_set1((int32_t)0x80808080u));
}
HN_INLINE void of_q8_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 34, 1); }

/* Sixteen bytes of each, of elements j and j + 16. */
HN_INLINE i32x16 nibbles_of(const uint8_t *p, const uint8_t *q)
{
    return low_nibbles(shift_right(two_twice_16(p, q), BY_SIXTEEN(0, 4, 0, 4)));
}

HN_INLINE i32x16 two_q4_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return nibbles_of(p + 2, q + 2);
}
HN_INLINE void of_q4_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 18, 1); }

HN_INLINE i32x16 two_q4_1(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return nibbles_of(p + 4, q + 4);
}
HN_INLINE void of_q4_1(const uint8_t *row, stretch *s)
{
    s->scale = f16_of_blocks(row, 20, 1);
    s->minus_minimum = f16_of_blocks(row + 2, 20, 1);
}

/* A bit of each of 32 elements, as bytes. */
#if defined(HN_LEVEL_avx512)
HN_INLINE i32x16 bits_of(const uint8_t *p, const uint8_t *q)
{
    return _mm512_maskz_set1_epi8(four_at(p) | (uint64_t)four_at(q) << 32, 1);
}
#else
HN_INLINE i32x16 bits_of(const uint8_t *p, const uint8_t *q)
{
    static const int32_t by[16] = { 0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28 };
    return spread_bits(shift_right(word_of_each(p, q), by), 0);
}
#endif
HN_INLINE i32x16 with_fifth(i32x16 nibbles, i32x16 fifth) { return i_or(nibbles, i_shl(fifth, 4)); }

HN_INLINE i32x16 two_q5_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return with_fifth(nibbles_of(p + 6, q + 6), bits_of(p + 2, q + 2));
}
HN_INLINE void of_q5_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 22, 1); }

HN_INLINE i32x16 two_q5_1(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return with_fifth(nibbles_of(p + 8, q + 8), bits_of(p + 4, q + 4));
}
HN_INLINE void of_q5_1(const uint8_t *row, stretch *s)
{
    s->scale = f16_of_blocks(row, 24, 1);
    s->minus_minimum = f16_of_blocks(row + 2, 24, 1);
}

HN_INLINE i32x16 two_iq4_nl(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return look_bytes(iq4_bytes, nibbles_of(p + 2, q + 2));
}
HN_INLINE void of_iq4_nl(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 18, 1); }

HN_INLINE i32x16 two_mxfp4(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return look_bytes(fp4_bytes, nibbles_of(p + 1, q + 1));
}
HN_INLINE void of_mxfp4(const uint8_t *row, stretch *s) { s->scale = e8m0_halves(bytes_of_blocks_17(row)); }

/* ---- of 64 ---- */

HN_INLINE i32x16 two_nvfp4(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q, (void)g;
    return look_bytes(fp4_bytes, low_nibbles(shift_right(each_8_twice(p + 4), BY_EIGHT(0, 4))));
}
HN_INLINE uint64_t runs_of_two(const uint8_t *p) { return four_at(p) | (uint64_t)four_at(p + 36) << 32; }
HN_INLINE void of_nvfp4(const uint8_t *row, stretch *s)
{
    const i32x16 both = sixteen_pairs(runs_of_two(row), runs_of_two(row + 72), runs_of_two(row + 144), runs_of_two(row + 216));
    s->factor[0] = e4m3_halves(low_byte(both));
    s->factor[1] = e4m3_halves(high_byte(both));
}

HN_INLINE i32x16 two_q2_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q, (void)g;
    return four_pairs(bytes_u8(p + 2));
}
HN_INLINE void of_q2_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 18, 2); }

/* ---- of 128 and 256 ---- */

HN_INLINE i32x16 two_q1_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return i_shl(bits_of(p + 2 + 4 * g, p + 6 + 4 * g), 1); /* a set bit is +1, the others are -1 */
}
HN_INLINE void of_q1_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 18, 4); }

/* Bits from `at` on of 32 bytes, then those from `at + step` on. */
#define SHIFTED_TWICE(p, at, step) shift_right(twice_32(p), BY_BLOCK(at, (at) + (step)))

HN_INLINE i32x16 two_q4_k(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return low_nibbles(SHIFTED_TWICE(p + 16 + 16 * g, 0, 4));
}

HN_INLINE void k_scales_of_two(const uint8_t *row, const int bytes, stretch *s)
{
    i32x16 scales, minimums;
    sixes_of_two(row + 4, row + bytes + 4, &scales, &minimums);
    s->scale = f_mul(f16_of_blocks(row, bytes, 8), i_to_f(scales));
    s->minus_minimum = f_neg(f_mul(f16_of_blocks(row + 2, bytes, 8), i_to_f(minimums)));
}
HN_INLINE void of_q4_k(const uint8_t *row, stretch *s) { k_scales_of_two(row, 144, s); }

HN_INLINE i32x16 two_q5_k(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return with_fifth(low_nibbles(SHIFTED_TWICE(p + 48 + 16 * g, 0, 4)), single_bits(SHIFTED_TWICE(p + 16, g, 1), 0));
}
HN_INLINE void of_q5_k(const uint8_t *row, stretch *s) { k_scales_of_two(row, 176, s); }

HN_INLINE i32x16 two_q6_k(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    const int h = g / 4, quarter = g % 4;
    const i32x16 both = two_32(p + 64 * h, p + 64 * h + 32), four = quarter ? high_nibbles(both) : low_nibbles(both);
    return i_or(four, i_shl(pairs_of_bits(SHIFTED_TWICE(p + 128 + 32 * h, 2 * quarter, 2), 0), 4));
}
HN_INLINE i32x16 pairs_of_two(const uint8_t *p, const int bytes)
{
    return sixteen_pairs(eight_at(p), eight_at(p + 8), eight_at(p + bytes), eight_at(p + bytes + 8));
}
HN_INLINE void of_q6_k(const uint8_t *row, stretch *s)
{
    const i32x16 both = pairs_of_two(row + 192, 210);
    s->scale = f16_of_blocks(row + 208, 210, 8);
    s->factor[0] = i_to_f(signed_byte(low_byte(both)));
    s->factor[1] = i_to_f(signed_byte(high_byte(both)));
}

HN_INLINE i32x16 two_q3_k(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    const i32x16 third = single_bits(SHIFTED_TWICE(p, g, 1), 0);
    return i_or(pairs_of_bits(SHIFTED_TWICE(p + 32 + g / 4 * 32, 2 * (g % 4), 2), 0), i_shl(third, 2));
}
/* Two bits of each of four bytes from `at` on, then the next two. */
HN_INLINE uint64_t top_bits(uint32_t high, int at)
{
    return ((high >> at & 0x03030303) | (uint64_t)(high >> (at + 2) & 0x03030303) << 32) << 4;
}
HN_INLINE void q3_scales(const uint8_t *p, uint64_t *low, uint64_t *high)
{
    const uint64_t four = eight_at(p), nibbles = 0x0f0f0f0f0f0f0f0fu;
    *low = (four & nibbles) | top_bits(four_at(p + 8), 0);
    *high = (four >> 4 & nibbles) | top_bits(four_at(p + 8), 4);
}
HN_INLINE void of_q3_k(const uint8_t *row, stretch *s)
{
    uint64_t a, b, c, d;
    q3_scales(row + 96, &a, &b);
    q3_scales(row + 110 + 96, &c, &d);
    const i32x16 both = sixteen_pairs(a, b, c, d);
    s->scale = f16_of_blocks(row + 108, 110, 8);
    s->factor[0] = i_to_f(i_sub(low_byte(both), i_set1(32)));
    s->factor[1] = i_to_f(i_sub(high_byte(both), i_set1(32)));
}

HN_INLINE i32x16 two_q2_k(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return pairs_of_bits(SHIFTED_TWICE(p + 16 + g / 4 * 32, 2 * (g % 4), 2), 0);
}
HN_INLINE void of_q2_k(const uint8_t *row, stretch *s)
{
    const i32x16 both = pairs_of_two(row, 84), half[2] = { low_byte(both), high_byte(both) };
    s->scale = f16_of_blocks(row + 80, 84, 8);
    s->minus_minimum = f_neg(f16_of_blocks(row + 82, 84, 8));
    for (int h = 0; h < 2; h++) {
        s->factor[h] = i_to_f(i_and(half[h], i_set1(15)));
        s->less[h] = i_to_f(i_shr(half[h], 4));
    }
}

HN_INLINE i32x16 two_iq4_xs(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return look_bytes(iq4_bytes, nibbles_of(p + 8 + 16 * g, p + 24 + 16 * g));
}
/* Eight nibbles, and eight pairs of bits, as bytes. */
HN_INLINE uint64_t bytes_of_nibbles(uint64_t x)
{
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    return (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
}
HN_INLINE uint64_t bytes_of_pairs(uint64_t x)
{
    x = (x | x << 24) & 0x000000ff000000ffu;
    x = (x | x << 12) & 0x000f000f000f000fu;
    return (x | x << 6) & 0x0303030303030303u;
}
HN_INLINE uint64_t iq4_scales(const uint8_t *p) { return bytes_of_nibbles(four_at(p + 4)) | bytes_of_pairs(two_at(p + 2)) << 4; }
HN_INLINE void of_iq4_xs(const uint8_t *row, stretch *s)
{
    const i32x16 six = sixteen_u8(iq4_scales(row), iq4_scales(row + 136));
    s->scale = f_mul(f16_of_blocks(row, 136, 8), i_to_f(i_sub(six, i_set1(32))));
}

/* Blocks 0 to 4 are digits of the first 32 bytes, the others of the next sixteen, and the last sixteen elements of the last four. */
HN_INLINE i32x16 two_tq1_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    static const int32_t but_last[16] = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0 };
    const i32x16 other = i_load(but_last);
    switch (g) {
    case 0: return trits_of(twice_32(p), i_load(BY_BLOCK(1, 3)));
    case 2: return trits_of(twice_32(p), i_load(BY_BLOCK(9, 27)));
    case 4: return trits_of(a_32_and_twice_16(p, p + 32), i_load(BY_SIXTEEN(81, 81, 1, 3)));
    default:
        return trits_of(i_or(i_and(two_twice_16(p + 32, p + 32), other), i_and(word_of_each(p + 48, p + 48), i_xor(other, i_set1(-1)))),
                        i_load(((const int32_t[16]){ 9, 9, 9, 9, 27, 27, 27, 27, 81, 81, 81, 81, 1, 3, 9, 27 })));
    }
}
HN_INLINE void of_tq1_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row + 52, 54, 8); }

HN_INLINE i32x16 two_tq2_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return pairs_of_bits(SHIFTED_TWICE(p + g / 4 * 32, 2 * (g % 4), 2), 0);
}
HN_INLINE void of_tq2_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row + 64, 66, 8); }

#endif
