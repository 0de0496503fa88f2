/* tuning.h: the tensors that a run trains: their memory, their first values, and what of the
 * model they change.
 *
 * LoRA and DoRA add pairs of matrices to frozen weights; full tuning trains an f32 copy that
 * stands in for the weight. First values are a function of the seed and the tensor's name: A
 * uniform within 1 / sqrt(inputs) and B zero; of an embedding A zero and B normal. */
#ifndef HN_TRAIN_TUNING_H
#define HN_TRAIN_TUNING_H

#include "models/model.h"
#include "train/target.h"

typedef enum hn_tune_part { HN_TUNE_A, HN_TUNE_B, HN_TUNE_MAGNITUDE, HN_TUNE_WEIGHT } hn_tune_part;

/* One trained tensor. */
typedef struct hn_tunable {
    char name[HN_TENSOR_NAME]; /* "blk.0.attn_q.weight.lora_a", or the weight's own */
    hn_tune_part part;
    nn_weight weight; /* f32; `data` is this object's and is written to */
    int of;           /* index of its hn_tuned */
} hn_tunable;

/* One weight of the model that is changed. */
typedef struct hn_tuned {
    const nn_weight *base;
    hn_tune_settings settings;
    nn_lora lora;
    bool is_embedding; /* A has a row for every word */
    int first, n;      /* of its tunables */
} hn_tuned;

typedef struct hn_tuning {
    hn_heap *heap;
    const hn_model *model;
    hn_tuned *tuned;
    hn_tunable *tensors;
    int n_tuned, n_tensors;
    int64_t n_params;        /* elements trained */
    int64_t n_base, n_matched; /* elements of the model's weights, and of those changed */
    nn_adapter adapter;      /* for nn_build_options */
} hn_tuning;

/* "attn,mlp,experts", without what the model has not. */
const char *hn_default_targets(const hn_model *model);

/* Refuses, by name: a target that matches nothing, or nothing that the model's graph reaches; a
 * rank for a vector; full tuning of blocks. */
hn_status hn_tuning_new(hn_heap *heap, const hn_model *model, const hn_tune_targets *targets,
                        uint64_t seed, hn_tuning **out);
void hn_tuning_free(hn_tuning *tuning); /* takes NULL */

/* Weights that stand in for the model's, and adapters: the rest of `options` is left alone. */
void hn_tuning_apply(const hn_tuning *tuning, nn_build_options *options);

/* By name; -1 if there is none. */
int hn_tuning_find(const hn_tuning *tuning, const char *name);
/* The host's numbers of one: those that runs go on from, and that they made of it, only between the two
 * below. Where all devices have the host's memory there is one set of numbers, and they do nothing. */
float *hn_tuning_data(const hn_tuning *tuning, int i);
hn_status hn_tuning_pull(const hn_tuning *tuning); /* the host's are those that runs made */
hn_status hn_tuning_push(const hn_tuning *tuning); /* runs go on from the host's */
/* A row of the weight that is changed, decoded, in order. */
void hn_tuned_row(const hn_tuning *tuning, const hn_tuned *tuned, int64_t row, float *out);
const hn_tuned *hn_tuning_of(const hn_tuning *tuning, const char *weight);
bool hn_tuning_has_dropout(const hn_tuning *tuning);

/* What LoRA is scaled by. */
double hn_tune_scale(const hn_tune_settings *settings);
double hn_tune_alpha(const hn_tune_settings *settings);

#endif
