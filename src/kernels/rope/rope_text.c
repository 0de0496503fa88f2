/* The two layouts differ in where the second of a pair lies. */
#include "kernels/rope/rope.h"

#include "kernels/simd/f32x16.h"

#include <string.h>

HN_INLINE void rotate(f32x16 *a, f32x16 *b, f32x16 c, f32x16 s)
{
    const f32x16 turned = f_fma(*a, c, f_neg(f_mul(*b, s)));
    *b = f_fma(*b, c, f_mul(*a, s));
    *a = turned;
}

/* What lies outside first .. first + n_rot - 1. */
static void copy_rest(int64_t head_dim, int64_t first, int64_t n_rot, const float *x, float *y)
{
    if (x == y)
        return;
    const int64_t after = first + n_rot;
    if (first > 0)
        memcpy(y, x, (size_t)first * sizeof *y);
    if (after < head_dim)
        memcpy(y + after, x + after, (size_t)(head_dim - after) * sizeof *y);
}

HN_KERNEL_FN(rope_halves_f32)
{
    const int64_t half = n_rot / 2;
    const f32x16 turn = f_set1(direction);
    for (int64_t head = 0; head < n_heads; head++, x += head_dim, y += head_dim) {
        const float *xa = x + first, *xb = xa + half;
        float *ya = y + first, *yb = ya + half;
        copy_rest(head_dim, first, n_rot, x, y);
        int64_t i = 0;
        for (; i + 16 <= half; i += 16) {
            f32x16 a = f_load(xa + i), b = f_load(xb + i);
            rotate(&a, &b, f_load(cos + i), f_mul(f_load(sin + i), turn));
            f_store(ya + i, a);
            f_store(yb + i, b);
        }
        if (i < half) {
            const int64_t left = half - i;
            f32x16 a = f_load_n(xa + i, left), b = f_load_n(xb + i, left);
            rotate(&a, &b, f_load_n(cos + i, left), f_mul(f_load_n(sin + i, left), turn));
            f_store_n(ya + i, a, left);
            f_store_n(yb + i, b, left);
        }
    }
}

HN_KERNEL_FN(rope_pairs_f32)
{
    const int64_t half = n_rot / 2;
    const f32x16 turn = f_set1(direction);
    for (int64_t head = 0; head < n_heads; head++, x += head_dim, y += head_dim) {
        const float *from = x + first;
        float *to = y + first;
        copy_rest(head_dim, first, n_rot, x, y);
        int64_t i = 0;
        f32x16 a, b;
        for (; i + 16 <= half; i += 16) {
            f_load_pairs(from + 2 * i, &a, &b);
            rotate(&a, &b, f_load(cos + i), f_mul(f_load(sin + i), turn));
            f_store_pairs(to + 2 * i, a, b);
        }
        if (i < half) {
            const int64_t left = half - i;
            float whole[32] = { 0 };
            memcpy(whole, from + 2 * i, (size_t)left * 2 * sizeof *whole);
            f_load_pairs(whole, &a, &b);
            rotate(&a, &b, f_load_n(cos + i, left), f_mul(f_load_n(sin + i, left), turn));
            f_store_pairs(whole, a, b);
            memcpy(to + 2 * i, whole, (size_t)left * 2 * sizeof *whole);
        }
    }
}

HN_KERNEL_TABLE(rope) = {
#define HN_KERNEL(slot) HN_KERNEL_ENTRY(slot)
#include "kernels/rope/rope.def"
#undef HN_KERNEL
};
