/* affine.h: rounding numbers to step * q - offset, q a whole number from 0 to `top`: what
 * formats with a minimum do, and the search for the two. */
#ifndef HN_QUANT_AFFINE_H
#define HN_QUANT_AFFINE_H

#include "quant/grid.h"

#include <stdbool.h>

typedef struct hn_affine {
    float step, offset; /* step is not negative */
} hn_affine;

/* How a format searches. */
typedef struct hn_affine_grid {
    float top;
    bool is_signed; /* the offset may be negative */
    int n_spans;    /* over how many steps the range of a group is spread */
    const float *spans;
} hn_affine_grid;

/* Sums over a group: of weight and weight x, which q has no part in, and of weight q,
 * weight q^2, weight x q. */
typedef struct hn_affine_sums {
    double w, x, q, qq, xq;
} hn_affine_sums;

/* The q nearest for samples [from, from + n). */
void hn_affine_nearest(float top, const hn_samples *samples, int from, int n, hn_affine map,
                       float *q);

/* Fills in q, qq and xq for those; n is 16 or 32. */
void hn_affine_sum(float top, const hn_samples *samples, int from, int n, hn_affine map,
                   hn_affine_sums *sums);

/* w and x of samples [from, from + n), the rest 0. */
hn_affine_sums hn_affine_constants(const hn_samples *samples, int from, int n);

/* The squared error of a map with these sums, less that of zeros. */
static inline double hn_affine_error(const hn_affine_sums *s, double step, double offset)
{
    return step * (step * s->qq - 2 * s->xq) + offset * (offset * s->w + 2 * s->x) -
           2 * step * offset * s->q;
}

/* Step and offset of least squared error for these sums. */
hn_affine hn_affine_solve(const hn_affine_sums *s, bool is_signed);

/* Step and offset of least squared error among the grid's spans and their refinements, for
 * samples [from, from + n). */
hn_affine hn_affine_fit(const hn_affine_grid *grid, const hn_samples *samples, int from, int n);

/* A whole block with both in f16: y = d q + m. */
typedef struct hn_affine_f16 {
    uint16_t d, m;
    float q[HN_SAMPLES];
} hn_affine_f16;

void hn_affine_fit_f16(const hn_affine_grid *grid, const hn_samples *samples, int n,
                       hn_affine_f16 *out);

#endif
