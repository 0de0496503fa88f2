/* affine.h: rounding a group of 32 numbers to step * q - offset, q in 0 .. 15, offset >= 0:
 * what formats with a minimum do, and the search for the two. */
#ifndef HN_QUANT_AFFINE_H
#define HN_QUANT_AFFINE_H

#include "quant/grid.h"

enum { HN_AFFINE_GROUP = 32, HN_AFFINE_TOP = 15 };

typedef struct hn_affine {
    float step, offset; /* neither is negative */
} hn_affine;

/* Rounds x into q; returns the squared error, weighted if weight is not NULL. */
double hn_affine_round(hn_affine map, const float *x, const float *weight, uint8_t *q);

/* Step and offset of least squared error among several candidates and their least-squares
 * refinements. */
hn_affine hn_affine_fit(const float *x, const float *weight);

#endif
