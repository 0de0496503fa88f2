/* iq4_nl.h: decoders of IQ4_NL (src/quant/iq4_nl.c): the scale at byte 0, nibbles that pick points from 2 on. */
#ifndef HN_KERNELS_FORMATS_IQ4_NL_H
#define HN_KERNELS_FORMATS_IQ4_NL_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_iq4_nl(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    const points_table table = points_load(iq4_points);
    for (int64_t i = 0; i < n; i += 32, block += 18) {
        const f32x16 d = f_set1(half_at(block));
        const i32x16 q = bytes_u8(block + 2);
        f_store(y + i, f_mul(d, points_at(&table, i_and(q, i_set1(15)))));
        f_store(y + i + 16, f_mul(d, points_at(&table, i_shr(q, 4))));
    }
}

static inline void panel_iq4_nl(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    const points_table table = points_load(iq4_points);
    for (int64_t p = 0; p < n; p += 32, block += 16 * 18)
        panel_points(&table, block + 32, halves_f16(block), y + p * ld, ld);
}

HN_INLINE void unpack_iq4_nl(sixteen b, int g, int32_t *to)
{
    (void)g;
    two_points(iq4_bytes, b, 2, to);
    put_scale(to, 0, f16_at(b, 0));
}

HN_INLINE i32x16 two_iq4_nl(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return look_bytes(iq4_bytes, nibbles_of(p + 2, q + 2));
}

HN_INLINE void of_iq4_nl(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 18, 1); }

#endif
