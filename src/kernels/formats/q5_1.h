/* q5_1.h: decoders of Q5_1 (src/quant/q5_1.c): scale and minimum at bytes 0 and 2, fifth bits at 4, nibbles from 8 on. */
#ifndef HN_KERNELS_FORMATS_Q5_1_H
#define HN_KERNELS_FORMATS_Q5_1_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q5_1(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 24) {
        const f32x16 d = f_set1(half_at(block)), m = f_set1(half_at(block + 2));
        const i32x16 q = bytes_u8(block + 8), low = i_and(q, i_set1(15));
        uint32_t high;
        memcpy(&high, block + 4, sizeof high);
        f_store(y + i, f_add(f_mul(d, i_to_f(five_bits(low, high))), m));
        f_store(y + i + 16, f_add(f_mul(d, i_to_f(five_bits(i_shr(q, 4), high >> 16))), m));
    }
}

/* Elements j and j + 16 of a block of five bits. */
HN_INLINE void panel_five_bits(const uint8_t *high, const uint8_t *low, int j, i32x16 q[2])
{
    const i32x16 both = bytes_u8(low + 16 * j);
    const i32x16 first = bit_of(bytes_u8(high + j / 8 * 16), j % 8);
    const i32x16 second = bit_of(bytes_u8(high + (2 + j / 8) * 16), j % 8);
    q[0] = i_or(i_and(both, i_set1(15)), i_shl(first, 4));
    q[1] = i_or(i_shr(both, 4), i_shl(second, 4));
}

static inline void panel_q5_1(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 32, block += 16 * 24) {
        const f32x16 d = halves_f16(block), m = halves_f16(block + 32);
        for (int j = 0; j < 16; j++) {
            i32x16 q[2];
            panel_five_bits(block + 16 * 4, block + 16 * 8, j, q);
            for (int half = 0; half < 2; half++)
                f_store(y + (p + j + 16 * half) * ld, f_add(f_mul(d, i_to_f(q[half])), m));
        }
    }
}

HN_INLINE void unpack_q5_1(sixteen b, int g, int32_t *to)
{
    (void)g;
    const i32x16 fifth = bytes_at(b, 4);
    for (int i = 0; i < 4; i++) {
        const i32x16 both = bytes_at(b, 8 + 4 * i);
        put_five(to, i, low_nibbles(both), fifth);
        put_five(to, i + 4, high_nibbles(both), fifth);
    }
    put_scale(to, 0, f16_at(b, 0));
    put_scale(to, 1, f16_at(b, 2));
}

HN_INLINE i32x16 two_q5_1(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return with_fifth(nibbles_of(p + 8, q + 8), bits_of(p + 4, q + 4));
}

HN_INLINE void of_q5_1(const uint8_t *row, stretch *s)
{
    s->scale = f16_of_blocks(row, 24, 1);
    s->minus_minimum = f16_of_blocks(row + 2, 24, 1);
}

#endif
