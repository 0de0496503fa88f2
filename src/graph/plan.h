/* plan.h: what runs, in which order, where, and in which memory: decided before anything is
 * allocated. A plan refers to its graph and dies before it.
 *
 * A step is one op on values; a value lies in a root, which is either a leaf's storage or a range
 * of a device's workspace. Several values share a root when one is a view of another or took its
 * memory over. Sizes are upper bounds: extents may be smaller in a run. */
#ifndef HN_GRAPH_PLAN_H
#define HN_GRAPH_PLAN_H

#include "base/word_list.h"
#include "graph/graph.h"

enum { HN_MAX_DEVICES = 8, HN_NO_VALUE = -1, HN_PLAN_ALIGNMENT = 64 };

/* Memory is reused, and outputs take inputs over: the default; every root has memory of its own; memory is reused, and nothing
 * taken over; as inplace, and dead bytes are filled with NaN between steps. */
#define HN_PLAN_MODE_LIST(HEAD, NEXT, TAIL)                                                   \
    HEAD(INPLACE, "inplace") NEXT(SEPARATE, "separate") NEXT(REUSE, "reuse") TAIL(POISON, "poison")
#define HN_PLAN_MODE_WORDS HN_PLAN_MODE_LIST(HN_WORD_HEAD, HN_WORD_NEXT, HN_WORD_TAIL)

typedef enum hn_plan_mode {
#define HN_PLAN_MODE_ENUM(NAME, word) HN_PLAN_##NAME,
    HN_PLAN_MODE_LIST(HN_PLAN_MODE_ENUM, HN_PLAN_MODE_ENUM, HN_PLAN_MODE_ENUM)
#undef HN_PLAN_MODE_ENUM
    HN_N_PLAN_MODES
} hn_plan_mode;

const char *hn_plan_mode_name(hn_plan_mode mode);
hn_status hn_plan_mode_parse(const char *word, hn_plan_mode *out);

/* What a device says of one call while planning. */
typedef struct hn_support {
    bool runs;                          /* false: not on this device; the host does it */
    bool has_kernel;                    /* false: the op's own forward runs */
    unsigned may_overwrite[HN_MAX_OUT]; /* narrows the op's contract */
    unsigned contiguous;                /* inputs that must be contiguous */
    unsigned packed;                    /* inputs that may have a packed layout */
    size_t shared_scratch;              /* bytes for the whole call */
    size_t thread_scratch;              /* bytes for each thread */
} hn_support;

/* A device, seen from planning. */
typedef struct hn_target {
    const void *device;
    int n_threads;
    bool is_host;  /* its memory is the host's */
    bool is_spare; /* for what others cannot: nothing is asked to lie there */
    const hn_layout *const *layouts; /* that its kernels read, NULL after the last */
    void (*supports)(const void *device, const hn_call *call, hn_support *out);
} hn_target;

typedef struct hn_value {
    hn_type type;
    int root;
    int64_t at; /* byte offset in the root */
    int step;   /* that makes it, or HN_NO_VALUE for a leaf */
} hn_value;

typedef struct hn_root {
    const hn_leaf *leaf; /* NULL: workspace */
    int device;          /* of a leaf's: its own, or another that keeps a copy of a weight that no step updates */
    size_t bytes, offset; /* in the device's workspace */
    int first, last;      /* steps between which it is alive; last = n_steps: until the end */
    bool is_scratch;
} hn_root;

typedef struct hn_step {
    const hn_op *op;
    const void *attrs;
    const hn_apply *apply; /* NULL: a copy that the planner inserted */
    int n_in, n_out, device;
    int in[HN_MAX_IN], out[HN_MAX_OUT]; /* values, or HN_NO_VALUE */
    int took[HN_MAX_OUT];               /* input whose memory the output took, or -1 */
    int scratch;                        /* root, or -1 */
    bool crosses;                       /* copies from another device */
    hn_support support;
} hn_step;

typedef struct hn_plan_options {
    hn_plan_mode mode;
    /* Sums over tokens are finished: accumulators are read, not computed. */
    bool sums_are_given;
    /* Who runs it looks at its results, and says more of one that is no number than the graph's guard. */
    bool results_are_judged;
    const hn_op *copy; /* the op that copies: between devices, and to make inputs contiguous */
} hn_plan_options;

typedef struct hn_plan {
    hn_heap *heap;
    const hn_graph *g;
    hn_plan_options options;
    hn_target targets[HN_MAX_DEVICES];
    int n_devices;
    int *place; /* by leaf id: its device (place.h) */
    hn_step *steps;
    hn_value *values;
    hn_root *roots;
    int n_steps, n_values, n_roots;
    int steps_room, values_room, roots_room;
    int *leaf_value;    /* by leaf id: its first value, or HN_NO_VALUE */
    int *result;        /* value of each wanted node */
    int n_results;
    size_t workspace[HN_MAX_DEVICES]; /* bytes */
} hn_plan;

hn_status hn_plan_new(hn_plan **out, const hn_graph *g, int n_wanted, hn_node *const *wanted,
                      int n_devices, const hn_target *devices, const hn_plan_options *options);
void hn_plan_free(hn_plan *plan);

/* Whether a root is a weight's copy on another device than the weight's own. */
static inline bool hn_root_is_copy(const hn_plan *plan, const hn_root *root)
{
    return root->leaf && root->device != plan->place[root->leaf->id];
}

/* The value that `value` is a view of, through any number of views; itself if it is none. */
int hn_plan_source(const hn_plan *plan, int value);
bool hn_step_is_view(const hn_step *step);

/* ---- the stages, in their order; each in its own file ---- */

hn_status hn_plan_lower(hn_plan *plan, int n_wanted, hn_node *const *wanted); /* steps, values */
hn_status hn_plan_lifetimes(hn_plan *plan);                                   /* and take-overs */
hn_status hn_plan_offsets(hn_plan *plan);                                     /* and workspace */

#endif
