/* q4_1.h: decoders of Q4_1 (src/quant/q4_1.c): scale and minimum at bytes 0 and 2, nibbles from 4 on. */
#ifndef HN_KERNELS_FORMATS_Q4_1_H
#define HN_KERNELS_FORMATS_Q4_1_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q4_1(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 20) {
        const f32x16 d = f_set1(half_at(block)), m = f_set1(half_at(block + 2));
        const i32x16 q = bytes_u8(block + 4);
        f_store(y + i, f_add(f_mul(nibble(q, 0), d), m));
        f_store(y + i + 16, f_add(f_mul(nibble(i_shr(q, 4), 0), d), m));
    }
}

static inline void panel_q4_1(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 32, block += 16 * 20) {
        const f32x16 d = halves_f16(block), m = halves_f16(block + 32);
        for (int j = 0; j < 16; j++) {
            const i32x16 q = bytes_u8(block + 64 + 16 * j);
            f_store(y + (p + j) * ld, f_add(f_mul(nibble(q, 0), d), m));
            f_store(y + (p + 16 + j) * ld, f_add(f_mul(nibble(i_shr(q, 4), 0), d), m));
        }
    }
}

HN_INLINE void unpack_q4_1(sixteen b, int g, int32_t *to)
{
    (void)g;
    two_nibbles(b, 4, to);
    put_scale(to, 0, f16_at(b, 0));
    put_scale(to, 1, f16_at(b, 2));
}

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

#endif
