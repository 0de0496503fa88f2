/* panel.h: sixteen rows at once, one in each lane: the formulas of row.h. `x` is a block of
 * sixteen rows; byte i of theirs is at 16 i, one beside the other. */
#ifndef HN_KERNELS_DECODE_PANEL_H
#define HN_KERNELS_DECODE_PANEL_H

#include "kernels/decode/row.h"

static void panel_f32(int64_t n, const void *x, float *y, int64_t ld)
{
    const float *from = x;
    for (int64_t p = 0; p < n; p++)
        memcpy(y + p * ld, from + 16 * p, 16 * sizeof *y);
}

static void panel_f16(int64_t n, const void *x, float *y, int64_t ld)
{
    for (int64_t p = 0; p < n; p++)
        halves_at((const uint8_t *)x + 32 * p, y + p * ld);
}

/* In words of two. */
static void panel_bf16(int64_t n, const void *x, float *y, int64_t ld)
{
    const i32x16 high = i_set1((int32_t)0xffff0000u);
    int64_t p = 0;
    for (; p + 4 <= n; p += 4)
        for (int i = 0; i < 2; i++) {
            const i32x16 two = words((const uint8_t *)x + 32 * p, i);
            f_store(y + (p + i) * ld, i_float(i_and(two, high)));
            f_store(y + (p + i + 2) * ld, i_float(i_shl(two, 16)));
        }
    for (; p < n; p++)
        row_bf16(16, (const uint8_t *)x + 32 * p, y + p * ld);
}

/* In words of four bytes. */
static void panel_q8_0(int64_t n, const void *x, float *y, int64_t ld)
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

static void panel_q4_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 32, block += 16 * 18) {
        const f32x16 d = halves_f16(block);
        for (int j = 0; j < 16; j++) {
            const i32x16 q = bytes_u8(block + 32 + 16 * j);
            f_store(y + (p + j) * ld, f_mul(nibble(q, -8), d));
            f_store(y + (p + 16 + j) * ld, f_mul(nibble(i_shr(q, 4), -8), d));
        }
    }
}

/* In words of four bytes. */
static void panel_q4_k(int64_t n, const void *x, float *y, int64_t ld)
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

static void panel_q6_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 210)
        for (int part = 0; part < 4; part++) { /* half and group of sixteen */
            const int h = part >> 1, is = part & 1;
            const f32x16 d = halves_f16(block + 16 * 208);
            f32x16 scale[4];
            for (int g = 0; g < 4; g++)
                scale[g] = f_mul(d, i_to_f(bytes_i8(block + 16 * (192 + 8 * h + is + 2 * g))));
            for (int i = 0; i < 16; i++) {
                const i32x16 a = bytes_u8(block + 16 * (64 * h + 16 * is + i));
                const i32x16 b = bytes_u8(block + 16 * (64 * h + 32 + 16 * is + i));
                const i32x16 top = bytes_u8(block + 16 * (128 + 32 * h + 16 * is + i));
                float *to = y + (p + 128 * h + 16 * is + i) * ld;
                f_store(to, f_mul(scale[0], six_bits(a, top, 0)));
                f_store(to + 32 * ld, f_mul(scale[1], six_bits(b, top, 1)));
                f_store(to + 64 * ld, f_mul(scale[2], six_bits(a, top, 2)));
                f_store(to + 96 * ld, f_mul(scale[3], six_bits(b, top, 3)));
            }
        }
}

static void panel_q4_1(int64_t n, const void *x, float *y, int64_t ld)
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

/* Elements j and j + 16 of a block of five bits. */
HN_INLINE void panel_five_bits(const uint8_t *high, const uint8_t *low, int j, i32x16 q[2])
{
    const i32x16 both = bytes_u8(low + 16 * j);
    const i32x16 first = bit_of(bytes_u8(high + j / 8 * 16), j % 8);
    const i32x16 second = bit_of(bytes_u8(high + (2 + j / 8) * 16), j % 8);
    q[0] = i_or(i_and(both, i_set1(15)), i_shl(first, 4));
    q[1] = i_or(i_shr(both, 4), i_shl(second, 4));
}

/* In words of four bytes, the first of which is the fifth bits. */
static void panel_q5_0(int64_t n, const void *x, float *y, int64_t ld)
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

static void panel_q5_1(int64_t n, const void *x, float *y, int64_t ld)
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

static void panel_q2_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 84) {
        const f32x16 d = halves_f16(block + 16 * 80), dmin = halves_f16(block + 16 * 82);
        for (int g = 0; g < 16; g++) {
            const i32x16 packed = bytes_u8(block + 16 * g);
            const f32x16 step = f_mul(d, nibble(packed, 0));
            const f32x16 offset = f_mul(dmin, nibble(i_shr(packed, 4), 0));
            for (int l = 0; l < 16; l++) {
                const i32x16 q = bytes_u8(block + 16 * (16 + g / 8 * 32 + g % 2 * 16 + l));
                f_store(y + (p + 16 * g + l) * ld,
                        f_sub(f_mul(step, i_to_f(two_bits(q, g / 2 % 4))), offset));
            }
        }
    }
}

/* A scale of six bits, its low four in the half `g / per` of `low` and its high two at 2 `at`
 * of `high`, less 32, times d. */
HN_INLINE f32x16 panel_six_bits(f32x16 d, i32x16 low, bool is_high_half, i32x16 high, int at)
{
    const i32x16 four = is_high_half ? i_shr(low, 4) : i_and(low, i_set1(15));
    const i32x16 six = i_or(four, i_shl(two_bits(high, at), 4));
    return f_mul(d, i_to_f(i_sub(six, i_set1(32))));
}

static void panel_q3_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 110) {
        const f32x16 d = halves_f16(block + 16 * 108);
        const uint8_t *packed = block + 16 * 96;
        for (int g = 0; g < 16; g++) {
            const f32x16 scale = panel_six_bits(d, bytes_u8(packed + 16 * (g % 8)), g >= 8,
                                                bytes_u8(packed + 16 * (8 + g % 4)), g / 4);
            for (int l = 0; l < 16; l++) {
                const i32x16 q = bytes_u8(block + 16 * (32 + g / 8 * 32 + g % 2 * 16 + l));
                const i32x16 third = bit_of(bytes_u8(block + 16 * (g % 2 * 16 + l)), g / 2);
                f_store(y + (p + 16 * g + l) * ld,
                        f_mul(scale, three_bits(two_bits(q, g / 2 % 4), third)));
            }
        }
    }
}

static void panel_q5_k(int64_t n, const void *x, float *y, int64_t ld)
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

/* 32 elements that pick from sixteen points, byte j with elements j and j + 16. */
HN_INLINE void panel_points(const points_table *table, const uint8_t *q, f32x16 scale, float *y,
                            int64_t ld)
{
    for (int j = 0; j < 16; j++) {
        const i32x16 both = bytes_u8(q + 16 * j);
        f_store(y + j * ld, f_mul(scale, points_at(table, i_and(both, i_set1(15)))));
        f_store(y + (j + 16) * ld, f_mul(scale, points_at(table, i_shr(both, 4))));
    }
}

static void panel_iq4_nl(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    const points_table table = points_load(iq4_points);
    for (int64_t p = 0; p < n; p += 32, block += 16 * 18)
        panel_points(&table, block + 32, halves_f16(block), y + p * ld, ld);
}

static void panel_iq4_xs(int64_t n, const void *x, float *y, int64_t ld)
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

static void panel_mxfp4(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    const points_table table = points_load(fp4_points);
    for (int64_t p = 0; p < n; p += 32, block += 16 * 17) {
        float d[16];
        for (int row = 0; row < 16; row++)
            d[row] = e8m0_half(block[row]);
        panel_points(&table, block + 16, f_load(d), y + p * ld, ld);
    }
}

static void panel_nvfp4(int64_t n, const void *x, float *y, int64_t ld)
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

/* `each` digits of `run` bytes, as in row.h. */
HN_INLINE void panel_trits(const uint8_t *q, int run, int each, f32x16 d, float *y, int64_t ld)
{
    for (int m = 0; m < run; m++) {
        i32x16 rest = bytes_u8(q + 16 * m);
        for (int t = 0; t < each; t++) {
            const i32x16 thrice = i_add(rest, i_add(rest, rest));
            f_store(y + (t * run + m) * ld,
                    f_mul(d, i_to_f(i_sub(i_shr(thrice, 8), i_set1(1)))));
            rest = i_and(thrice, i_set1(255));
        }
    }
}

static void panel_tq1_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 54) {
        const f32x16 d = halves_f16(block + 16 * 52);
        panel_trits(block, 32, 5, d, y + p * ld, ld);
        panel_trits(block + 16 * 32, 16, 5, d, y + (p + 160) * ld, ld);
        panel_trits(block + 16 * 48, 4, 4, d, y + (p + 240) * ld, ld);
    }
}

static void panel_tq2_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 66) {
        const f32x16 d = halves_f16(block + 16 * 64);
        for (int m = 0; m < 64; m++) {
            const i32x16 q = bytes_u8(block + 16 * m);
            for (int s = 0; s < 4; s++)
                f_store(y + (p + m / 32 * 128 + 32 * s + m % 32) * ld,
                        f_mul(d, i_to_f(i_sub(two_bits(q, s), i_set1(1)))));
        }
    }
}

static void panel_q1_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 128, block += 16 * 18) {
        const i32x16 minus = f_bits(f_neg(halves_f16(block)));
        for (int j = 0; j < 128; j++) { /* a set bit turns the sign */
            const i32x16 bit = bit_of(bytes_u8(block + 32 + j / 8 * 16), j % 8);
            f_store(y + (p + j) * ld, i_float(i_xor(minus, i_shl(bit, 31))));
        }
    }
}

static void panel_q2_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 64, block += 16 * 18) {
        const f32x16 d = halves_f16(block);
        for (int m = 0; m < 16; m++) {
            const i32x16 q = bytes_u8(block + 32 + 16 * m);
            for (int s = 0; s < 4; s++)
                f_store(y + (p + 4 * m + s) * ld,
                        f_mul(i_to_f(i_sub(two_bits(q, s), i_set1(1))), d));
        }
    }
}

#endif
