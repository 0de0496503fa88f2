/* Sums are of sixteen lanes in f32 within a block, and of blocks in double, in one fixed order (simd/row.h): so
 * every level gives the same bits. */
#include "kernels/reduce/reduce.h"

#include "kernels/simd/row.h"

#include <math.h>

HN_KERNEL_FN(sum_f32)
{
    double total;
    ROW_SUM(total, n, f_add(acc, ROW_LOAD(x)));
    *y = (float)total;
}

HN_KERNEL_FN(mean_f32)
{
    double total;
    ROW_SUM(total, n, f_add(acc, ROW_LOAD(x)));
    *y = (float)(total / (double)n);
}

static float largest(int64_t n, const float *x)
{
    const f32x16 lowest = f_set1(-HUGE_VALF);
    f32x16 top = lowest;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        top = f_max(f_load(x + i), top); /* a NaN is not greater, so `top` stays */
    if (i < n)
        top = f_max(f_select(m_first(n - i), f_load_n(x + i, n - i), lowest), top);
    return f_largest(top);
}

HN_KERNEL_FN(row_max_f32) { *y = largest(n, x); }

HN_KERNEL_FN(argmax_f32)
{
    const float top = largest(n, x);
    const f32x16 top_all = f_set1(top);
    int64_t i = 0;
    while (i + 16 <= n && !m_any(f_eq(f_load(x + i), top_all)))
        i += 16;
    while (i < n && x[i] != top)
        i++;
    *index = i < n ? (int32_t)i : 0;
}

HN_KERNEL_FN(cumsum_f32)
{
    float sum = 0.0f;
    for (int64_t i = 0; i < n; i++)
        y[i] = sum += x[i];
}

/* Whether a ranks before b when its index is the higher one. */
HN_INLINE bool beats(float a, float b) { return a > b || (a == a && b != b); }

static void insert(float value, int32_t at, int64_t filled, float *values, int32_t *indices)
{
    int64_t place = filled;
    for (; place > 0 && beats(value, values[place - 1]); place--) {
        values[place] = values[place - 1];
        indices[place] = indices[place - 1];
    }
    values[place] = value;
    indices[place] = at;
}

HN_KERNEL_FN(top_k_f32)
{
    int64_t i = 0;
    for (; i < k; i++)
        insert(x[i], (int32_t)i, i, values, indices);
    const float *last = values + (k - 1);
    while (i < n) {
        if (i + 16 <= n && *last == *last && !m_any(f_lt(f_set1(*last), f_load(x + i)))) {
            i += 16;
            continue;
        }
        const int64_t end = i + 16 < n ? i + 16 : n;
        for (; i < end; i++)
            if (beats(x[i], *last))
                insert(x[i], (int32_t)i, k - 1, values, indices);
    }
}

/* A square of an f32 is exact in double, so a fused and a plain sum agree. */
HN_KERNEL_FN(sum_squares_f32)
{
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        const int64_t end = at + ROW_BLOCK < n ? at + ROW_BLOCK : n;
        f64x16 acc = d_set1(0);
        int64_t i = at;
        for (; i + 16 <= end; i += 16) {
            const f64x16 v = d_from_f(f_load(x + i));
            acc = d_add(acc, d_mul(v, v));
        }
        if (i < end) {
            const f64x16 v = d_from_f(f_load_n(x + i, end - i));
            acc = d_add(acc, d_mul(v, v));
        }
        double lane[16];
        d_store(lane, acc);
        for (int half = 8; half; half /= 2)
            for (int l = 0; l < half; l++)
                lane[l] += lane[l + half];
        blocks[at / ROW_BLOCK] = lane[0];
    }
}

/* Eight rows at a time: few enough streams for a prefetcher, and `acc` passes an eighth as
 * often. */
HN_KERNEL_FN(sum_rows_f32)
{
    for (int64_t from = 0; from < rows; from += 8, x += 8 * n) {
        const int64_t count = rows - from < 8 ? rows - from : 8;
        int64_t j = 0;
        for (; j + 16 <= n; j += 16) {
            f32x16 sum = f_load(acc + j);
            for (int64_t row = 0; row < count; row++)
                sum = f_add(sum, f_load(x + row * n + j));
            f_store(acc + j, sum);
        }
        if (j < n) {
            f32x16 sum = f_load_n(acc + j, n - j);
            for (int64_t row = 0; row < count; row++)
                sum = f_add(sum, f_load_n(x + row * n + j, n - j));
            f_store_n(acc + j, sum, n - j);
        }
    }
}

HN_KERNEL_TABLE(reduce) = {
#define HN_KERNEL(slot) HN_KERNEL_ENTRY(slot)
#include "kernels/reduce/reduce.def"
#undef HN_KERNEL
};
