/* held_norms.h: DoRA divides by the norms of the rows of W + scale B A, and no gradient passes them: they
 * count as constants. Differences are of the same function if the norms stay where they are while A
 * or B moves, and they do if magnitudes follow: m / n is what the model multiplies by. */
#ifndef HN_PROVE_HELD_NORMS_H
#define HN_PROVE_HELD_NORMS_H

#include "train/tuning.h"

typedef struct hn_held_norms {
    const hn_tuning *tuning;
    const hn_tuned *tuned; /* NULL: nothing to hold */
    float *base;           /* W, in order */
    float *magnitudes;     /* as they were */
    double *norms, *row;   /* as they were; one row's sums */
} hn_held_norms;

/* Of a tensor that is about to move: nothing is held unless it is A or B of a DoRA. */
hn_status hn_held_norms_begin(hn_held_norms *held, const hn_tuning *tuning, int tensor);
/* Where it has moved to. */
void hn_held_norms_follow(hn_held_norms *held);
/* Magnitudes are as they were. Also after a failure. */
void hn_held_norms_end(hn_held_norms *held);

#endif
