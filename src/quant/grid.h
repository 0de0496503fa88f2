/* grid.h: rounding numbers to scale * q, where q is a point of a grid: whole numbers between
 * two, or sixteen of a table; and the search for the scale that does it best. */
#ifndef HN_QUANT_GRID_H
#define HN_QUANT_GRID_H

#include "quant/samples.h"

#include <stdint.h>

typedef struct hn_grid {
    float low, high; /* low <= 0 < high, magnitudes up to 128 */
    /* NULL: all whole numbers between. Else the point nearest to v, for the cell of v: cells
     * are half a unit wide and the first begins at -128. */
    const float *cells;
    /* Where the search puts the largest number, in units of the grid. */
    int n_spans;
    const float *spans;
} hn_grid;

enum { HN_GRID_CELLS = 512 };

/* sum of weight x q, and of weight q^2: the best scale for this q is their ratio, and its
 * squared error is that of zeros less xq^2 / qq. */
typedef struct hn_grid_sums {
    double xq, qq;
} hn_grid_sums;

/* The whole number nearest to v, ties to even; |v| < 2^22. Adding 1.5 * 2^23 leaves no bits for
 * the fraction. */
static inline float hn_nearest(float v)
{
    const float shifted = v + 12582912.0f;
    return shifted - 12582912.0f;
}

static inline float hn_within(float v, float low, float high)
{
    v = v > low ? v : low;
    return v < high ? v : high;
}

/* 1 / scale, or 0 for 0 and for what would be infinite: everything rounds to zero. */
static inline float hn_inverse(float scale)
{
    const float inverse = scale != 0 ? 1 / scale : 0;
    return inverse < 3e38f && inverse > -3e38f ? inverse : 0;
}

/* q = the grid's points nearest to x * inverse, for samples [from, from + n). n is a multiple
 * of HN_LANES. */
void hn_grid_nearest(const hn_grid *grid, const hn_samples *samples, int from, int n,
                     float inverse, float *q);

/* The sums for those points. */
hn_grid_sums hn_grid_sum(const hn_grid *grid, const hn_samples *samples, int from, int n,
                         float inverse);

/* The squared error of scale * q less that of zeros. */
static inline double hn_grid_error(hn_grid_sums sums, double scale)
{
    return scale * (scale * sums.qq - 2 * sums.xq);
}

/* The scale, of either sign, of least squared error among the grid's spans and their
 * least-squares refinements, for samples [from, from + n); 0 for all zero. */
float hn_grid_fit(const hn_grid *grid, const hn_samples *samples, int from, int n);

/* The f16 scale of least squared error for a whole block, and its points. */
uint16_t hn_grid_fit_f16(const hn_grid *grid, const hn_samples *samples, int n, float *q);

/* The same among the f16 next to `scale`. */
uint16_t hn_grid_round_f16(const hn_grid *grid, const hn_samples *samples, int n, float scale,
                           float *q);

/* The nearest f16, the largest one for what is beyond. */
uint16_t hn_f16_within(float x);

#endif
