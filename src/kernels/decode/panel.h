/* panel.h: sixteen rows at once, one in each lane: the formulas of row.h. `x` is a block of
 * sixteen rows; byte i of theirs is at 16 i, one beside the other.
 *
 * Here are panels of scalars, and what formats share; panel_NAME of a block format is in kernels/formats/NAME.h. */
#ifndef HN_KERNELS_DECODE_PANEL_H
#define HN_KERNELS_DECODE_PANEL_H

#include "kernels/decode/row.h"

static inline void panel_f32(int64_t n, const void *x, float *y, int64_t ld)
{
    const float *from = x;
    for (int64_t p = 0; p < n; p++)
        memcpy(y + p * ld, from + 16 * p, 16 * sizeof *y);
}

static inline void panel_f16(int64_t n, const void *x, float *y, int64_t ld)
{
    for (int64_t p = 0; p < n; p++)
        halves_at((const uint8_t *)x + 32 * p, y + p * ld);
}

/* In words of two. */
static inline void panel_bf16(int64_t n, const void *x, float *y, int64_t ld)
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

/* A scale of six bits, its low four in the half `g / per` of `low` and its high two at 2 `at`
 * of `high`, less 32, times d. */
HN_INLINE f32x16 panel_six_bits(f32x16 d, i32x16 low, bool is_high_half, i32x16 high, int at)
{
    const i32x16 four = is_high_half ? i_shr(low, 4) : i_and(low, i_set1(15));
    const i32x16 six = i_or(four, i_shl(two_bits(high, at), 4));
    return f_mul(d, i_to_f(i_sub(six, i_set1(32))));
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

#endif
