/* checkpoint.h: a run as it stands after a step, in one file (safetensors): what is trained, the
 * optimiser's states, and what the run knows of itself. Written under another name, made durable,
 * renamed; read only if its digest holds. */
#ifndef HN_TRAIN_CHECKPOINT_H
#define HN_TRAIN_CHECKPOINT_H

#include "train/learner.h"

/* What a run knows besides its tensors. Digests are of what it depends on: a run that goes on must
 * have the same. */
typedef struct hn_run_state {
    int64_t step;  /* steps done */
    int64_t examples, tokens, supervised; /* trained on so far, repeats counted */
    double best_loss;      /* of evaluations; INFINITY before the first */
    int64_t best_step;     /* -1: none */
    int64_t n_worse;       /* evaluations since the best */
    double last_loss;      /* of the last step */
    char config[65], data[65], base[65]; /* SHA-256, in hexadecimal digits */
} hn_run_state;

hn_status hn_checkpoint_write(const hn_learner *learner, const hn_run_state *state,
                              const char *path);

/* Reads state and tensors into the learner. Refuses, by name: what is cut off or altered, another
 * config, data or base than `expected` has, tensors that the learner has not. */
hn_status hn_checkpoint_read(hn_learner *learner, const char *path, const hn_run_state *expected,
                             hn_run_state *out);

#endif
