/* batch.h: the sequences of one step, and a micro-batch of them in the memory that a graph reads.
 *
 * A step's tokens are read once, before its first micro-batch, since losses are divided by sums
 * over the step. Micro-batches are runs of its examples; a pair is one example. */
#ifndef HN_TRAIN_BATCH_H
#define HN_TRAIN_BATCH_H

#include "data/pack.h"
#include "data/steps.h"
#include "nn/hparams.h"

typedef struct hn_batch {
    hn_heap *heap;
    int32_t *ids;
    float *weights;
    size_t n_tokens, room;
    size_t *begin;     /* of each sequence, and the end of the last */
    size_t n_sequences, sequences_room;
    uint32_t *tokens;  /* of each example */
    int8_t *labels;    /* of each example: -1, 1, or 0: it has none */
    float *example_weights; /* the mean of its supervised tokens', of the first sequence */
    size_t n_examples, examples_room;
    size_t parts;      /* sequences an example: 1, or 2 */
    size_t n_supervised;
    double weight; /* sum over supervised tokens */
    double examples_weight; /* sum over examples */
} hn_batch;

hn_batch hn_batch_on(hn_heap *heap); /* allocates nothing */
void hn_batch_free(hn_batch *batch);
void hn_batch_clear(hn_batch *batch);

/* Takes a copy of an example's tokens. All examples of a batch have as many sequences. */
hn_status hn_batch_add(hn_batch *batch, const hn_example *example);
/* The same of one sequence. */
hn_status hn_batch_add_sample(hn_batch *batch, const hn_sample *sample);
/* All examples of a step of a dataset, in order; `scratch` is used again and again. */
hn_status hn_batch_read(hn_batch *batch, const hn_dataset *dataset, const hn_data_step *step,
                        hn_example *scratch);

/* Adds to `out` every prompt with the answer of the example before it, the first with the last's: as long
 * as the longest of them at most. A prompt ends where supervision begins. */
hn_status hn_batch_mismatch(const hn_batch *batch, hn_batch *out);

/* A sequence, as a view. */
hn_sample hn_batch_sequence(const hn_batch *batch, size_t i);

/* A micro-batch: hn_pack's columns, and of the rows that have a label, where they are. */
typedef struct hn_micro {
    hn_heap *heap;
    hn_pack pack;
    int64_t max_tokens, max_rows, max_pairs;
    int32_t *rows, *labels, *pair_of; /* [R] */
    float *weights, *sign;            /* [R] */
    float *share[2];                  /* [R], of the weights of its sequence: chosen; rejected */
    float *no_pairs;                  /* [P], zeros */
    float *pair_weights, *example_labels; /* [P]; a pair's label is 1 */
    int32_t *places;                  /* [T,2] */
    int64_t n_rows, n_pairs;
} hn_micro;

/* Memory of all of it, at once: it never moves. Without pairs (0) nothing is added up by example. */
hn_status hn_micro_new(hn_micro *micro, hn_heap *heap, int64_t max_tokens, int64_t max_rows,
                       int64_t max_pairs);
void hn_micro_free(hn_micro *micro); /* takes a zeroed one */

/* Examples [from, to), for a model of `hp`, which may refuse long sequences. A micro-batch without any
 * label gets one row of weight 0. */
hn_status hn_micro_fill(hn_micro *micro, const hn_hparams *hp, const hn_batch *batch, size_t from,
                        size_t to);

#endif
