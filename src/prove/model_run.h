/* model_run.h: one optimiser step of an instance, run one way or another by the learner that runs are
 * trained with, and everything that must not depend on the way: loss, gradients, updated tensors. */
#ifndef HN_PROVE_MODEL_RUN_H
#define HN_PROVE_MODEL_RUN_H

#include "prove/instance.h"
#include "prove/runner.h"

typedef struct hn_model_way {
    int n_devices;
    hn_device *const *devices;
    hn_plan_mode mode;
    int recompute_every;
    int64_t micro;    /* tokens of a micro-batch, at least those of the longest sequence; 0: all */
    uint64_t shuffle; /* of the first device's work; 0: none */
} hn_model_way;

typedef struct hn_model_outcome {
    hn_results values; /* loss, then gradients, then tensors after the update */
    int n_params, n_micro;
    size_t workspace;
} hn_model_outcome;

hn_status hn_model_run(const hn_instance *instance, const hn_model_way *way, hn_model_outcome *out);

/* The name of value `index` of an outcome, for reports. */
void hn_model_value_name(const hn_model_outcome *o, int index, char *text, size_t bytes);

#endif
