/* engine.h: the inside of the public objects. */
#ifndef HN_ENGINE_ENGINE_H
#define HN_ENGINE_ENGINE_H

#include "backend/program.h"
#include "hone/hone.h"
#include "ops/ops.h"

struct hn_engine {
    hn_heap heap;
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    atomic_bool is_cancelled;
    hn_progress_fn *progress;
    void *progress_context;
};

struct hn_builder {
    hn_engine *engine;
    hn_graph *g;
    bool is_taken; /* by a trainer */
};

/* Cancellation and progress of an engine, for a run. */
hn_run_options hn_engine_run_options(hn_engine *engine);

/* Copies between a leaf's memory and the caller's, checking that there is a leaf and room. */
hn_status hn_engine_write_leaf(hn_engine *engine, hn_storage *storage, const hn_node *leaf,
                               const void *data, size_t bytes);
hn_status hn_engine_read_leaf(hn_engine *engine, hn_storage *storage, const hn_node *leaf, void *to,
                              size_t bytes);
/* Copies a tensor of device memory out, packed. */
hn_status hn_engine_read_tensor(const hn_tensor *t, void *to, size_t bytes);

#endif
