/* Two passes: the sums, then the map. A row of a model fits the first-level cache. */
#include "kernels/norm/norm.h"

#include "kernels/simd/row.h"

#include <math.h>

HN_KERNEL_FN(rms_norm_f32)
{
    double sum;
    const row_ahead a = row_ahead_of(n, streams);
    ROW_SUM(sum, n, (row_fetch_first(a, x, y, i), f_fma(ROW_LOAD(x), ROW_LOAD(x), acc)));
    const float r = (float)(1 / sqrt(sum / (double)n + (double)eps));
    const f32x16 r_all = f_set1(r);
    if (gain)
        ROW_MAP_OUT(y, n, streams,
                    (row_fetch_rest(a, x, i), f_mul(f_mul(ROW_LOAD(x), r_all), ROW_LOAD(gain))));
    else
        ROW_MAP_OUT(y, n, streams, (row_fetch_rest(a, x, i), f_mul(ROW_LOAD(x), r_all)));
    if (stats)
        *stats = r;
}

/* u = dy gain:  dx = r u - x r^3 mean(u x). */
HN_KERNEL_FN(rms_norm_grad_f32)
{
    double squares, along;
    const row_ahead a = row_ahead_of(n, streams);
#define SQUARES                                                                                \
    (row_fetch_first(a, x, dx, i), row_fetch_first(a, dy, dx, i),                              \
     f_fma(ROW_LOAD(x), ROW_LOAD(x), acc))
    if (gain)
        ROW_SUM2(squares, along, n, SQUARES,
                 f_fma(f_mul(ROW_LOAD(dy), ROW_LOAD(gain)), ROW_LOAD(x), acc2));
    else
        ROW_SUM2(squares, along, n, SQUARES, f_fma(ROW_LOAD(dy), ROW_LOAD(x), acc2));
#undef SQUARES
    const double r = 1 / sqrt(squares / (double)n + (double)eps);
    const f32x16 r_all = f_set1((float)r);
    const f32x16 back = f_set1((float)(-r * r * r * (along / (double)n)));
#define DX(u)                                                                                  \
    (row_fetch_rest(a, x, i), row_fetch_rest(a, dy, i),                                        \
     f_fma(back, ROW_LOAD(x), f_mul((u), r_all)))
    if (gain)
        ROW_MAP_OUT(dx, n, streams, DX(f_mul(ROW_LOAD(dy), ROW_LOAD(gain))));
    else
        ROW_MAP_OUT(dx, n, streams, DX(ROW_LOAD(dy)));
#undef DX
    if (stats)
        *stats = (float)r;
}

/* Eight rows at a time: few enough streams for a prefetcher, and `acc` passes an eighth as
 * often. */
HN_KERNEL_FN(rms_norm_gain_grad_f32)
{
    for (int64_t from = 0; from < rows; from += 8)
        for (int64_t i = 0; i < n; i += 16) {
            const bool row_whole = i + 16 <= n;
            const int64_t row_end = n;
            f32x16 sum = ROW_LOAD(acc);
            for (int64_t row = from; row < rows && row < from + 8; row++) {
                const f32x16 xhat = f_mul(ROW_LOAD(x + row * n), f_set1(stats[row]));
                sum = f_fma(ROW_LOAD(dy + row * n), xhat, sum);
            }
            if (row_whole)
                f_store(acc + i, sum);
            else
                f_store_n(acc + i, sum, n - i);
        }
}

/* (x - mean)^2 of elements that exist; a lane past the end must add zero. */
#define CENTERED(x) row_masked(f_sub(ROW_LOAD(x), mean_all), row_whole, row_end - i)

HN_INLINE f32x16 row_masked(f32x16 v, bool is_whole, int64_t left)
{
    return is_whole ? v : f_select(m_first(left), v, f_zero());
}

/* Asks for the output, where it is `to`, on the way, and for the first third of the row to come; where
 * there is none for all of that row. */
static double mean_and_scale(int64_t n, const float *x, float eps, const float *to, float *mean)
{
    double sum, squares;
    if (!to)
        ROW_SUM(sum, n, (row_fetch(x, n + (n + i) / 2), f_add(acc, ROW_LOAD(x))));
    else
        ROW_SUM(sum, n, (row_fetch(to, i * 2 / 3), f_add(acc, ROW_LOAD(x))));
    *mean = (float)(sum / (double)n);
    const f32x16 mean_all = f_set1(*mean);
    if (!to)
        ROW_SUM(squares, n, (row_fetch(x, n + i / 2), f_fma(CENTERED(x), CENTERED(x), acc)));
    else
        ROW_SUM(squares, n,
                (row_fetch(to, (2 * n + i) / 3), row_fetch(x, n + i / 3),
                 f_fma(CENTERED(x), CENTERED(x), acc)));
    return 1 / sqrt(squares / (double)n + (double)eps);
}

HN_KERNEL_FN(layer_norm_f32)
{
    float mean;
    const float r = (float)mean_and_scale(n, x, eps, streams ? NULL : y, &mean);
    const f32x16 mean_all = f_set1(mean), r_all = f_set1(r);
#define XHAT (row_fetch(x, n + (n + 2 * i) / 3), f_mul(f_sub(ROW_LOAD(x), mean_all), r_all))
    if (gain && bias)
        ROW_MAP_OUT(y, n, streams, f_fma(XHAT, ROW_LOAD(gain), ROW_LOAD(bias)));
    else if (gain)
        ROW_MAP_OUT(y, n, streams, f_mul(XHAT, ROW_LOAD(gain)));
    else if (bias)
        ROW_MAP_OUT(y, n, streams, f_add(XHAT, ROW_LOAD(bias)));
    else
        ROW_MAP_OUT(y, n, streams, XHAT);
#undef XHAT
    if (stats)
        stats[0] = mean, stats[1] = r;
}

/* u = dy gain:  dx = r (u - mean(u)) - (x - m) r^3 mean(u (x - m)). */
HN_KERNEL_FN(layer_norm_grad_f32)
{
    float mean;
    const double r = mean_and_scale(n, x, eps, streams ? NULL : dx, &mean);
    const f32x16 mean_all = f_set1(mean), r_all = f_set1((float)r);
    double level, along;
    if (gain)
        ROW_SUM2(level, along, n, f_fma(ROW_LOAD(dy), ROW_LOAD(gain), acc),
                 f_fma(f_mul(ROW_LOAD(dy), ROW_LOAD(gain)), CENTERED(x), acc2));
    else
        ROW_SUM2(level, along, n, f_add(acc, ROW_LOAD(dy)),
                 f_fma(ROW_LOAD(dy), CENTERED(x), acc2));
    const f32x16 level_all = f_set1((float)(level / (double)n));
    const f32x16 back = f_set1((float)(-r * r * r * (along / (double)n)));
#define DX(u)                                                                                  \
    (row_fetch(x, n + (n + 2 * i) / 3), row_fetch(dy, i + n),                                  \
     f_fma(back, f_sub(ROW_LOAD(x), mean_all), f_mul(f_sub((u), level_all), r_all)))
    if (gain)
        ROW_MAP_OUT(dx, n, streams, DX(f_mul(ROW_LOAD(dy), ROW_LOAD(gain))));
    else
        ROW_MAP_OUT(dx, n, streams, DX(ROW_LOAD(dy)));
#undef DX
    if (stats)
        stats[0] = mean, stats[1] = (float)r;
}

HN_KERNEL_FN(layer_norm_gain_grad_f32)
{
    for (int64_t from = 0; from < rows; from += 8)
        for (int64_t i = 0; i < n; i += 16) {
            const bool row_whole = i + 16 <= n;
            const int64_t row_end = n;
            f32x16 sum = ROW_LOAD(acc);
            for (int64_t row = from; row < rows && row < from + 8; row++) {
                const f32x16 mean = f_set1(stats[2 * row]), r = f_set1(stats[2 * row + 1]);
                const f32x16 xhat = f_mul(f_sub(ROW_LOAD(x + row * n), mean), r);
                sum = f_fma(ROW_LOAD(dy + row * n), xhat, sum);
            }
            if (row_whole)
                f_store(acc + i, sum);
            else
                f_store_n(acc + i, sum, n - i);
        }
}

HN_KERNEL_FN(l2_norm_f32)
{
    double squares;
    ROW_SUM(squares, n, (row_fetch(y, i), f_fma(ROW_LOAD(x), ROW_LOAD(x), acc)));
    const double length = sqrt(squares), floor = (double)eps;
    const f32x16 r = f_set1((float)(1 / (length > floor ? length : floor)));
    ROW_MAP(y, n, (row_fetch(x, i + n), f_mul(ROW_LOAD(x), r)));
}

/* dx = r dy - x r^3 sum(x dy); below eps the divisor is constant and the second term is not
 * there. */
HN_KERNEL_FN(l2_norm_grad_f32)
{
    double squares, along;
    ROW_SUM2(squares, along, n, (row_fetch(dx, i), f_fma(ROW_LOAD(x), ROW_LOAD(x), acc)),
             f_fma(ROW_LOAD(dy), ROW_LOAD(x), acc2));
    const double length = sqrt(squares), floor = (double)eps;
    const double r = 1 / (length > floor ? length : floor);
    const f32x16 r_all = f_set1((float)r);
    const f32x16 back = f_set1(length > floor ? (float)(-r * r * r * along) : 0.0f);
    ROW_MAP(dx, n,
            (row_fetch(x, i + n), row_fetch(dy, i + n),
             f_fma(back, ROW_LOAD(x), f_mul(ROW_LOAD(dy), r_all))));
}

HN_KERNEL_TABLE(norm) = {
#define HN_KERNEL(slot) HN_KERNEL_ENTRY(slot)
#include "kernels/norm/norm.def"
#undef HN_KERNEL
};
