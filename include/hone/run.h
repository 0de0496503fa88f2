/* run.h: a plan with memory and kernels: computes wanted nodes, any number of times.
 *
 * All memory is reserved by hn_exec_new; running allocates nothing. */
#ifndef HONE_RUN_H
#define HONE_RUN_H

#include "hone/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller frees it, before its engine; it holds the builder's graph, which it reads and does not change. Used by one thread
 * at a time; of several that are made of one builder, each may have a thread of its own. */
typedef struct hn_exec hn_exec;

/* How a plan lays out its memory, by number. The results have the same bits. */
typedef enum hn_exec_plan {
    HN_EXEC_INPLACE,  /* "inplace", or NULL: memory is used again, and outputs take inputs over */
    HN_EXEC_SEPARATE, /* "separate": everything has memory of its own */
    HN_EXEC_REUSE,    /* "reuse": memory is used again, and nothing is taken over */
    HN_EXEC_POISON    /* "poison": as inplace, and what is dead is filled with NaN */
} hn_exec_plan;
HN_API hn_status hn_exec_plan_named(const char *word_or_null, hn_exec_plan *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_exec_plan_name(hn_exec_plan plan); /* "" of a number that is none */

/* plan: as hn_exec_plan_name gives it, or NULL. Every plan is verified. Ended by hn_engine_cancel. */
HN_API hn_status hn_exec_new(hn_exec **out, hn_builder *builder, int32_t n_wanted,
                             hn_node *const *wanted, const char *plan);
HN_API void hn_exec_free(hn_exec *exec); /* takes NULL */

/* Copies into a leaf's memory: as many bytes as the leaf has, or fewer for smaller extents; a run that reads more of an input or a
 * weight than was last written of it is HN_ERR_ARGUMENT. */
HN_API hn_status hn_exec_write(hn_exec *exec, const hn_node *leaf, const void *data, size_t bytes);
HN_API hn_status hn_exec_extent(hn_exec *exec, int32_t extent, int64_t size);
HN_API hn_status hn_exec_run(hn_exec *exec);
/* Copies wanted node number `index` out, packed, in its own element type. */
HN_API hn_status hn_exec_read(const hn_exec *exec, int32_t index, void *to, size_t bytes);
/* Copies a leaf out: weights and states after updates. */
HN_API hn_status hn_exec_read_leaf(const hn_exec *exec, const hn_node *leaf, void *to, size_t bytes);
/* The shape of wanted node `index` in the last run. */
HN_API hn_status hn_exec_shape(const hn_exec *exec, int32_t index, hn_shape *out, size_t size);

/* Bytes of workspace over all devices. */
HN_API size_t hn_exec_workspace(const hn_exec *exec);

#ifdef __cplusplus
}
#endif
#endif
