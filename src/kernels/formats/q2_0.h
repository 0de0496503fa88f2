/* q2_0.h: decoders of Q2_0 (src/quant/q2_0.c): the scale at byte 0, pairs of bits from 2 on. */
#ifndef HN_KERNELS_FORMATS_Q2_0_H
#define HN_KERNELS_FORMATS_Q2_0_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q2_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 64, block += 18) {
        const f32x16 d = f_set1(half_at(block));
        for (int j = 0; j < 64; j += 16) {
            uint32_t four;
            int32_t q[16];
            memcpy(&four, block + 2 + j / 4, sizeof four);
            for (int l = 0; l < 16; l++)
                q[l] = (int32_t)(four >> (2 * l) & 3) - 1;
            f_store(y + i + j, f_mul(i_to_f(i_load(q)), d));
        }
    }
}

static inline void panel_q2_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 64, block += 16 * 18) {
        const f32x16 d = halves_f16(block);
        for (int m = 0; m < 16; m++) {
            const i32x16 q = bytes_u8(block + 32 + 16 * m);
            for (int s = 0; s < 4; s++)
                f_store(y + (p + 4 * m + s) * ld,
                        f_mul(i_to_f(i_sub(two_bits(q, s), i_set1(1))), d));
        }
    }
}

/* Four pairs of bits of a byte, as bytes. */
HN_INLINE i32x16 four_pairs(i32x16 byte)
{
    const i32x16 apart = i_or(i_or(byte, i_shl(byte, 6)), i_or(i_shl(byte, 12), i_shl(byte, 18)));
    return pairs_of_bits(apart, 0);
}

HN_INLINE void unpack_q2_0(sixteen b, int g, int32_t *to)
{
    for (int i = 0; i < 8; i++)
        put_word(to, i, four_pairs(u8_at(b, 2 + 8 * g + i)));
    put_scale(to, 0, f16_at(b, 0));
}

HN_INLINE i32x16 two_q2_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q, (void)g;
    return four_pairs(bytes_u8(p + 2));
}

HN_INLINE void of_q2_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 18, 2); }

#endif
