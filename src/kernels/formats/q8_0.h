/* q8_0.h: decoders of Q8_0 (src/quant/q8_0.c): the scale at byte 0, 32 whole numbers from 2 on. */
#ifndef HN_KERNELS_FORMATS_Q8_0_H
#define HN_KERNELS_FORMATS_Q8_0_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q8_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 34) {
        const f32x16 d = f_set1(half_at(block));
        f_store(y + i, f_mul(i_to_f(bytes_i8(block + 2)), d));
        f_store(y + i + 16, f_mul(i_to_f(bytes_i8(block + 18)), d));
    }
}

/* In words of four bytes. */
static inline void panel_q8_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 32, block += 16 * 34) {
        const f32x16 d = halves_f16(block);
        for (int j = 0; j < 8; j++) {
            const i32x16 q = words(block + 32, j);
            float *to = y + (p + 4 * j) * ld;
            f_store(to, f_mul(i_to_f(i_sar(i_shl(q, 24), 24)), d));
            f_store(to + ld, f_mul(i_to_f(i_sar(i_shl(q, 16), 24)), d));
            f_store(to + 2 * ld, f_mul(i_to_f(i_sar(i_shl(q, 8), 24)), d));
            f_store(to + 3 * ld, f_mul(i_to_f(i_sar(q, 24)), d));
        }
    }
}

HN_INLINE void unpack_q8_0(sixteen b, int g, int32_t *to)
{
    (void)g;
    for (int i = 0; i < 8; i++)
        put_word(to, i, i_xor(word_at(b, 2 + 4 * i), i_set1((int32_t)0x80808080u)));
    put_scale(to, 0, f16_at(b, 0));
}

HN_INLINE i32x16 two_q8_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return i_xor(two_32(p + 2, q + 2), i_set1((int32_t)0x80808080u));
}

HN_INLINE void of_q8_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row, 34, 1); }

#endif
