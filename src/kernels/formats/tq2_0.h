/* tq2_0.h: decoders of TQ2_0 (src/quant/tq2_0.c): pairs of bits from byte 0 on, the scale at 64. */
#ifndef HN_KERNELS_FORMATS_TQ2_0_H
#define HN_KERNELS_FORMATS_TQ2_0_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_tq2_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 66) {
        const f32x16 d = f_set1(half_at(block + 64));
        for (int g = 0; g < 16; g++) {
            const i32x16 q = bytes_u8(block + g / 8 * 32 + g % 2 * 16);
            f_store(y + i + 16 * g, f_mul(d, i_to_f(i_sub(two_bits(q, g / 2 % 4), i_set1(1)))));
        }
    }
}

static inline void panel_tq2_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 66) {
        const f32x16 d = halves_f16(block + 16 * 64);
        for (int m = 0; m < 64; m++) {
            const i32x16 q = bytes_u8(block + 16 * m);
            for (int s = 0; s < 4; s++)
                f_store(y + (p + m / 32 * 128 + 32 * s + m % 32) * ld,
                        f_mul(d, i_to_f(i_sub(two_bits(q, s), i_set1(1)))));
        }
    }
}

HN_INLINE void unpack_tq2_0(sixteen b, int g, int32_t *to)
{
    for (int i = 0; i < 8; i++)
        put_word(to, i, pairs_of_bits(bytes_at(b, g / 4 * 32 + 4 * i), g % 4));
    put_scale(to, 0, f16_at(b, 64));
}

HN_INLINE i32x16 two_tq2_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return pairs_of_bits(SHIFTED_TWICE(p + g / 4 * 32, 2 * (g % 4), 2), 0);
}

HN_INLINE void of_tq2_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row + 64, 66, 8); }

#endif
