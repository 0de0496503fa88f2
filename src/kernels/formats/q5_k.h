/* q5_k.h: decoders of Q5_K (src/quant/q5_k.c): what scales and minimums are times at bytes 0 and 2, those of 32 from 4 on,
 * fifth bits from 16 on, nibbles from 48 on. */
#ifndef HN_KERNELS_FORMATS_Q5_K_H
#define HN_KERNELS_FORMATS_Q5_K_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

static inline void row_q5_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 176) {
        const float d = half_at(block), dmin = half_at(block + 2);
        for (int g = 0; g < 8; g++) {
            const f32x16 step = f_set1(d * (float)k_scale(block + 4, g));
            const f32x16 offset = f_set1(dmin * (float)k_min(block + 4, g));
            for (int l = 0; l < 32; l += 16) {
                const i32x16 q = bytes_u8(block + 48 + g / 2 * 32 + l);
                const i32x16 fifth = bit_of(bytes_u8(block + 16 + l), g);
                const i32x16 low = g % 2 ? i_shr(q, 4) : i_and(q, i_set1(15));
                f_store(y + i + 32 * g + l,
                        f_sub(f_mul(step, i_to_f(i_or(low, i_shl(fifth, 4)))), offset));
            }
        }
    }
}

/* Six-bit scale and minimum of sub-block j, times d and dmin, for sixteen rows. */
HN_INLINE void k_scales(const uint8_t *block, int j, f32x16 *scale, f32x16 *minimum)
{
    const uint8_t *s = block + 64;
    const f32x16 d = halves_f16(block), dmin = halves_f16(block + 32);
    i32x16 sc, mn;
    if (j < 4) {
        sc = i_and(bytes_u8(s + 16 * j), i_set1(63));
        mn = i_and(bytes_u8(s + 16 * (j + 4)), i_set1(63));
    } else {
        const i32x16 both = bytes_u8(s + 16 * (j + 4));
        sc = i_or(i_and(both, i_set1(15)), i_shl(i_shr(bytes_u8(s + 16 * (j - 4)), 6), 4));
        mn = i_or(i_shr(both, 4), i_shl(i_shr(bytes_u8(s + 16 * j), 6), 4));
    }
    *scale = f_mul(d, i_to_f(sc));
    *minimum = f_mul(dmin, i_to_f(mn));
}

static inline void panel_q5_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 176)
        for (int g = 0; g < 8; g++) {
            f32x16 step, offset;
            k_scales(block, g, &step, &offset);
            for (int l = 0; l < 32; l++) {
                const i32x16 q = bytes_u8(block + 16 * (48 + g / 2 * 32 + l));
                const i32x16 fifth = bit_of(bytes_u8(block + 16 * (16 + l)), g);
                const i32x16 low = g % 2 ? i_shr(q, 4) : i_and(q, i_set1(15));
                f_store(y + (p + 32 * g + l) * ld,
                        f_sub(f_mul(step, i_to_f(i_or(low, i_shl(fifth, 4)))), offset));
            }
        }
}

/* Scale and minimum of sub-block j, where they lie in bytes, or turned. */
HN_INLINE void k_scales_at(sixteen b, int j, f32x16 *scale, f32x16 *minimum)
{
    if (b.phase == IN_PANEL) {
        k_scales(b.at, j, scale, minimum);
        return;
    }
    i32x16 of_d, of_dmin;
    const i32x16 both = words(b.at, 0);
    k_scales_of_words(b.at + 64, j, &of_d, &of_dmin);
    *scale = f_mul(low_f16(both), i_to_f(of_d));
    *minimum = f_mul(high_f16(both), i_to_f(of_dmin));
}

HN_INLINE void unpack_q5_k(sixteen b, int g, int32_t *to)
{
    f32x16 scale, less;
    k_scales_at(b, g, &scale, &less);
    for (int i = 0; i < 8; i++) {
        const i32x16 both = bytes_at(b, 48 + g / 2 * 32 + 4 * i);
        const i32x16 fifth = single_bits(bytes_at(b, 16 + 4 * i), g);
        put_word(to, i, i_or(g % 2 ? high_nibbles(both) : low_nibbles(both), i_shl(fifth, 4)));
    }
    put_scale(to, 0, scale);
    put_scale(to, 1, f_neg(less));
}

HN_INLINE i32x16 two_q5_k(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    return with_fifth(low_nibbles(SHIFTED_TWICE(p + 48 + 16 * g, 0, 4)), single_bits(SHIFTED_TWICE(p + 16, g, 1), 0));
}

HN_INLINE void of_q5_k(const uint8_t *row, stretch *s) { k_scales_of_two(row, 176, s); }

#endif
