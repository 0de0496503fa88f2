/* q3_k.h: decoders of Q3_K (src/quant/q3_k.c): third bits from byte 0 on, pairs of bits from 32 on, scales of sixteen at
 * 96, what they are times at 108. */
#ifndef HN_KERNELS_FORMATS_Q3_K_H
#define HN_KERNELS_FORMATS_Q3_K_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

/* A value: two bits, less 4 where the third is not set. */
HN_INLINE f32x16 three_bits(i32x16 low, i32x16 third)
{
    return i_to_f(i_sub(i_or(low, i_shl(third, 2)), i_set1(4)));
}

static inline void row_q3_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 110) {
        const float d = half_at(block + 108);
        const uint8_t *packed = block + 96;
        for (int g = 0; g < 16; g++) {
            const int low = packed[g % 8] >> (g / 8 * 4) & 15;
            const int high = packed[8 + g % 4] >> (g / 4 * 2) & 3;
            const f32x16 scale = f_set1(d * (float)((low | high << 4) - 32));
            const i32x16 q = bytes_u8(block + 32 + g / 8 * 32 + g % 2 * 16);
            const i32x16 third = bit_of(bytes_u8(block + g % 2 * 16), g / 2);
            f_store(y + i + 16 * g, f_mul(scale, three_bits(two_bits(q, g / 2 % 4), third)));
        }
    }
}

static inline void panel_q3_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 110) {
        const f32x16 d = halves_f16(block + 16 * 108);
        const uint8_t *packed = block + 16 * 96;
        for (int g = 0; g < 16; g++) {
            const f32x16 scale = panel_six_bits(d, bytes_u8(packed + 16 * (g % 8)), g >= 8,
                                                bytes_u8(packed + 16 * (8 + g % 4)), g / 4);
            for (int l = 0; l < 16; l++) {
                const i32x16 q = bytes_u8(block + 16 * (32 + g / 8 * 32 + g % 2 * 16 + l));
                const i32x16 third = bit_of(bytes_u8(block + 16 * (g % 2 * 16 + l)), g / 2);
                f_store(y + (p + 16 * g + l) * ld,
                        f_mul(scale, three_bits(two_bits(q, g / 2 % 4), third)));
            }
        }
    }
}

/* Scale number `at` (0 to 15). */
HN_INLINE i32x16 q3_scale(sixteen b, int at)
{
    const i32x16 low = u8_at(b, 96 + at % 8), high = u8_at(b, 104 + at % 4);
    const i32x16 four = at < 8 ? i_and(low, i_set1(15)) : i_shr(low, 4);
    return i_sub(i_or(four, i_shl(two_bits(high, at / 4), 4)), i_set1(32));
}

HN_INLINE void unpack_q3_k(sixteen b, int g, int32_t *to)
{
    for (int i = 0; i < 8; i++) {
        const i32x16 two = pairs_of_bits(bytes_at(b, 32 + g / 4 * 32 + 4 * i), g % 4);
        const i32x16 third = single_bits(bytes_at(b, 4 * i), g);
        put_word(to, i, i_or(two, i_shl(third, 2)));
    }
    put_scale(to, 0, f16_at(b, 108));
    for (int half = 0; half < 2; half++)
        put_scale(to, 1 + half, i_to_f(q3_scale(b, 2 * g + half)));
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

#endif
