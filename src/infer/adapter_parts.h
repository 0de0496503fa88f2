/* adapter_parts.h: an adapter's inside, for the files that open one: adapter_read.c (its tensors),
 * adapter_test.c (its self-test), adapter.c (its contract). What these read raw is no adapter to
 * anybody else. */
#ifndef HN_INFER_ADAPTER_PARTS_H
#define HN_INFER_ADAPTER_PARTS_H

#include "infer/adapter.h"

struct hn_adapter {
    hn_heap *heap;
    const hn_model *model;
    hn_gguf *file;
    const hn_weights *all;
    hn_adapter_pair *pairs;
    nn_weight *matrices; /* f32, in canonical order: a, b and magnitude of each pair, then wholes */
    const nn_weight **wholes;
    bool *is_used; /* by tensor of the file */
    int n_pairs, n_matrices, n_wholes;
    double alpha;
    bool is_own; /* hone's kind */
};

/* Refuses keys that nobody knows: one that is read past may say when, or to what, the matrices are added. */
hn_status hn_adapter_check_known(const hn_meta *meta);

/* Untried, and unscaled. */
hn_status hn_adapter_read(hn_adapter **out, hn_heap *heap, const hn_model *model, const char *path);
void hn_adapter_rescale(hn_adapter *adapter, double scale);

/* Runs the self-test, unscaled, in the recorded numerics and, unless `as_trained`, in the run's where they
 * differ. */
hn_status hn_adapter_test_run(hn_heap *heap, const hn_model *model, hn_run_spec run,
                              hn_adapter *adapter, bool as_trained, hn_adapter_trial *told);

#endif
