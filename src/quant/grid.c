/* For fixed points q the best scale is <x, q> / <q, q>; for a fixed scale the best points are
 * the nearest. Each candidate puts the largest number at one of the grid's spans; the best of
 * them is refined by turns of the two. Sums run in HN_LANES chains, so that they are the same
 * whatever vectors a compiler makes of them. */
#include "quant/grid.h"

#include "base/half.h"

#include <math.h>
#include <string.h>

void hn_grid_nearest(const hn_grid *grid, int n, const float *restrict x, float inverse,
                     float *restrict q)
{
    const float low = grid->low, high = grid->high;
    if (grid->cells) {
        for (int i = 0; i < n; i++)
            q[i] = grid->cells[(int)(hn_within(x[i] * inverse, low, high) * 2 + 256)];
        return;
    }
    for (int i = 0; i < n; i++)
        q[i] = hn_nearest(hn_within(x[i] * inverse, low, high));
}

hn_grid_sums hn_grid_sum(int n, const float *wx, const float *weight, const float *q)
{
    hn_four xq[2] = { { 0 }, { 0 } }, qq[2] = { { 0 }, { 0 } };
    for (int i = 0; i < n; i += HN_LANES)
        for (int half = 0; half < 2; half++) {
            const int at = i + 4 * half;
            const hn_four point = hn_four_at(q + at);
            xq[half] += hn_four_at(wx + at) * point;
            qq[half] += hn_four_at(weight + at) * (point * point);
        }
    return (hn_grid_sums){ hn_fold(xq[0], xq[1]), hn_fold(qq[0], qq[1]) };
}

/* With its sign; of two alike the negative one. */
static float largest_of(const float *x, int n)
{
    float low, high;
    hn_range(n, x, &low, &high);
    return -low >= high ? low : high;
}

/* What a scale saves of the squared error of zeros; 0 where all points are zero. */
static double saving(hn_grid_sums sums)
{
    return sums.qq > 0 ? sums.xq * sums.xq / sums.qq : 0;
}

float hn_grid_fit(const hn_grid *grid, const hn_samples *samples, int from, int n)
{
    const float *x = samples->x + from, *wx = samples->wx + from;
    const float *weight = samples->weight + from;
    const float largest = largest_of(x, n);
    float q[HN_SAMPLES], scale = 0;
    double most = 0;
    if (largest == 0)
        return 0;
    for (int s = 0; s < grid->n_spans; s++) {
        hn_grid_nearest(grid, n, x, grid->spans[s] / largest, q);
        const hn_grid_sums sums = hn_grid_sum(n, wx, weight, q);
        if (saving(sums) > most) {
            most = saving(sums);
            scale = (float)(sums.xq / sums.qq);
        }
    }
    for (int turn = 0; turn < 2; turn++) {
        hn_grid_nearest(grid, n, x, hn_inverse(scale), q);
        const hn_grid_sums sums = hn_grid_sum(n, wx, weight, q);
        if (!(saving(sums) > most))
            break;
        most = saving(sums);
        scale = (float)(sums.xq / sums.qq);
    }
    return scale;
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
    float *q;
} best;

/* Tries the f16 d; returns the best scale for the points that it gives. */
static float try_f16(const hn_grid *grid, const hn_samples *samples, int n, uint16_t d,
                     best *found)
{
    float q[HN_SAMPLES];
    const float scale = hn_f16_to_f32(d) / samples->unit;
    hn_grid_nearest(grid, n, samples->x, hn_inverse(scale), q);
    const hn_grid_sums sums = hn_grid_sum(n, samples->wx, samples->weight, q);
    const double error = hn_grid_error(sums, (double)scale);
    if (error < found->error) {
        found->error = error;
        found->d = d;
        memcpy(found->q, q, (size_t)n * sizeof *q);
    }
    return sums.qq > 0 ? (float)(sums.xq / sums.qq) : scale;
}

uint16_t hn_grid_round_f16(const hn_grid *grid, const hn_samples *samples, int n, float scale,
                           float *q)
{
    best found = { .error = 0, .q = q };
    hn_grid_nearest(grid, n, samples->x, 0, q); /* zeros, which anything must better */
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
    return found.d;
}

uint16_t hn_grid_fit_f16(const hn_grid *grid, const hn_samples *samples, int n, float *q)
{
    return hn_grid_round_f16(grid, samples, n, hn_grid_fit(grid, samples, 0, n), q);
}
