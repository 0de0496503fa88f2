/* q4_0.h: decoders of Q4_0 (src/quant/q4_0.c): the scale at byte 0, nibbles from 2 on. */
#ifndef HN_KERNELS_FORMATS_Q4_0_H
#define HN_KERNELS_FORMATS_Q4_0_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q4_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 18) {
        const f32x16 d = f_set1(half_at(block));
        const i32x16 q = bytes_u8(block + 2);
        f_store(y + i, f_mul(nibble(q, -8), d));
        f_store(y + i + 16, f_mul(nibble(i_shr(q, 4), -8), d));
    }
}

static inline void panel_q4_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 32, block += 16 * 18) {
        const f32x16 d = halves_f16(block);
        for (int j = 0; j < 16; j++) {
            const i32x16 q = bytes_u8(block + 32 + 16 * j);
            f_store(y + (p + j) * ld, f_mul(nibble(q, -8), d));
            f_store(y + (p + 16 + j) * ld, f_mul(nibble(i_shr(q, 4), -8), d));
        }
    }
}

HN_INLINE void unpack_q4_0(sixteen b, int g, int32_t *to)
{
    (void)g;
    two_nibbles(b, 2, to);
    put_scale(to, 0, f16_at(b, 0));
}

HN_INLINE i32x16 two_q4_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return nibbles_of(p + 2, q + 2);
}

HN_INLINE void of_q4_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 18, 1); }

#endif
