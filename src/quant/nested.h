/* nested.h: blocks of 256 in groups, whose scales are small whole numbers times an f16 of the
 * block: x = (d * scale) * q, or (d * scale) * q - (dmin * min). Finds all of them together. */
#ifndef HN_QUANT_NESTED_H
#define HN_QUANT_NESTED_H

#include "quant/affine.h"
#include "quant/grid.h"

enum { HN_NESTED_BLOCK = 256, HN_NESTED_GROUPS = 16 /* at most */ };

typedef struct hn_nested_grid {
    hn_grid grid;
    int group;                   /* elements of each */
    float scale_low, scale_high; /* of a group's whole number; low is negative */
} hn_nested_grid;

typedef struct hn_nested_affine {
    hn_affine_grid grid;
    int group;
    float most; /* scales and minima are 0 .. most */
} hn_nested_affine;

/* A block before its bits are packed. */
typedef struct hn_nested {
    uint16_t d, dmin; /* f16 */
    int8_t scale[HN_NESTED_GROUPS], min[HN_NESTED_GROUPS];
    float q[HN_NESTED_BLOCK]; /* points of the grid */
} hn_nested;

/* weight may be NULL. */
void hn_nested_fit(const hn_nested_grid *shape, const float *x, const float *weight,
                   hn_nested *out);
void hn_nested_affine_fit(const hn_nested_affine *shape, const float *x, const float *weight,
                          hn_nested *out);

#endif
