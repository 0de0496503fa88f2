/* runner.h: one graph run under many plans, devices and levels, for comparing the bits. */
#ifndef HN_PROVE_RUNNER_H
#define HN_PROVE_RUNNER_H

#include "backend/executable.h"

/* What every leaf starts with, by leaf id; data NULL: zeros. Never written to: states and weights
 * are copied for each run. */
typedef struct hn_leaf_values {
    int n;
    hn_tensor *at;
} hn_leaf_values;

hn_status hn_leaf_values_new(hn_leaf_values *out, const hn_graph *g);
void hn_leaf_values_free(hn_leaf_values *values, hn_heap *heap);
/* Makes zeroed memory for a leaf and returns it, or NULL: plain rows, which a run packs. */
hn_tensor *hn_leaf_values_make(hn_leaf_values *values, hn_heap *heap, const hn_leaf *leaf);

typedef struct hn_results {
    hn_heap *heap;
    int n;
    hn_tensor *at; /* packed copies */
} hn_results;

void hn_results_free(hn_results *results);

typedef struct hn_run_setup {
    int n_devices;
    hn_device *const *devices;
    hn_plan_mode mode;
    uint64_t shuffle; /* 0: none */
    size_t workspace; /* out: bytes, all devices */
    int n_taken[HN_MAX_IN]; /* out: outputs that took input i over, over all steps of `watch` */
    const hn_op *watch;
} hn_run_setup;

/* Plans, verifies, runs, copies the wanted values out. */
hn_status hn_run_graph(const hn_graph *g, int n_wanted, hn_node *const *wanted,
                       const hn_leaf_values *values, hn_run_setup *setup, hn_results *out);

/* Whether all bits agree (any NaN equals any NaN); *which and *element say where not. */
bool hn_same_results(const hn_results *a, const hn_results *b, int *which, int64_t *element);

#endif
