/* normal.h: the normal distribution by its quantiles: a random word becomes a draw from it by one look-up
 * and a line between two. The same numbers on every machine. */
#ifndef HN_BASE_NORMAL_H
#define HN_BASE_NORMAL_H

#include <stdint.h>

enum { HN_NORMAL_CELLS = 4096 };

/* at[i]: the quantile of i / HN_NORMAL_CELLS; the two ends those of a 32nd of a cell. */
typedef struct hn_normal {
    float at[HN_NORMAL_CELLS + 1];
} hn_normal;

void hn_normal_make(hn_normal *out);

/* 32 random bits: which cell, and where in it. Of deviation 1, within 4.4 of 0. */
static inline float hn_normal_of(const hn_normal *n, uint32_t word)
{
    const uint32_t cell = word >> 20;
    const float within = (float)(word & 0xfffff) * 0x1p-20f;
    return n->at[cell] + (n->at[cell + 1] - n->at[cell]) * within;
}

/* The quantile of p, between 0 and 1. */
double hn_normal_quantile(double p);

#endif
