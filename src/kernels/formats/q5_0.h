/* q5_0.h: decoders of Q5_0 (src/quant/q5_0.c): the scale at byte 0, fifth bits at 2, nibbles from 6 on. */
#ifndef HN_KERNELS_FORMATS_Q5_0_H
#define HN_KERNELS_FORMATS_Q5_0_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q5_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 22) {
        const f32x16 d = f_set1(half_at(block));
        const i32x16 q = bytes_u8(block + 6), low = i_and(q, i_set1(15)), less = i_set1(16);
        uint32_t high;
        memcpy(&high, block + 2, sizeof high);
        f_store(y + i, f_mul(d, i_to_f(i_sub(five_bits(low, high), less))));
        f_store(y + i + 16, f_mul(d, i_to_f(i_sub(five_bits(i_shr(q, 4), high >> 16), less))));
    }
}

/* In words of four bytes, the first of which is the fifth bits. */
static inline void panel_q5_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 32, block += 16 * 22) {
        const f32x16 d = halves_f16(block);
        i32x16 high = words(block + 32, 0);
        for (int half = 0; half < 2; half++)
            for (int j = 0; j < 4; j++) {
                i32x16 low = words(block + 32, 1 + j);
                low = half ? i_shr(low, 4) : low;
                float *to = y + (p + 16 * half + 4 * j) * ld;
                for (int c = 0; c < 4; c++, to += ld, low = i_shr(low, 8), high = i_shr(high, 1)) {
                    const i32x16 fifth = i_shl(i_and(high, i_set1(1)), 4);
                    const i32x16 q = i_or(i_and(low, i_set1(15)), fifth);
                    f_store(to, f_mul(d, i_to_f(i_sub(q, i_set1(16)))));
                }
            }
    }
}

HN_INLINE void unpack_q5_0(sixteen b, int g, int32_t *to)
{
    (void)g;
    const i32x16 fifth = word_at(b, 2);
    for (int i = 0; i < 4; i++) {
        const i32x16 both = word_at(b, 6 + 4 * i);
        put_five(to, i, low_nibbles(both), fifth);
        put_five(to, i + 4, high_nibbles(both), fifth);
    }
    put_scale(to, 0, f16_at(b, 0));
}

HN_INLINE i32x16 two_q5_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return with_fifth(nibbles_of(p + 6, q + 6), bits_of(p + 2, q + 2));
}

HN_INLINE void of_q5_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 22, 1); }

#endif
