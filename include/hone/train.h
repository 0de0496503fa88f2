/* train.h: optimiser steps of any number of micro-batches.
 *
 *     hn_trainer_begin; for each micro-batch: write its inputs, hn_trainer_micro; hn_trainer_finish
 *
 * The result has the same bits however the step's sequences are cut into micro-batches. Nothing is
 * updated unless loss and gradient are finite. */
#ifndef HONE_TRAIN_H
#define HONE_TRAIN_H

#include "hone/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller frees it, before its engine; it holds the builder's graph, which is its own from then on. Used by one thread at a
 * time. */
typedef struct hn_trainer hn_trainer;

/* What updates parameters, and the type of its states, by number. */
typedef enum hn_trainer_optimizer {
    /* Written by tools/enums.sh from src/train/optimizers.def: */
    HN_TRAINER_ADAMW, /* "adamw", or NULL */
    HN_TRAINER_SGD,   /* "sgd" */
    HN_TRAINER_LION   /* "lion" */
    /* End of what tools/enums.sh writes. */
} hn_trainer_optimizer;
HN_API hn_status hn_trainer_optimizer_named(const char *word_or_null, hn_trainer_optimizer *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_trainer_optimizer_name(hn_trainer_optimizer optimizer); /* "" of a number that is none */

typedef enum hn_trainer_moments {
    HN_TRAINER_F32, /* "f32", or NULL */
    HN_TRAINER_BF16 /* "bf16" */
} hn_trainer_moments;
HN_API hn_status hn_trainer_moments_named(const char *word_or_null, hn_trainer_moments *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_trainer_moments_name(hn_trainer_moments moments); /* "" of a number that is none */

/* Zero is default in every field but the first. */
typedef struct hn_trainer_options {
    size_t size;
    const char *optimizer; /* as hn_trainer_optimizer_name gives it; NULL: "adamw" */
    const char *moments;   /* as hn_trainer_moments_name gives it; NULL: "f32" */
    const char *plan;      /* as hn_exec_new */
    float beta1, beta2, eps, momentum, decay;
    float clip_norm, gclip; /* 0: off */
    int32_t recompute_every;
    int32_t stochastic, master; /* for bf16 weights: stochastic rounding, or an f32 master */
    uint32_t seed;
} hn_trainer_options;

/* Takes the builder's graph as it is and extends it: nothing may be built on it afterwards, also if it fails. Ended by
 * hn_engine_cancel. */
HN_API hn_status hn_trainer_new(hn_trainer **out, hn_builder *builder, hn_node *loss, int32_t n,
                                hn_node *const *params, const hn_trainer_options *options_or_null);
HN_API void hn_trainer_free(hn_trainer *trainer); /* takes NULL */

HN_API hn_status hn_trainer_write(hn_trainer *trainer, const hn_node *leaf, const void *data,
                                  size_t bytes);
HN_API hn_status hn_trainer_read(const hn_trainer *trainer, const hn_node *leaf, void *to, size_t bytes);
HN_API hn_status hn_trainer_extent(hn_trainer *trainer, int32_t extent, int64_t size);

HN_API hn_status hn_trainer_begin(hn_trainer *trainer);
/* If the outcome is not finite, hn_trainer_scan runs the same micro-batch and names the first bad
 * tensor and op. */
HN_API hn_status hn_trainer_micro(hn_trainer *trainer);
HN_API hn_status hn_trainer_scan(hn_trainer *trainer);
/* loss and grad_norm (before clipping) may be NULL. */
HN_API hn_status hn_trainer_finish(hn_trainer *trainer, float learning_rate, double *loss,
                                   double *grad_norm);
/* The gradient of parameter `index`, f32, before finish: ends in HN_ERR_NUMERIC like finish. */
HN_API hn_status hn_trainer_gradient(const hn_trainer *trainer, int32_t index, float *to, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
