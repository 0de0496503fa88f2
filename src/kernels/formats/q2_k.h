/* q2_k.h: decoders of Q2_K (src/quant/q2_k.c): scales and minimums of sixteen from byte 0 on, pairs of bits from 16 on,
 * what both are times at 80 and 82. */
#ifndef HN_KERNELS_FORMATS_Q2_K_H
#define HN_KERNELS_FORMATS_Q2_K_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q2_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 84) {
        const float d = half_at(block + 80), dmin = half_at(block + 82);
        for (int g = 0; g < 16; g++) {
            const f32x16 step = f_set1(d * (float)(block[g] & 15));
            const f32x16 offset = f_set1(dmin * (float)(block[g] >> 4));
            const i32x16 q = bytes_u8(block + 16 + g / 8 * 32 + g % 2 * 16);
            f_store(y + i + 16 * g, f_sub(f_mul(step, i_to_f(two_bits(q, g / 2 % 4))), offset));
        }
    }
}

static inline void panel_q2_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 84) {
        const f32x16 d = halves_f16(block + 16 * 80), dmin = halves_f16(block + 16 * 82);
        for (int g = 0; g < 16; g++) {
            const i32x16 packed = bytes_u8(block + 16 * g);
            const f32x16 step = f_mul(d, nibble(packed, 0));
            const f32x16 offset = f_mul(dmin, nibble(i_shr(packed, 4), 0));
            for (int l = 0; l < 16; l++) {
                const i32x16 q = bytes_u8(block + 16 * (16 + g / 8 * 32 + g % 2 * 16 + l));
                f_store(y + (p + 16 * g + l) * ld,
                        f_sub(f_mul(step, i_to_f(two_bits(q, g / 2 % 4))), offset));
            }
        }
    }
}

HN_INLINE void unpack_q2_k(sixteen b, int g, int32_t *to)
{
    for (int i = 0; i < 8; i++)
        put_word(to, i, pairs_of_bits(bytes_at(b, 16 + g / 4 * 32 + 4 * i), g % 4));
    put_scale(to, 0, f16_at(b, 80));
    put_scale(to, 1, f_neg(f16_at(b, 82)));
    for (int half = 0; half < 2; half++) {
        const i32x16 packed = u8_at(b, 2 * g + half);
        put_scale(to, 2 + half, i_to_f(i_and(packed, i_set1(15))));
        put_scale(to, 4 + half, i_to_f(i_shr(packed, 4)));
    }
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

#endif
