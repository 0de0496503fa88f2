/* Three passes: maximum, exponentials and their sum, scaling. */
#include "kernels/softmax/softmax.h"

#include "kernels/simd/math_f32.h"
#include "kernels/simd/row.h"

#include <math.h>

HN_INLINE f32x16 scaled(f32x16 x, f32x16 scale, const float *mask, int64_t i, int64_t left)
{
    if (!mask)
        return f_mul(x, scale);
    return f_fma(x, scale, left < 16 ? f_load_n(mask + i, left) : f_load(mask + i));
}

HN_INLINE f32x16 exp_of_negative(f32x16 x) { return f_exp_below(f_max(f_set1(-110.0f), x)); }

/* Asks for the first third of `to`, where it is not NULL. */
HN_INLINE float largest(int64_t n, const float *x, float scale, const float *mask,
                        const float *to)
{
    const f32x16 scale_all = f_set1(scale), lowest = f_set1(-HUGE_VALF);
    f32x16 top = lowest;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        if (to)
            row_fetch(to, i / 3);
        top = f_max(scaled(f_load(x + i), scale_all, mask, i, 16), top);
    }
    if (i < n) {
        const f32x16 z = scaled(f_load_n(x + i, n - i), scale_all, mask, i, n - i);
        top = f_max(f_select(m_first(n - i), z, lowest), top);
    }
    return f_largest(top);
}

/* y = exp(z - top), and the sum of y. y == NULL: the sum alone. Asks for the rest of y and most of the row to
 * come: memory has as much to do in each pass as it takes. */
HN_INLINE double exponentials(int64_t n, const float *x, float scale, const float *mask,
                              float top, float *y)
{
    const f32x16 scale_all = f_set1(scale), top_all = f_set1(top);
    double sum = 0;
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        const int64_t end = at + ROW_BLOCK < n ? at + ROW_BLOCK : n;
        f32x16 acc = f_zero();
        int64_t i = at;
        for (; i + 16 <= end; i += 16) {
            if (y)
                row_fetch(y, (n + 2 * i) / 3);
            row_fetch(x, n + (y ? 2 * i / 3 : i));
            const f32x16 z = scaled(f_load(x + i), scale_all, mask, i, 16);
            const f32x16 e = exp_of_negative(f_sub(z, top_all));
            acc = f_add(acc, e);
            if (y)
                f_store(y + i, e);
        }
        if (i < end) {
            const f32x16 z = scaled(f_load_n(x + i, end - i), scale_all, mask, i, end - i);
            f32x16 e = exp_of_negative(f_sub(z, top_all));
            e = f_select(m_first(end - i), e, f_zero());
            acc = f_add(acc, e);
            if (y)
                f_store_n(y + i, e, end - i);
        }
        sum += (double)f_sum(acc);
    }
    return sum;
}

HN_KERNEL_FN(softmax_f32)
{
    const float sink_value = sink ? *sink : -HUGE_VALF; /* y may be its storage */
    float top = largest(n, x, scale, mask, y);
    if (sink_value > top)
        top = sink_value;
    if (top == -HUGE_VALF) { /* zeros, but a NaN must not be hidden */
        const f32x16 scale_all = f_set1(scale), lowest = f_set1(-HUGE_VALF);
#define Z scaled(ROW_LOAD(x), scale_all, mask, i, row_end - i)
        ROW_MAP(y, n, f_select(f_eq(Z, lowest), f_zero(), Z));
#undef Z
        return;
    }
    double sum = mask ? exponentials(n, x, scale, mask, top, y)
                      : exponentials(n, x, scale, NULL, top, y);
    if (sink)
        sum += hn_math_exp((double)sink_value - (double)top);
    const f32x16 share = f_set1((float)(1 / sum));
    ROW_MAP(y, n, (row_fetch(x, n + (2 * n + i) / 3), f_mul(ROW_LOAD(y), share)));
}

/* Three rows are on their way at once, so that memory is asked evenly: the exponentials of one are taken where
 * those of the row before were kept, which leave for the output, and the row after comes for its maximum, if
 * `is_short` in the same pass: longer ones have no room together. Returns the sum. */
HN_INLINE double exchange(int64_t n, const float *x, float scale, float top, float *room,
                          f32x16 share, float *before, const float *next, float *next_top,
                          const bool is_short)
{
    const f32x16 scale_all = f_set1(scale), top_all = f_set1(top);
    f32x16 most = f_set1(-HUGE_VALF);
    double sum = 0;
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        const int64_t end = at + ROW_BLOCK < n ? at + ROW_BLOCK : n;
        f32x16 acc = f_zero();
        for (int64_t i = at; i < end; i += 16) {
            const f32x16 z = f_mul(f_load(x + i), scale_all);
            const f32x16 e = exp_of_negative(f_sub(z, top_all));
            acc = f_add(acc, e);
            if (is_short)
                most = f_max(f_mul(f_load(next + i), scale_all), most);
            else
                row_fetch(next, i);
            if (before)
                f_stream(before + i, f_mul(f_load(room + i), share));
            f_store(room + i, e);
        }
        sum += (double)f_sum(acc);
    }
    *next_top = is_short ? f_largest(most) : largest(n, next, scale, NULL, NULL);
    return sum;
}

HN_INLINE void rows_in_flight(int64_t rows, int64_t n, const float *x, float scale, float *y,
                              float *room, const bool is_short)
{
    float top = largest(n, x, scale, NULL, NULL), next_top = 0;
    f32x16 share = f_zero();
    float *before = NULL;
    for (int64_t row = 0; row < rows; row++, x += n, y += n, top = next_top) {
        const float *next = row + 1 < rows ? x + n : x;
        const double sum =
            before ? exchange(n, x, scale, top, room, share, before, next, &next_top, is_short)
                   : exchange(n, x, scale, top, room, share, NULL, next, &next_top, is_short);
        share = f_set1((float)(1 / sum));
        before = top == -HUGE_VALF ? NULL : y;
        if (!before)
            HN_KERNEL_NAME(softmax_f32)(n, x, scale, NULL, NULL, y);
    }
    if (before)
        ROW_MAP_OUT(before, n, true, f_mul(ROW_LOAD(room), share));
}

HN_KERNEL_FN(softmax_rows_f32)
{
    enum { SHORT = 1536 };
    if (n <= SHORT)
        rows_in_flight(rows, n, x, scale, y, room, true);
    else
        rows_in_flight(rows, n, x, scale, y, room, false);
}

HN_KERNEL_FN(softmax_grad_f32)
{
    double along;
    const row_ahead a = row_ahead_of(n, streams);
    ROW_SUM(along, n,
            (row_fetch_first(a, y, dx, i), row_fetch_first(a, dy, dx, i),
             f_fma(ROW_LOAD(y), ROW_LOAD(dy), acc)));
    const f32x16 along_all = f_set1((float)along), scale_all = f_set1(scale);
    ROW_MAP_OUT(dx, n, streams,
                (row_fetch_rest(a, y, i), row_fetch_rest(a, dy, i),
                 f_mul(f_mul(ROW_LOAD(y), scale_all), f_sub(ROW_LOAD(dy), along_all))));
}

/* The sum of exp(x - top) where nothing is above top == -inf: 0, or NaN if there is one. */
static double sum_of_nothing(int64_t n, const float *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum = x[i] == x[i] ? sum : (double)x[i];
    return sum;
}

HN_KERNEL_FN(logsumexp_f32)
{
    const float top = largest(n, x, 1.0f, NULL, NULL);
    const double sum =
        top == -HUGE_VALF ? sum_of_nothing(n, x) : exponentials(n, x, 1.0f, NULL, top, NULL);
    *y = sum == 0 ? top : (float)((double)top + hn_math_log(sum));
}

HN_KERNEL_FN(softmax_join_f32)
{
    const float tile = largest(n, x, 1.0f, NULL, NULL), before = *maximum;
    const float top = before > tile ? before : tile;
    if (top == -HUGE_VALF) {
        *sum += sum_of_nothing(n, x);
        return;
    }
    const double kept = *sum * hn_math_exp((double)before - (double)top);
    *sum = kept + exponentials(n, x, 1.0f, NULL, top, NULL);
    *maximum = top;
}

HN_KERNEL_FN(softmax_tile_grad_f32)
{
    const f32x16 lse_all = f_set1(lse), scale_all = f_set1(scale);
    const float wanted = target >= 0 && target < n ? x[target] : 0.0f; /* y may be x */
    ROW_MAP(y, n, f_mul(f_exp(f_sub(ROW_LOAD(x), lse_all)), scale_all));
    if (target >= 0 && target < n) {
        float one[16];
        f_store(one,
                f_mul(f_sub(f_exp(f_sub(f_set1(wanted), lse_all)), f_set1(1.0f)), scale_all));
        y[target] = one[0];
    }
}

HN_KERNEL_TABLE(softmax) = {
#define HN_KERNEL(slot) HN_KERNEL_ENTRY(slot)
#include "kernels/softmax/softmax.def"
#undef HN_KERNEL
};
