/* grid.h: rounding n numbers to scale * q, where q is a whole number in [low, high]: what every
 * format without a minimum does, and the search for the scale that does it best. */
#ifndef HN_QUANT_GRID_H
#define HN_QUANT_GRID_H

#include <stdint.h>

typedef struct hn_grid {
    int low, high; /* low <= 0 <= high, both within int8 */
} hn_grid;

enum { HN_GRID_MOST = 64 }; /* elements at a time */

/* The whole number nearest to v, ties to even; |v| < 2^22. Adding 1.5 * 2^23 leaves no bits for
 * the fraction. */
static inline int hn_nearest(float v)
{
    const float shifted = v + 12582912.0f;
    return (int)(shifted - 12582912.0f);
}

/* The grid point for x at this scale; 0 if the scale is 0. */
static inline int hn_grid_point(hn_grid grid, float x, float scale)
{
    if (scale == 0)
        return 0;
    const float v = x / scale;
    if (v <= (float)grid.low)
        return grid.low;
    return v >= (float)grid.high ? grid.high : hn_nearest(v);
}

/* Rounds x to the grid, into q; returns the squared error, weighted if weight is not NULL. */
double hn_grid_round(hn_grid grid, int n, const float *x, const float *weight, float scale,
                     int8_t *q);

/* The scale, of either sign, of least squared error among several candidates and their
 * least-squares refinements; 0 for all zero. */
float hn_grid_fit(hn_grid grid, int n, const float *x, const float *weight);

#endif
