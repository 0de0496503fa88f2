/* verdict.h: what came of a run, in words: whether training helped, and what looks as if it did not. */
#ifndef HN_TRAIN_VERDICT_H
#define HN_TRAIN_VERDICT_H

#include "base/str.h"
#include "train/goal.h"

typedef struct hn_verdict_input {
    const double *losses; /* of every step; those that are no numbers are left out */
    size_t n;
    const double *held, *held_steps; /* of evaluations, the first of them before the first step */
    size_t n_held;
    bool keeps_best; /* the result is that of the best evaluation, not of the last step */
    hn_goal_blind blind; /* the goal's */
} hn_verdict_input;

/* A sentence or a few, without a line end. */
void hn_verdict_write(const hn_verdict_input *input, hn_str *out);

#endif
