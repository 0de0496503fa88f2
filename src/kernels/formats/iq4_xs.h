/* iq4_xs.h: decoders of IQ4_XS (src/quant/iq4_xs.c): what scales are times at byte 0, those of 32 at 2 and 4, nibbles that
 * pick points from 8 on. */
#ifndef HN_KERNELS_FORMATS_IQ4_XS_H
#define HN_KERNELS_FORMATS_IQ4_XS_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_iq4_xs(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    const points_table table = points_load(iq4_points);
    for (int64_t i = 0; i < n; i += 256, block += 136) {
        const float d = half_at(block);
        for (int g = 0; g < 8; g++) {
            const int low = block[4 + g / 2] >> (g % 2 * 4) & 15;
            const int high = block[2 + g / 4] >> (g % 4 * 2) & 3;
            const f32x16 scale = f_set1(d * (float)((low | high << 4) - 32));
            const i32x16 q = bytes_u8(block + 8 + 16 * g);
            float *to = y + i + 32 * g;
            f_store(to, f_mul(scale, points_at(&table, i_and(q, i_set1(15)))));
            f_store(to + 16, f_mul(scale, points_at(&table, i_shr(q, 4))));
        }
    }
}

static inline void panel_iq4_xs(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    const points_table table = points_load(iq4_points);
    for (int64_t p = 0; p < n; p += 256, block += 16 * 136) {
        const f32x16 d = halves_f16(block);
        for (int g = 0; g < 8; g++) {
            const f32x16 scale = panel_six_bits(d, bytes_u8(block + 16 * (4 + g / 2)), g % 2,
                                                bytes_u8(block + 16 * (2 + g / 4)), g % 4);
            panel_points(&table, block + 16 * (8 + 16 * g), scale, y + (p + 32 * g) * ld, ld);
        }
    }
}

HN_INLINE void unpack_iq4_xs(sixteen b, int g, int32_t *to)
{
    const i32x16 low = u8_at(b, 4 + g / 2), high = u8_at(b, 2 + g / 4);
    const i32x16 four = g % 2 ? i_shr(low, 4) : i_and(low, i_set1(15));
    const i32x16 six = i_or(four, i_shl(two_bits(high, g % 4), 4));
    two_points(iq4_bytes, b, 8 + 16 * g, to);
    put_scale(to, 0, f_mul(f16_at(b, 0), i_to_f(i_sub(six, i_set1(32)))));
}

HN_INLINE i32x16 two_iq4_xs(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return look_bytes(iq4_bytes, nibbles_of(p + 8 + 16 * g, p + 24 + 16 * g));
}

/* Eight nibbles, and eight pairs of bits, as bytes. */
HN_INLINE uint64_t bytes_of_nibbles(uint64_t x)
{
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    return (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
}

HN_INLINE uint64_t bytes_of_pairs(uint64_t x)
{
    x = (x | x << 24) & 0x000000ff000000ffu;
    x = (x | x << 12) & 0x000f000f000f000fu;
    return (x | x << 6) & 0x0303030303030303u;
}

HN_INLINE uint64_t iq4_scales(const uint8_t *p) { return bytes_of_nibbles(four_at(p + 4)) | bytes_of_pairs(two_at(p + 2)) << 4; }

HN_INLINE void of_iq4_xs(const uint8_t *row, stretch *s)
{
    const i32x16 six = sixteen_u8(iq4_scales(row), iq4_scales(row + 136));
    s->scale = f_mul(f16_of_blocks(row, 136, 8), i_to_f(i_sub(six, i_set1(32))));
}

#endif
