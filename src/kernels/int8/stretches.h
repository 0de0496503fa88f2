/* stretches.h: block formats as they lie in a row, sixteen blocks of 32 at a time. Of each kernels/formats/NAME.h has
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

/* Sixteen bytes of each, of elements j and j + 16. */
HN_INLINE i32x16 nibbles_of(const uint8_t *p, const uint8_t *q)
{
    return low_nibbles(shift_right(two_twice_16(p, q), BY_SIXTEEN(0, 4, 0, 4)));
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

/* Bits from `at` on of 32 bytes, then those from `at + step` on. */
#define SHIFTED_TWICE(p, at, step) shift_right(twice_32(p), BY_BLOCK(at, (at) + (step)))

/* Scales and minimums of Q4_K or Q5_K. */
HN_INLINE void k_scales_of_two(const uint8_t *row, const int bytes, stretch *s)
{
    i32x16 scales, minimums;
    sixes_of_two(row + 4, row + bytes + 4, &scales, &minimums);
    s->scale = f_mul(f16_of_blocks(row, bytes, 8), i_to_f(scales));
    s->minus_minimum = f_neg(f_mul(f16_of_blocks(row + 2, bytes, 8), i_to_f(minimums)));
}

/* Sixteen bytes of each of two blocks, a pair of them to a word. */
HN_INLINE i32x16 pairs_of_two(const uint8_t *p, const int bytes)
{
    return sixteen_pairs(eight_at(p), eight_at(p + 8), eight_at(p + bytes), eight_at(p + bytes + 8));
}

#endif
