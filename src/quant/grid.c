/* For a fixed assignment q the best scale is <x, q> / <q, q>; for a fixed scale the best q is
 * the nearest. Each candidate puts the largest element on one of the outer grid points, then
 * alternates the two twice. */
#include "quant/grid.h"

#include <math.h>

double hn_grid_round(hn_grid grid, int n, const float *x, const float *weight, float scale,
                     int8_t *q)
{
    double error = 0;
    for (int i = 0; i < n; i++) {
        q[i] = (int8_t)hn_grid_point(grid, x[i], scale);
        const double off = (double)x[i] - (double)(scale * (float)q[i]);
        error += weight ? (double)weight[i] * off * off : off * off;
    }
    return error;
}

static float best_scale_for(int n, const float *x, const float *weight, const int8_t *q)
{
    double xq = 0, qq = 0;
    for (int i = 0; i < n; i++) {
        const double w = weight ? (double)weight[i] : 1;
        xq += w * (double)x[i] * q[i];
        qq += w * (double)(q[i] * q[i]);
    }
    return qq > 0 ? (float)(xq / qq) : 0;
}

typedef struct best {
    float scale;
    double error;
} best;

static void try_scale(hn_grid grid, int n, const float *x, const float *weight, float scale,
                      best *found)
{
    int8_t q[HN_GRID_MOST];
    for (int turn = 0; turn < 3; turn++) {
        const double error = hn_grid_round(grid, n, x, weight, scale, q);
        if (error < found->error)
            *found = (best){ scale, error };
        const float refined = best_scale_for(n, x, weight, q);
        if (error == 0 || refined == 0 || refined == scale)
            return;
        scale = refined;
    }
}

float hn_grid_fit(hn_grid grid, int n, const float *x, const float *weight)
{
    float largest = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(largest))
            largest = x[i];
    best found = { 0, INFINITY };
    if (largest == 0)
        return 0;
    /* The largest on the far end of either side, then on points further in. */
    const int span = -grid.low;
    const int n_inner = span <= 8 ? 4 : span <= 32 ? 6 : 1;
    for (int inner = 0; inner < n_inner && found.error > 0; inner++) {
        try_scale(grid, n, x, weight, largest / (float)(grid.low + inner), &found);
        try_scale(grid, n, x, weight, largest / (float)(grid.high - inner), &found);
    }
    return found.scale;
}
