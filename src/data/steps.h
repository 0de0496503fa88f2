/* steps.h: which examples make up which step. Everything is a function of the seed and the
 * step's number: to resume is to ask for the next one.
 *
 * An epoch is a permutation of the examples trained, each as often as its file's weight says.
 * Epochs follow each other without a border; the last step may be smaller. The order of the
 * examples within a step is the order of its sequences, however it is cut into micro-batches
 * (docs/numerics.md). */
#ifndef HN_DATA_STEPS_H
#define HN_DATA_STEPS_H

#include "data/dataset.h"
#include "data/order.h"

typedef struct hn_steps_options {
    uint64_t seed;
    uint32_t batch;       /* examples a step; or */
    uint64_t step_tokens; /* as many examples as fit this many tokens, one at least */
    uint32_t window;      /* steps whose examples are sorted by length among them; 0, 1: none */
    double epochs;        /* 0: no end */
    bool in_order;        /* not shuffled: as the files have them */
} hn_steps_options;

typedef struct hn_data_step {
    uint64_t *examples; /* numbers in the dataset */
    size_t n, room;
    uint64_t first; /* how many examples came in the steps before */
    double epoch;   /* at its end */
} hn_data_step;

typedef struct hn_steps {
    const hn_dataset *dataset;
    hn_heap *heap;
    hn_steps_options options;
    uint64_t epoch_size, n_examples;      /* of one epoch; of all, UINT64_MAX: no end */
    uint64_t per_file[HN_MAX_DATA_FILES]; /* examples that an epoch takes from each */
    uint64_t known_step, known_first;     /* with step_tokens: where the search goes on */
} hn_steps;

/* The dataset must have been scanned, and must outlive it. Nothing to free. */
hn_status hn_steps_init(hn_steps *steps, hn_heap *heap, const hn_dataset *dataset,
                        const hn_steps_options *options);

/* The example at a place of the endless row of epochs. */
uint64_t hn_steps_example(const hn_steps *steps, uint64_t place);
/* Steps there are in all; 0 if there is no end. */
hn_status hn_steps_count(hn_steps *steps, uint64_t *out);
/* Step k, from 0; n is 0 after the last. `out` is zeroed at first and used again. */
hn_status hn_steps_at(hn_steps *steps, uint64_t k, hn_data_step *out);
void hn_data_step_free(hn_heap *heap, hn_data_step *step);

#endif
