/* row.h: a row of weights to f32, by the format's formula. No multiply-add is contracted: every
 * level rounds alike. Blocks lie as in src/quant/NAME.c. */
#ifndef HN_KERNELS_DECODE_ROW_H
#define HN_KERNELS_DECODE_ROW_H

#include "kernels/decode/lanes.h"

#include "base/half.h"

#include <string.h>

static inline float half_at(const uint8_t *x)
{
    uint16_t h;
    memcpy(&h, x, sizeof h);
#if defined(HN_LEVEL_avx2) || defined(HN_LEVEL_avx512)
    return _cvtsh_ss(h);
#else
    return hn_f16_to_f32(h);
#endif
}

static inline void halves_at(const uint8_t *x, float y[16]) { f_store(y, halves_f16(x)); }

static void row_f32(int64_t n, const void *x, float *y) { memcpy(y, x, (size_t)n * sizeof *y); }

static void row_f16(int64_t n, const void *x, float *y)
{
    const uint8_t *h = x;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        halves_at(h + 2 * i, y + i);
    for (; i < n; i++)
        y[i] = half_at(h + 2 * i);
}

static void row_bf16(int64_t n, const void *x, float *y)
{
    const uint8_t *bytes = x;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        f_store(y + i, f_from_bf16(h_load((const uint16_t *)(const void *)(bytes + 2 * i))));
    for (; i < n; i++) {
        uint16_t h;
        memcpy(&h, bytes + 2 * i, sizeof h);
        const uint32_t bits = (uint32_t)h << 16;
        memcpy(y + i, &bits, sizeof bits);
    }
}

static void row_q8_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 34) {
        const f32x16 d = f_set1(half_at(block));
        f_store(y + i, f_mul(i_to_f(bytes_i8(block + 2)), d));
        f_store(y + i + 16, f_mul(i_to_f(bytes_i8(block + 18)), d));
    }
}

static void row_q4_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 18) {
        const f32x16 d = f_set1(half_at(block));
        const i32x16 q = bytes_u8(block + 2);
        f_store(y + i, f_mul(nibble(q, -8), d));
        f_store(y + i + 16, f_mul(nibble(i_shr(q, 4), -8), d));
    }
}

/* Scale and minimum of sub-block j of a Q4_K block: six bits each, packed in twelve bytes. */
static inline int k_scale(const uint8_t *s, int j)
{
    return j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
}

static inline int k_min(const uint8_t *s, int j)
{
    return j < 4 ? s[j + 4] & 63 : (s[j + 4] >> 4) | (s[j] >> 6) << 4;
}

static void row_q4_k(int64_t n, const void *x, float *y)
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

static void row_q6_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 210) {
        const float d = half_at(block + 208);
        for (int h = 0; h < 2; h++)
            for (int is = 0; is < 2; is++) {
                const i32x16 a = bytes_u8(block + 64 * h + 16 * is);
                const i32x16 b = bytes_u8(block + 64 * h + 32 + 16 * is);
                const i32x16 top = bytes_u8(block + 128 + 32 * h + 16 * is);
                float *to = y + i + 128 * h + 16 * is;
                f32x16 scale[4];
                for (int g = 0; g < 4; g++)
                    scale[g] = f_set1(d * (float)(int8_t)block[192 + 8 * h + is + 2 * g]);
                f_store(to, f_mul(scale[0], six_bits(a, top, 0)));
                f_store(to + 32, f_mul(scale[1], six_bits(b, top, 1)));
                f_store(to + 64, f_mul(scale[2], six_bits(a, top, 2)));
                f_store(to + 96, f_mul(scale[3], six_bits(b, top, 3)));
            }
    }
}

static void row_q4_1(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 20) {
        const f32x16 d = f_set1(half_at(block)), m = f_set1(half_at(block + 2));
        const i32x16 q = bytes_u8(block + 4);
        f_store(y + i, f_add(f_mul(nibble(q, 0), d), m));
        f_store(y + i + 16, f_add(f_mul(nibble(i_shr(q, 4), 0), d), m));
    }
}

/* Sixteen whole numbers of four low bits each, with their fifth. */
HN_INLINE i32x16 five_bits(i32x16 low, uint32_t fifth)
{
    return i_or(low, i_select(bits_set(fifth), i_set1(16), i_set1(0)));
}

static void row_q5_0(int64_t n, const void *x, float *y)
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

static void row_q5_1(int64_t n, const void *x, float *y)
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

static void row_q2_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 84) {
        const float d = half_at(block + 80), dmin = half_at(block + 82);
        for (int g = 0; g < 16; g++) {
            const f32x16 step = f_set1(d * (float)(block[g] & 15));
            const f32x16 offset = f_set1(dmin * (float)(block[g] >> 4));
            const i32x16 q = bytes_u8(block + 16 + g / 8 * 32 + g % 2 * 16);
            f_store(y + i + 16 * g, f_sub(f_mul(step, i_to_f(two_bits(q, g / 2 % 4))), offset));
        }
    }
}

static void row_q3_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 110) {
        const float d = half_at(block + 108);
        const uint8_t *packed = block + 96;
        for (int g = 0; g < 16; g++) {
            const int low = packed[g % 8] >> (g / 8 * 4) & 15;
            const int high = packed[8 + g % 4] >> (g / 4 * 2) & 3;
            const f32x16 scale = f_set1(d * (float)((low | high << 4) - 32));
            const i32x16 q = bytes_u8(block + 32 + g / 8 * 32 + g % 2 * 16);
            const i32x16 third = bit_of(bytes_u8(block + g % 2 * 16), g / 2);
            f_store(y + i + 16 * g, f_mul(scale, three_bits(two_bits(q, g / 2 % 4), third)));
        }
    }
}

static void row_q5_k(int64_t n, const void *x, float *y)
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

static void row_iq4_nl(int64_t n, const void *x, float *y)
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

static void row_iq4_xs(int64_t n, const void *x, float *y)
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

static void row_mxfp4(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    const points_table table = points_load(fp4_points);
    for (int64_t i = 0; i < n; i += 32, block += 17) {
        const f32x16 d = f_set1(e8m0_half(block[0]));
        const i32x16 q = bytes_u8(block + 1);
        f_store(y + i, f_mul(d, points_at(&table, i_and(q, i_set1(15)))));
        f_store(y + i + 16, f_mul(d, points_at(&table, i_shr(q, 4))));
    }
}

static void row_nvfp4(int64_t n, const void *x, float *y)
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

/* `each` digits of `run` bytes, the first digits of all before the second. */
HN_INLINE float *trits(const uint8_t *q, int run, int each, float d, float *y)
{
    for (int t = 0, power = 1; t < each; t++, power *= 3, y += run)
        for (int m = 0; m < run; m++)
            y[m] = d * (float)((((q[m] * power) & 255) * 3 >> 8) - 1);
    return y;
}

static void row_tq1_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 54) {
        const float d = half_at(block + 52);
        y = trits(block, 32, 5, d, y);
        y = trits(block + 32, 16, 5, d, y);
        y = trits(block + 48, 4, 4, d, y);
    }
}

static void row_tq2_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 66) {
        const f32x16 d = f_set1(half_at(block + 64));
        for (int g = 0; g < 16; g++) {
            const i32x16 q = bytes_u8(block + g / 8 * 32 + g % 2 * 16);
            f_store(y + i + 16 * g, f_mul(d, i_to_f(i_sub(two_bits(q, g / 2 % 4), i_set1(1)))));
        }
    }
}

static void row_q1_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 128, block += 18) {
        const f32x16 d = f_set1(half_at(block)), minus = f_neg(d);
        for (int j = 0; j < 128; j += 16) {
            uint16_t bits;
            memcpy(&bits, block + 2 + j / 8, sizeof bits);
            f_store(y + i + j, i_float(i_select(bits_set(bits), f_bits(d), f_bits(minus))));
        }
    }
}

static void row_q2_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 64, block += 18) {
        const f32x16 d = f_set1(half_at(block));
        for (int j = 0; j < 64; j += 16) {
            uint32_t four;
            int32_t q[16];
            memcpy(&four, block + 2 + j / 4, sizeof four);
            for (int l = 0; l < 16; l++)
                q[l] = (int32_t)(four >> (2 * l) & 3) - 1;
            f_store(y + i + j, f_mul(i_to_f(i_load(q)), d));
        }
    }
}

#endif
