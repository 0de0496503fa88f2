/* checkpoint.h: a run as it stands after a step, in one file (safetensors): what is trained, the
 * optimiser's states, and what the run knows of itself. Written under another name, made durable,
 * renamed; read only if its digest, which is of the whole file, holds. */
#ifndef HN_TRAIN_CHECKPOINT_H
#define HN_TRAIN_CHECKPOINT_H

#include "train/learner.h"
#include "train/run_basis.h"

/* What a run knows besides its tensors and what it depends on. */
typedef struct hn_run_state {
    int64_t step;  /* steps done */
    int64_t examples, tokens, supervised; /* trained on so far, repeats counted */
    double best_loss;      /* of evaluations; INFINITY before the first */
    int64_t best_step;     /* -1: none */
    int64_t n_worse;       /* evaluations since the best */
    double last_loss;      /* of the last step */
} hn_run_state;

/* The basis must be settled. */
hn_status hn_checkpoint_write(const hn_learner *learner, const hn_run_state *state,
                              const hn_run_basis *basis, const char *path);

/* Reads state and tensors into the learner. Refuses, by name: what is cut off or altered, another
 * option, data or base than `basis` has, tensors that the learner has not. *is_old: it is of version
 * 1, whose digest is of its tensors alone and whose base is told by a sample. */
hn_status hn_checkpoint_read(hn_learner *learner, const char *path, const hn_run_basis *basis,
                             hn_run_state *out, bool *is_old);

/* What was trained alone, once the learner is gone; the same is refused, and version 1. After a failure
 * the tuning may hold some of it. */
hn_status hn_checkpoint_read_trained(const hn_tuning *tuning, const char *path, const hn_run_basis *basis,
                                     hn_run_state *out);

#endif
