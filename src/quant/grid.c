/* For fixed points q the best scale is <x, q> / <q, q>; for a fixed scale the best points are
 * the nearest. Each candidate puts the largest number at one of the grid's spans; the best of
 * them is refined by turns of the two. Sums run in HN_LANES chains, so that they are the same
 * whatever vectors a compiler makes of them. */
#include "quant/grid.h"

#include "base/half.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static inline hn_four points_at(const hn_grid *grid, bool is_table, const float *x,
                                float inverse)
{
    hn_four v = hn_four_within(hn_four_at(x), inverse, grid->low, grid->high);
    if (!is_table)
        return hn_four_nearest(v);
    v = v * 2 + 256;
    return (hn_four){ grid->cells[(int)v[0]], grid->cells[(int)v[1]], grid->cells[(int)v[2]],
                      grid->cells[(int)v[3]] };
}

void hn_grid_nearest(const hn_grid *grid, const hn_samples *samples, int from, int n,
                     float inverse, float *q)
{
    for (int i = 0; i < n; i += 4) {
        const hn_four four = points_at(grid, grid->cells, samples->x + from + i, inverse);
        memcpy(q + i, &four, sizeof four);
    }
}

/* With constants for n and is_table the loop is straight. */
static inline __attribute__((always_inline)) hn_grid_sums
sum_points(const hn_grid *grid, bool is_table, const hn_samples *samples, int from, int n,
           float inverse)
{
    hn_four xq[2] = { { 0 }, { 0 } }, qq[2] = { { 0 }, { 0 } };
    for (int i = from; i < from + n; i += HN_LANES)
        for (int half = 0; half < 2; half++) {
            const int at = i + 4 * half;
            const hn_four point = points_at(grid, is_table, samples->x + at, inverse);
            xq[half] += hn_four_at(samples->wx + at) * point;
            qq[half] += hn_four_at(samples->weight + at) * (point * point);
        }
    return (hn_grid_sums){ hn_fold(xq[0], xq[1]), hn_fold(qq[0], qq[1]) };
}

hn_grid_sums hn_grid_sum(const hn_grid *grid, const hn_samples *samples, int from, int n,
                         float inverse)
{
    if (grid->cells)
        return sum_points(grid, true, samples, from, n, inverse);
    if (n == 16)
        return sum_points(grid, false, samples, from, 16, inverse);
    if (n == 32)
        return sum_points(grid, false, samples, from, 32, inverse);
    return sum_points(grid, false, samples, from, n, inverse);
}

/* With its sign; of two alike the negative one. */
static float largest_of(const float *x, int n)
{
    float low, high;
    hn_range(n, x, &low, &high);
    return -low >= high ? low : high;
}

/* What the best scale saves of the squared error of zeros is xq^2 / qq: whether that is more.
 */
static inline bool is_better(hn_grid_sums a, hn_grid_sums b)
{
    return a.xq * a.xq * b.qq > b.xq * b.xq * a.qq;
}

float hn_grid_fit(const hn_grid *grid, const hn_samples *samples, int from, int n)
{
    const float largest = largest_of(samples->x + from, n);
    if (largest == 0)
        return 0;
    const float inverse = 1 / largest;
    hn_grid_sums best = { 0, 1 };
    for (int s = 0; s < grid->n_spans; s++) {
        const hn_grid_sums sums = hn_grid_sum(grid, samples, from, n, grid->spans[s] * inverse);
        if (is_better(sums, best))
            best = sums;
    }
    for (int turn = 0; turn < 2 && best.xq != 0; turn++) {
        const hn_grid_sums sums =
            hn_grid_sum(grid, samples, from, n, hn_inverse((float)(best.xq / best.qq)));
        if (!is_better(sums, best))
            break;
        best = sums;
    }
    return (float)(best.xq / best.qq);
}

uint16_t hn_f16_within(float x)
{
    const uint16_t half = hn_f32_to_f16(x);
    return (half & 0x7fff) < 0x7c00 ? half : (uint16_t)((half & 0x8000) | 0x7bff);
}

/* The best so far of one block. */
typedef struct best {
    uint16_t d;
    double error;
} best;

/* Tries the f16 d; returns the best scale for the points that it gives. */
static float try_f16(const hn_grid *grid, const hn_samples *samples, int n, uint16_t d,
                     best *found)
{
    const float scale = hn_f16_to_f32(d) / samples->unit;
    const hn_grid_sums sums = hn_grid_sum(grid, samples, 0, n, hn_inverse(scale));
    const double error = hn_grid_error(sums, (double)scale);
    if (error < found->error)
        *found = (best){ d, error };
    return sums.qq > 0 ? (float)(sums.xq / sums.qq) : scale;
}

uint16_t hn_grid_round_f16(const hn_grid *grid, const hn_samples *samples, int n, float scale,
                           float *q)
{
    best found = { 0 }; /* a scale of zero, which anything must better */
    uint16_t d = hn_f16_within(scale * samples->unit);
    for (int turn = 0; turn < 2; turn++) {
        const float refined = try_f16(grid, samples, n, d, &found);
        const uint16_t next = hn_f16_within(refined * samples->unit);
        if (turn == 0 && (d & 0x7fff) < 16) /* so coarse that the next is as likely */
            try_f16(grid, samples, n, (uint16_t)(d + 1), &found);
        if (turn == 0 && (d & 0x7fff) == 0x7bff) /* no larger one: the far end must hold it */
            try_f16(grid, samples, n,
                    hn_f16_within(largest_of(samples->x, n) / grid->spans[0] * samples->unit),
                    &found);
        if (next == d)
            break;
        d = next;
    }
    hn_grid_nearest(grid, samples, 0, n, hn_inverse(hn_f16_to_f32(found.d) / samples->unit), q);
    return found.d;
}

uint16_t hn_grid_fit_f16(const hn_grid *grid, const hn_samples *samples, int n, float *q)
{
    return hn_grid_round_f16(grid, samples, n, hn_grid_fit(grid, samples, 0, n), q);
}
