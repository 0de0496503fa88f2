/* evaluator.h: what a model says of held-out examples: the loss it is trained with (without its
 * routers'), and how often its likeliest token is the right one; of pairs, how often the chosen
 * answer is preferred. */
#ifndef HN_TRAIN_EVALUATOR_H
#define HN_TRAIN_EVALUATOR_H

#include "backend/executable.h"
#include "train/batch.h"
#include "train/objective.h"

typedef struct hn_evaluator hn_evaluator;

typedef struct hn_evaluation {
    double loss, accuracy;
    double gains;  /* of pairs and labelled examples: a sum of their margins */
    double weight; /* supervised tokens, weighed; of pairs, their number or weights */
    int64_t n;     /* tokens, or pairs, that accuracy is of */
} hn_evaluation;

/* `options`: as the training's; `tuning` or NULL; `adapters`, when there is no tuning, or NULL.
 * All must outlive it. Planned, it takes no memory to speak of and says what it will take; made, it
 * can be run; hn_evaluator_new does both. */
hn_status hn_evaluator_plan(hn_evaluator **out, hn_heap *heap, const hn_model *model,
                            const hn_tuning *tuning, const hn_adapters *adapters, hn_run_spec run,
                            const hn_objective_options *options);
hn_status hn_evaluator_make(hn_evaluator *evaluator);
hn_status hn_evaluator_new(hn_evaluator **out, hn_heap *heap, const hn_model *model,
                           const hn_tuning *tuning, const hn_adapters *adapters, hn_run_spec run,
                           const hn_objective_options *options);
void hn_evaluator_free(hn_evaluator *evaluator); /* takes NULL */

/* Adds a batch's to `sums`, which begins zeroed: loss and accuracy are sums until the end. */
hn_status hn_evaluator_add(hn_evaluator *evaluator, const hn_batch *batch,
                           const hn_run_options *options, hn_evaluation *sums);
/* How many examples are to be added at once: where they are measured from each other's prompts. */
size_t hn_evaluator_together(const hn_evaluator *evaluator);
/* What the gains of labelled examples are measured from: the mean gain of their prompts with each other's
 * answers, not below 0; 0 of a single one. The same however it is cut into micro-batches. */
hn_status hn_evaluator_anchor(hn_evaluator *evaluator, const hn_batch *batch,
                              const hn_run_options *options, float *out);
void hn_evaluation_finish(hn_evaluation *sums); /* makes means of them */

/* All held-out examples of a dataset, or the first `most`; 0: all. */
hn_status hn_evaluator_run(hn_evaluator *evaluator, const hn_dataset *dataset, uint64_t most,
                           const hn_run_options *options, hn_evaluation *out);

/* About how much it computes for an example of so many tokens, of which so many rows have a label. */
hn_status hn_evaluator_operations(const hn_evaluator *evaluator, int64_t tokens, int64_t rows, double *out);
size_t hn_evaluator_memory(const hn_evaluator *evaluator); /* all that making it takes */
const hn_executable *hn_evaluator_executable(const hn_evaluator *evaluator);

#endif
