/* model_run.h: one optimiser step of a small transformer, run one way or another, and everything
 * that must not depend on the way: loss, gradients, updated weights. */
#ifndef HN_PROVE_MODEL_RUN_H
#define HN_PROVE_MODEL_RUN_H

#include "nn/decoder.h"
#include "prove/runner.h"

enum { HN_MAX_SEQUENCES = 16 };

typedef struct hn_model_spec {
    const char *name;
    nn_decoder_options o;
    int n_sequences;
    int64_t length[HN_MAX_SEQUENCES];
    uint64_t seed;
} hn_model_spec;

typedef struct hn_model_way {
    int n_devices;
    hn_device *const *devices;
    hn_plan_mode mode;
    int recompute_every;
    /* Sequences in each micro-batch; they add up to n_sequences; 0 ends it. All 0: one. */
    int cut[HN_MAX_SEQUENCES];
    uint64_t shuffle;
} hn_model_way;

typedef struct hn_model_outcome {
    hn_results values; /* loss, then gradients, then weights after the update */
    int n_params;
    size_t workspace;
} hn_model_outcome;

/* A batch of the spec's sequences: tokens, labels (some ignored), segments, positions. */
typedef struct hn_model_batch {
    int64_t n_tokens, n_supervised;
    int32_t *tokens, *labels, *segments, *positions, *at;
    float count, sequences;
    int32_t step;
} hn_model_batch;

hn_status hn_model_batch_new(hn_model_batch *b, const hn_model_spec *spec, hn_heap *heap);
void hn_model_batch_free(hn_model_batch *b, hn_heap *heap);

hn_status hn_model_run(hn_heap *heap, const hn_model_spec *spec, const hn_model_way *way,
                       hn_model_outcome *out);

/* The name of value `index` of an outcome, for reports. */
void hn_model_value_name(const hn_model_outcome *o, int index, char *text, size_t bytes);

#endif
