/* q4_k.h: decoders of Q4_K (src/quant/q4_k.c): what scales and minimums are times at bytes 0 and 2, those of 32 from 4 on,
 * nibbles from 16 on. */
#ifndef HN_KERNELS_FORMATS_Q4_K_H
#define HN_KERNELS_FORMATS_Q4_K_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q4_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 144) {
        const float d = half_at(block), dmin = half_at(block + 2);
        const uint8_t *s = block + 4;
        for (int j = 0; j < 8; j += 2) {
            const f32x16 d0 = f_set1(d * (float)k_scale(s, j));
            const f32x16 m0 = f_set1(dmin * (float)k_min(s, j));
            const f32x16 d1 = f_set1(d * (float)k_scale(s, j + 1));
            const f32x16 m1 = f_set1(dmin * (float)k_min(s, j + 1));
            float *to = y + i + 32 * j;
            for (int l = 0; l < 32; l += 16) {
                const i32x16 q = bytes_u8(block + 16 + 16 * j + l);
                f_store(to + l, f_sub(f_mul(d0, nibble(q, 0)), m0));
                f_store(to + 32 + l, f_sub(f_mul(d1, nibble(i_shr(q, 4), 0)), m1));
            }
        }
    }
}

/* In words of four bytes. */
static inline void panel_q4_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 144) {
        const i32x16 both = words(block, 0);
        const f32x16 d = low_f16(both), dmin = high_f16(both);
        for (int j = 0; j < 8; j += 2) {
            f32x16 scale[2], less[2];
            for (int h = 0; h < 2; h++) {
                i32x16 of_d, of_dmin;
                k_scales_of_words(block + 64, j + h, &of_d, &of_dmin);
                scale[h] = f_mul(d, i_to_f(of_d));
                less[h] = f_mul(dmin, i_to_f(of_dmin));
            }
            for (int i = 0; i < 8; i++) {
                i32x16 q = words(block, 4 + 4 * j + i);
                float *to = y + (p + 32 * j + 4 * i) * ld;
                for (int c = 0; c < 4; c++, to += ld, q = i_shr(q, 8)) {
                    f_store(to, f_sub(f_mul(scale[0], nibble(q, 0)), less[0]));
                    f_store(to + 32 * ld,
                            f_sub(f_mul(scale[1], nibble(i_shr(q, 4), 0)), less[1]));
                }
            }
        }
    }
}

/* In words of four bytes. */
HN_INLINE void unpack_q4_k(sixteen b, int g, int32_t *to)
{
    i32x16 scale, less;
    const i32x16 both = word_at(b, 0);
    k_scales_of_words(b.at + 64, g, &scale, &less);
    if (g % 2)
        for (int i = 0; i < 8; i++)
            put_word(to, i, high_nibbles(word_at(b, 16 + 16 * (g - 1) + 4 * i)));
    else
        for (int i = 0; i < 8; i++)
            put_word(to, i, low_nibbles(word_at(b, 16 + 16 * g + 4 * i)));
    put_scale(to, 0, f_mul(low_f16(both), i_to_f(scale)));
    put_scale(to, 1, f_neg(f_mul(high_f16(both), i_to_f(less))));
}

HN_INLINE i32x16 two_q4_k(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return low_nibbles(SHIFTED_TWICE(p + 16 + 16 * g, 0, 4));
}

HN_INLINE void of_q4_k(const uint8_t *row, stretch *s) { k_scales_of_two(row, 144, s); }

#endif
