/* descent.h: one optimiser step: any number of micro-batches, a check, an update.
 *
 * Built from a graph whose loss it differentiates. Three programs share the graph's storage:
 *   micro   forward and backward of one micro-batch; every sum over tokens continues in an
 *           accumulator of its own. Micro-batches may differ in their extents.
 *   check   the loss and the squared norm of the whole gradient, in double;
 *   update  the optimiser, on each parameter's own device.
 * Accumulators are zeroed by hn_descent_begin and by nothing else. An update is never begun unless
 * loss and gradient are finite, and never interrupted. */
#ifndef HN_TRAIN_DESCENT_H
#define HN_TRAIN_DESCENT_H

#include "backend/executable.h"
#include "train/optimizer.h"

/* w loses a share of what sets it apart from `toward`, at the rate of the step. */
typedef struct hn_decay {
    float share, toward;
} hn_decay;

typedef struct hn_descent_options {
    hn_optimizer optimizer;
    float beta1, beta2;      /* 0: the optimiser's own */
    float eps;               /* 0 means 1e-8 */
    float momentum;
    float decay;             /* decoupled weight decay of all parameters, */
    const hn_decay *decays;  /* or, if not NULL, of each: read by hn_descent_new alone */
    float clip_norm;         /* global norm; 0: off */
    float gclip;             /* element-wise, after the global one; 0: off */
    hn_dtype moments;        /* HN_F32 (0) or HN_BF16 */
    bool stochastic;         /* bf16 weights without a master: round stochastically */
    bool master;             /* narrow weights keep an f32 master */
    uint32_t seed;
    int recompute_every; /* layer boundaries kept: every n-th; 0: all values */
    hn_plan_mode mode;
} hn_descent_options;

typedef struct hn_descent hn_descent;

typedef struct hn_descent_result {
    double loss, grad_norm; /* grad_norm before clipping */
} hn_descent_result;

/* Extends `g` by the backward and the optimiser, and plans the three programs: hn_descent_measure says
 * what they will take. Weights and inputs are bound through the storage, hn_descent_storage; then
 * hn_descent_make makes what is not bound. The graph and devices must outlive the step. */
hn_status hn_descent_new(hn_descent **out, hn_graph *g, hn_node *loss, int n_params,
                      hn_node *const *params, int n_devices, hn_device *const *devices,
                      const hn_descent_options *options);
void hn_descent_free(hn_descent *step);

hn_executable_bytes hn_descent_measure(const hn_descent *step);
const hn_executable *hn_descent_executable(const hn_descent *step);
hn_status hn_descent_make(hn_descent *step);

hn_storage *hn_descent_storage(hn_descent *step);
const hn_plan *hn_descent_plan(const hn_descent *step); /* of the micro program */

/* About how much is computed: by a micro-batch of these sizes of the graph's extents, and once a step, by check and update. */
hn_status hn_descent_operations(const hn_descent *step, const int64_t *sizes, double *micro, double *once);

/* Sizes of the next micro-batch. */
hn_status hn_descent_set_extent(hn_descent *step, int extent, int64_t size);

hn_status hn_descent_begin(hn_descent *step);
/* Forward and backward of the inputs as bound now. */
hn_status hn_descent_micro(hn_descent *step, const hn_run_options *options);
/* Checks; then updates with this learning rate. HN_ERR_NUMERIC, before anything was changed, if
 * loss or gradient is not finite: replay the micro-batches with options.scan to learn where. */
hn_status hn_descent_finish(hn_descent *step, float learning_rate, hn_descent_result *out);
/* Ends a step without updating: gradients can be read, nothing was changed. */
hn_status hn_descent_check(hn_descent *step, hn_descent_result *out);

/* The gradient of parameter `index` as f32 after hn_descent_check or before the next begin. */
hn_status hn_descent_gradient(hn_descent *step, int index, hn_tensor *out);
int64_t hn_descent_count(const hn_descent *step); /* updates done */
/* Of a run that goes on: its states are the caller's to restore. */
void hn_descent_set_count(hn_descent *step, int64_t count);

#endif
