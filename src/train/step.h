/* step.h: one optimiser step: any number of micro-batches, a check, an update.
 *
 * Built from a graph whose loss it differentiates. Three programs share the graph's storage:
 *   micro   forward and backward of one micro-batch; every sum over tokens continues in an
 *           accumulator of its own. Micro-batches may differ in their extents.
 *   check   the loss and the squared norm of the whole gradient, in double;
 *   update  the optimiser, on each parameter's own device.
 * Accumulators are zeroed by hn_step_begin and by nothing else. An update is never begun unless
 * loss and gradient are finite, and never interrupted. */
#ifndef HN_TRAIN_STEP_H
#define HN_TRAIN_STEP_H

#include "backend/program.h"

typedef enum hn_optimizer { HN_ADAMW, HN_SGD } hn_optimizer;

typedef struct hn_step_options {
    hn_optimizer optimizer;
    float beta1, beta2, eps; /* AdamW; 0 means 0.9, 0.999, 1e-8 */
    float momentum;          /* SGD */
    float decay;             /* decoupled weight decay */
    float clip_norm;         /* global norm; 0: off */
    float gclip;             /* element-wise, after the global one; 0: off */
    hn_dtype moments;        /* HN_F32 (0) or HN_BF16 */
    bool stochastic;         /* bf16 weights without a master: round stochastically */
    bool master;             /* narrow weights keep an f32 master */
    uint32_t seed;
    int recompute_every; /* layer boundaries kept: every n-th; 0: all values */
    hn_plan_mode mode;
} hn_step_options;

typedef struct hn_step hn_step;

typedef struct hn_step_result {
    double loss, grad_norm; /* grad_norm before clipping */
} hn_step_result;

/* Extends `g` by the backward and the optimiser. Weights and inputs are bound through the storage,
 * which the step makes: hn_step_storage. The graph and devices must outlive the step. */
hn_status hn_step_new(hn_step **out, hn_graph *g, hn_node *loss, int n_params,
                      hn_node *const *params, int n_devices, hn_device *const *devices,
                      const hn_step_options *options);
void hn_step_free(hn_step *step);

hn_storage *hn_step_storage(hn_step *step);
const hn_plan *hn_step_plan(const hn_step *step); /* of the micro program */

/* Sizes of the next micro-batch. */
hn_status hn_step_set_extent(hn_step *step, int extent, int64_t size);

hn_status hn_step_begin(hn_step *step);
/* Forward and backward of the inputs as bound now. */
hn_status hn_step_micro(hn_step *step, const hn_run_options *options);
/* Checks; then updates with this learning rate. HN_ERR_NUMERIC, before anything was changed, if
 * loss or gradient is not finite: replay the micro-batches with options.scan to learn where. */
hn_status hn_step_finish(hn_step *step, float learning_rate, hn_step_result *out);
/* Ends a step without updating: gradients can be read, nothing was changed. */
hn_status hn_step_check(hn_step *step, hn_step_result *out);

/* The gradient of parameter `index` as f32 after hn_step_check or before the next begin. */
hn_status hn_step_gradient(hn_step *step, int index, hn_tensor *out);
int64_t hn_step_count(const hn_step *step); /* updates done */

#endif
