/* q6_k.h: decoders of Q6_K (src/quant/q6_k.c): nibbles from byte 0 on, pairs of bits from 128 on, scales of sixteen at
 * 192, what they are times at 208. */
#ifndef HN_KERNELS_FORMATS_Q6_K_H
#define HN_KERNELS_FORMATS_Q6_K_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

/* A 6-bit value less 32: the low four bits of `low` (or its high four) and two of `top`. */
HN_INLINE f32x16 six_bits(i32x16 low, i32x16 top, int quarter)
{
    const i32x16 four = quarter < 2 ? i_and(low, i_set1(15)) : i_shr(low, 4);
    const i32x16 two = quarter == 0   ? top
                       : quarter == 1 ? i_shr(top, 2)
                       : quarter == 2 ? i_shr(top, 4)
                                      : i_shr(top, 6);
    return i_to_f(i_sub(i_or(four, i_shl(i_and(two, i_set1(3)), 4)), i_set1(32)));
}

static inline void row_q6_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 210) {
        const float d = half_at(block + 208);
        for (int h = 0; h < 2; h++)
            for (int is = 0; is < 2; is++) {
                const i32x16 a = bytes_u8(block + 64 * h + 16 * is);
                const i32x16 b = bytes_u8(block + 64 * h + 32 + 16 * is);
                const i32x16 top = bytes_u8(block + 128 + 32 * h + 16 * is);
                float *to = y + i + 128 * h + 16 * is;
                f32x16 scale[4];
                for (int g = 0; g < 4; g++)
                    scale[g] = f_set1(d * (float)(int8_t)block[192 + 8 * h + is + 2 * g]);
                f_store(to, f_mul(scale[0], six_bits(a, top, 0)));
                f_store(to + 32, f_mul(scale[1], six_bits(b, top, 1)));
                f_store(to + 64, f_mul(scale[2], six_bits(a, top, 2)));
                f_store(to + 96, f_mul(scale[3], six_bits(b, top, 3)));
            }
    }
}

static inline void panel_q6_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 210)
        for (int part = 0; part < 4; part++) { /* half and group of sixteen */
            const int h = part >> 1, is = part & 1;
            const f32x16 d = halves_f16(block + 16 * 208);
            f32x16 scale[4];
            for (int g = 0; g < 4; g++)
                scale[g] = f_mul(d, i_to_f(bytes_i8(block + 16 * (192 + 8 * h + is + 2 * g))));
            for (int i = 0; i < 16; i++) {
                const i32x16 a = bytes_u8(block + 16 * (64 * h + 16 * is + i));
                const i32x16 b = bytes_u8(block + 16 * (64 * h + 32 + 16 * is + i));
                const i32x16 top = bytes_u8(block + 16 * (128 + 32 * h + 16 * is + i));
                float *to = y + (p + 128 * h + 16 * is + i) * ld;
                f_store(to, f_mul(scale[0], six_bits(a, top, 0)));
                f_store(to + 32 * ld, f_mul(scale[1], six_bits(b, top, 1)));
                f_store(to + 64 * ld, f_mul(scale[2], six_bits(a, top, 2)));
                f_store(to + 96 * ld, f_mul(scale[3], six_bits(b, top, 3)));
            }
        }
}

HN_INLINE void unpack_q6_k(sixteen b, int g, int32_t *to)
{
    const int h = g / 4, quarter = g % 4;
    for (int i = 0; i < 8; i++) {
        const i32x16 both = bytes_at(b, 64 * h + quarter % 2 * 32 + 4 * i);
        const i32x16 top = pairs_of_bits(bytes_at(b, 128 + 32 * h + 4 * i), quarter);
        put_word(to, i, i_or(quarter < 2 ? low_nibbles(both) : high_nibbles(both), i_shl(top, 4)));
    }
    put_scale(to, 0, f16_at(b, 208));
    for (int half = 0; half < 2; half++)
        put_scale(to, 1 + half, i_to_f(s8_at(b, 192 + 2 * g + half)));
}

HN_INLINE i32x16 two_q6_k(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    const int h = g / 4, quarter = g % 4;
    const i32x16 both = two_32(p + 64 * h, p + 64 * h + 32), four = quarter ? high_nibbles(both) : low_nibbles(both);
    return i_or(four, i_shl(pairs_of_bits(SHIFTED_TWICE(p + 128 + 32 * h, 2 * quarter, 2), 0), 4));
}

HN_INLINE void of_q6_k(const uint8_t *row, stretch *s)
{
    const i32x16 both = pairs_of_two(row + 192, 210);
    s->scale = f16_of_blocks(row + 208, 210, 8);
    s->factor[0] = i_to_f(signed_byte(low_byte(both)));
    s->factor[1] = i_to_f(signed_byte(high_byte(both)));
}

#endif
