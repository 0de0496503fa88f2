/* learner.h: a model, what is trained of it and a loss, compiled: it takes steps, or shows their
 * gradients.
 *
 * It is planned first, which takes no memory to speak of: hn_learner_memory says how much it will take
 * when it is made, and no more is taken afterwards. A step is the same to the bit
 * however its batch is cut into micro-batches. */
#ifndef HN_TRAIN_LEARNER_H
#define HN_TRAIN_LEARNER_H

#include "train/batch.h"
#include "train/descent.h"
#include "train/objective.h"

typedef struct hn_learner_options {
    hn_objective_options objective; /* max_tokens: of a micro-batch */
    hn_descent_options descent;
} hn_learner_options;

typedef struct hn_learner hn_learner;

/* Layers are spread over the run's devices. Model and tuning must outlive it. */
hn_status hn_learner_plan(hn_learner **out, hn_heap *heap, const hn_model *model,
                          const hn_tuning *tuning, hn_run_spec run,
                          const hn_learner_options *options);
/* Takes its memory: before the first step. */
hn_status hn_learner_make(hn_learner *learner);
/* Both at once. */
hn_status hn_learner_new(hn_learner **out, hn_heap *heap, const hn_model *model,
                         const hn_tuning *tuning, hn_run_spec run,
                         const hn_learner_options *options);
void hn_learner_free(hn_learner *learner); /* takes NULL */

typedef struct hn_learner_bytes {
    size_t workspace, sums, moments, parameters, inputs, programs;
} hn_learner_bytes;
hn_learner_bytes hn_learner_memory(const hn_learner *learner);
/* What it consists of, for hn_executables_on: how many. */
enum { HN_LEARNER_PARTS = 2 };
int hn_learner_parts(const hn_learner *learner, const hn_executable *out[HN_LEARNER_PARTS]);

/* About how much it computes: for an example of so many tokens, of which so many rows have a label, by itself; and once a step. */
hn_status hn_learner_operations(const hn_learner *learner, int64_t tokens, int64_t rows, double *example, double *once);

typedef struct hn_learned {
    double loss, grad_norm;
    int n_micro;
} hn_learned;

/* Forward and backward over a batch: gradients and loss; nothing is updated. `step`, from 0, is
 * what dropout's random numbers depend on. */
hn_status hn_learner_look(hn_learner *learner, const hn_batch *batch, int64_t step,
                          const hn_run_options *options, hn_learned *out);
/* The same, then an update. HN_ERR_NUMERIC names the first tensor that is not finite; nothing was
 * updated then. */
hn_status hn_learner_step(hn_learner *learner, const hn_batch *batch, int64_t step, float rate,
                          const hn_run_options *options, hn_learned *out);

/* After either: the gradient of tuning->tensors[i], f32. */
hn_status hn_learner_gradient(hn_learner *learner, int i, hn_tensor *out);
/* Tokens that each expert of route i got, until the next question; *out is NULL if i is past the last. */
hn_status hn_learner_load(hn_learner *learner, int i, int *layer, int64_t *n_experts, const float **out);

/* The optimiser's states, for checkpoints; NULL past the last. */
const hn_leaf *hn_learner_state(const hn_learner *learner, int i);
hn_status hn_learner_read_state(const hn_learner *learner, const hn_leaf *state, size_t at, void *to,
                                size_t bytes);
hn_status hn_learner_write_state(hn_learner *learner, const hn_leaf *state, const void *from); /* all of it */
int64_t hn_learner_count(const hn_learner *learner); /* updates done */
void hn_learner_set_count(hn_learner *learner, int64_t count);

const hn_tuning *hn_learner_tuning(const hn_learner *learner);
const hn_objective *hn_learner_objective(const hn_learner *learner);
hn_descent *hn_learner_descent(hn_learner *learner);

#endif
