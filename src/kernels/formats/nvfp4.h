/* nvfp4.h: decoders of NVFP4 (src/quant/nvfp4.c): scales of sixteen from byte 0 on, nibbles that pick points from 4 on. */
#ifndef HN_KERNELS_FORMATS_NVFP4_H
#define HN_KERNELS_FORMATS_NVFP4_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

/* Half of what an E4M3 without a sign means; its NaN is zero. */
HN_INLINE float ue4m3_half(uint8_t code)
{
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    if (code == 0x7f)
        return 0;
    return exponent ? (float)(8 + mantissa) * (float)(1u << exponent) * 0x1p-11f
                    : (float)mantissa * 0x1p-10f;
}

static inline void row_nvfp4(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    const points_table table = points_load(fp4_points);
    for (int64_t i = 0; i < n; i += 64, block += 36)
        for (int g = 0; g < 4; g += 2) { /* bytes of two groups, eight each */
            const i32x16 q = bytes_u8(block + 4 + 8 * g);
            float low[16], high[16], *to = y + i + 16 * g;
            f_store(low, points_at(&table, i_and(q, i_set1(15))));
            f_store(high, points_at(&table, i_shr(q, 4)));
            for (int half = 0; half < 2; half++, to += 16) {
                const float scale = ue4m3_half(block[g + half]);
                for (int j = 0; j < 8; j++) {
                    to[j] = scale * low[8 * half + j];
                    to[j + 8] = scale * high[8 * half + j];
                }
            }
        }
}

static inline void panel_nvfp4(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    const points_table table = points_load(fp4_points);
    for (int64_t p = 0; p < n; p += 64, block += 16 * 36)
        for (int g = 0; g < 4; g++) {
            float scale[16];
            for (int row = 0; row < 16; row++)
                scale[row] = ue4m3_half(block[16 * g + row]);
            for (int j = 0; j < 8; j++) {
                const i32x16 both = bytes_u8(block + 16 * (4 + 8 * g + j));
                float *to = y + (p + 16 * g + j) * ld;
                f_store(to, f_mul(f_load(scale), points_at(&table, i_and(both, i_set1(15)))));
                f_store(to + 8 * ld, f_mul(f_load(scale), points_at(&table, i_shr(both, 4))));
            }
        }
}

/* As ue4m3_half: 2^(e - 8) (1 + m / 8), or m 2^-10. */
HN_INLINE f32x16 e4m3_halves(i32x16 code)
{
    const i32x16 e = i_and(i_shr(code, 3), i_set1(15)), m = i_and(code, i_set1(7));
    const f32x16 normal = i_float(i_or(i_shl(i_add(e, i_set1(119)), 23), i_shl(m, 20)));
    const f32x16 value = f_select(i_eq(e, i_set1(0)), f_mul(i_to_f(m), f_set1(0x1p-10f)), normal);
    return f_select(i_eq(code, i_set1(0x7f)), f_zero(), value);
}

HN_INLINE void unpack_nvfp4(sixteen b, int g, int32_t *to)
{
    for (int half = 0; half < 2; half++) {
        const int run = 2 * g + half;
        put_scale(to, half, e4m3_halves(u8_at(b, run)));
        for (int i = 0; i < 2; i++) { /* eight elements in low nibbles, then eight in high ones */
            const i32x16 both = bytes_at(b, 4 + 8 * run + 4 * i);
            put_word(to, 4 * half + i, look_bytes(fp4_bytes, low_nibbles(both)));
            put_word(to, 4 * half + 2 + i, look_bytes(fp4_bytes, high_nibbles(both)));
        }
    }
}

HN_INLINE i32x16 two_nvfp4(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q, (void)g;
    return look_bytes(fp4_bytes, low_nibbles(shift_right(each_8_twice(p + 4), BY_EIGHT(0, 4))));
}

HN_INLINE uint64_t runs_of_two(const uint8_t *p) { return four_at(p) | (uint64_t)four_at(p + 36) << 32; }

HN_INLINE void of_nvfp4(const uint8_t *row, stretch *s)
{
    const i32x16 both = sixteen_pairs(runs_of_two(row), runs_of_two(row + 72), runs_of_two(row + 144), runs_of_two(row + 216));
    s->factor[0] = e4m3_halves(low_byte(both));
    s->factor[1] = e4m3_halves(high_byte(both));
}

#endif
