/* engine.h: the inside of the public objects. */
#ifndef HN_ENGINE_ENGINE_H
#define HN_ENGINE_ENGINE_H

#include "backend/program.h"
#include "base/host.h"
#include "base/pool.h"
#include "engine/structs.h"
#include "hone/hone.h"
#include "infer/run_spec.h"
#include "ops/ops.h"

struct hn_engine {
    hn_heap heap;
    hn_device *devices[HN_MAX_DEVICES];
    hn_run_spec run; /* on these, in f32 */
    int n_devices;   /* its */
    hn_cancel_flag cancelled;
    _Atomic int64_t looks; /* its; hn_engine_cancel_at */
    hn_progress_fn *progress;
    void *progress_context;
    hn_work_fn *work;
    void *work_context;
    int n_threads;    /* as asked for */
    hn_isa isa;       /* levels that may be used */
    int64_t made_by; /* the process: its threads are in no other */
};

struct hn_builder {
    hn_engine *engine;
    atomic_int n_holders; /* the caller, until it frees it, and all that runs its graph */
    hn_graph *g;
    bool is_taken; /* by a trainer */
};

/* A leaf that a caller makes, by its word. */
const char *hn_leaf_kind_name(hn_leaf_kind kind);
hn_status hn_leaf_kind_parse(const char *word, hn_leaf_kind *out);

/* Beginning and end of what runs its graph, and reads leaves and nodes of it to the last. */
hn_builder *hn_builder_hold(hn_builder *builder);
void hn_builder_let_go(hn_builder *builder); /* takes NULL */

/* What ends a call that this thread begins: the engine's cancellation, and the hn_cancel that the thread heeds. */
const hn_cancel_flag *hn_engine_cancelled(const hn_engine *engine);
/* Cancellation and progress of an engine, for a run. */
hn_run_options hn_engine_run_options(hn_engine *engine);
/* The same for work that says what is at hand: hn_watch.progress and its like. `engine`: an hn_engine. */
bool hn_engine_tell(void *engine, double done, const char *what);
/* Threads for work on files, as many as the engine's; with hn_pool_free. */
hn_status hn_engine_pool(hn_engine *engine, hn_pool **out);
/* What every call does of which it is; it is the engine's from here on, and ends where that wishes it to (base/work.h).
 * HN_ERR_UNSUPPORTED in a child of fork, where the engine can only be freed. */
hn_status hn_engine_check(const hn_engine *engine);
/* The same of a call that is told of by hn_engine_on_work, up to the 1 of hn_work_done. In an entry: a call within
 * another is a part of it. */
void hn_engine_tells(hn_engine *engine);
#define HN_TELLS(engine)                                                                       \
    do {                                                                                       \
        if (!hn_host_here.is_nested && (engine))                                               \
            hn_engine_tells(engine);                                                           \
    } while (0)

/* The leaves of a graph with memory, and how much of each was written. */
typedef struct hn_engine_leaves {
    hn_engine *engine;
    const hn_graph *g;
    hn_storage *storage;
    int n;            /* that had their memory then: the graph may have got more */
    int n_extents;    /* likewise */
    size_t *written;  /* bytes by leaf, of the last write; 0: never */
    int64_t *extents; /* of the next run */
} hn_engine_leaves;

hn_status hn_engine_leaves_open(hn_engine_leaves *leaves, hn_engine *engine, const hn_graph *g,
                                hn_storage *storage);
void hn_engine_leaves_close(hn_engine_leaves *leaves); /* takes a zeroed one */
/* Copies between a leaf's memory and the caller's, checking that there is a leaf and room. */
hn_status hn_engine_write_leaf(hn_engine_leaves *leaves, const hn_node *leaf, const void *data,
                               size_t bytes);
hn_status hn_engine_read_leaf(const hn_engine_leaves *leaves, const hn_node *leaf, void *to,
                              size_t bytes);
/* After the program has taken it. */
void hn_engine_leaves_extent(hn_engine_leaves *leaves, int32_t extent, int64_t size);
/* HN_ERR_ARGUMENT names an input or a weight that the plan reads and nobody wrote, or not as much of it as a run of these
 * extents reads. */
hn_status hn_engine_check_written(const hn_engine_leaves *leaves, const hn_plan *plan);
/* HN_ERR_ARGUMENT unless all are nodes of the builder. */
hn_status hn_builder_check_own(const hn_builder *builder, int n, hn_node *const *nodes);
hn_status hn_builder_check_given(const hn_builder *builder, int n, hn_node *const *nodes); /* and none is NULL */

/* Copies a tensor of device memory out, packed. */
hn_status hn_engine_read_tensor(const hn_tensor *t, void *to, size_t bytes);

#endif
