/* q1_0.h: decoders of Q1_0 (src/quant/q1_0.c): the scale at byte 0, signs from 2 on. */
#ifndef HN_KERNELS_FORMATS_Q1_0_H
#define HN_KERNELS_FORMATS_Q1_0_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q1_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 128, block += 18) {
        const f32x16 d = f_set1(half_at(block)), minus = f_neg(d);
        for (int j = 0; j < 128; j += 16) {
            uint16_t bits;
            memcpy(&bits, block + 2 + j / 8, sizeof bits);
            f_store(y + i + j, i_float(i_select(bits_set(bits), f_bits(d), f_bits(minus))));
        }
    }
}

static inline void panel_q1_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 128, block += 16 * 18) {
        const i32x16 minus = f_bits(f_neg(halves_f16(block)));
        for (int j = 0; j < 128; j++) { /* a set bit turns the sign */
            const i32x16 bit = bit_of(bytes_u8(block + 32 + j / 8 * 16), j % 8);
            f_store(y + (p + j) * ld, i_float(i_xor(minus, i_shl(bit, 31))));
        }
    }
}

HN_INLINE void unpack_q1_0(sixteen b, int g, int32_t *to)
{
    const i32x16 bits = bytes_at(b, 2 + 4 * g);
    for (int i = 0; i < 8; i++) /* a set bit is +1, the others are -1 */
        put_word(to, i, i_shl(spread_bits(bits, i), 1));
    put_scale(to, 0, f16_at(b, 0));
}

HN_INLINE i32x16 two_q1_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return i_shl(bits_of(p + 2 + 4 * g, p + 6 + 4 * g), 1); /* a set bit is +1, the others are -1 */
}

HN_INLINE void of_q1_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 18, 4); }

#endif
