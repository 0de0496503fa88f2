/* graph.h: a graph under construction: an arena of leaves and applications.
 *
 * Building is sticky: after a failure, builders return &g->poison and do nothing, and
 * hn_graph_finish reports the first failure. Nodes die with their graph. The order of creation is
 * the order of execution. */
#ifndef HN_GRAPH_GRAPH_H
#define HN_GRAPH_GRAPH_H

#include "base/heap.h"
#include "graph/op.h"

typedef enum hn_leaf_kind {
    HN_LEAF_INPUT,    /* differs from micro-batch to micro-batch */
    HN_LEAF_STEP,     /* the same for all micro-batches of a step: learning rate, global count */
    HN_LEAF_CONSTANT, /* data kept by the graph */
    HN_LEAF_WEIGHT,   /* a parameter; may be updated */
    HN_LEAF_STATE,    /* KV, moments: kept from run to run; may be updated */
    HN_LEAF_ACC       /* a state that a step zeroes at its start and sums into */
} hn_leaf_kind;

enum { HN_MAX_EXTENTS = 16, HN_ANY_DEVICE = -1 };

/* Storage that outlives a run. `version` counts its updates while the graph is built. */
typedef struct hn_leaf {
    hn_leaf_kind kind;
    const char *name;
    hn_type type;
    int extent[HN_MAX_RANK]; /* 1 + index into the graph's extents; 0: fixed */
    int id, version;
    int device;              /* HN_ANY_DEVICE: decided when planned */
    int stretch;             /* 1 or more, of a weight: it stays with the host and is sent to its device for each run of ops
                              * that read weights of this number, ahead of them; 0: it lies on its device */
    struct hn_leaf *beside;  /* lives where that one lives; or NULL */
    void *data;              /* constants */
    hn_node *node;           /* the present version */
} hn_leaf;

typedef struct hn_apply hn_apply;

/* One value. */
struct hn_node {
    hn_type type;
    hn_apply *by;  /* NULL for leaves */
    int out_index; /* which output of `by` */
    hn_leaf *leaf; /* the leaf in whose storage it lies, or NULL */
    int version;   /* of that storage */
    bool is_per_batch; /* depends on an HN_LEAF_INPUT otherwise than through a state */
    int id;
    const struct hn_graph *graph; /* that it is a node of */
};

/* One application of an op. */
struct hn_apply {
    const hn_op *op;
    void *attrs;
    int n_in, n_out;
    hn_node *in[HN_MAX_IN];
    hn_node *out[HN_MAX_OUT];
    const char *scope; /* "blk.3": where in the model; "" at the top */
    int id;
    int segment;      /* which stretch between two layer boundaries */
    bool is_backward; /* emitted by reverse mode */
};

typedef struct hn_extent {
    const char *name;
    int64_t max;
} hn_extent;

/* Who stands for what a graph computes, set by who built it: whatever runs it asks. */
typedef struct hn_graph_guard {
    const void *context;
    /* Before the leaves get their memory. */
    hn_status (*begins)(const void *context);
    /* After a run, before anybody sees a result: is what was read still what it was. */
    hn_status (*ran)(const void *context);
    /* A run that an op ended by a number that is none (hn_op.finite): a message that says where it comes from. */
    hn_status (*met)(const void *context);
    /* And each result, unless who runs it looks at them with more knowledge. */
    hn_status (*gave)(const void *context, const hn_tensor *result);
} hn_graph_guard;

struct hn_graph {
    hn_heap *heap;
    hn_graph_guard guard; /* zeros: nobody */
    hn_status status;
    char *message; /* of the first failure */
    hn_node poison;
    struct hn_chunk *chunks; /* arena */
    hn_apply **applies;
    hn_leaf **leaves;
    int n_applies, n_leaves, n_nodes;
    int applies_room, leaves_room;
    hn_extent extents[HN_MAX_EXTENTS];
    int n_extents;
    const char *scope;
    int in_scope; /* applications since the scope was entered */
    int segment;
    hn_node **boundaries; /* the value that ends each segment */
    int boundaries_room;
    bool is_backward;
};

hn_status hn_graph_new(hn_graph **out, hn_heap *heap);
void hn_graph_free(hn_graph *g);

/* The first failure of building, or HN_OK. */
hn_status hn_graph_finish(hn_graph *g);

/* Records a failure; returns the poison. */
hn_node *hn_graph_fail(hn_graph *g, hn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a failure whose message this thread already holds. */
hn_node *hn_graph_failed(hn_graph *g, hn_status status);

/* Zeroed memory that lives as long as the graph; NULL after recording a failure. */
void *hn_graph_alloc(hn_graph *g, size_t bytes);
const char *hn_graph_text(hn_graph *g, const char *text);

/* The scope of what follows: "blk.3". Names stay stable from build to build. */
void hn_graph_scope(hn_graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A key for random numbers: the same in every build of this model at this place. */
uint64_t hn_graph_key(const hn_graph *g, const char *op_name);

/* Declares a size that may be smaller when running. Pass the result of hn_extent_dim as a
 * dimension of an input. */
int hn_graph_extent(hn_graph *g, const char *name, int64_t max);
static inline int64_t hn_extent_dim(int extent)
{
    return -1 - (int64_t)extent;
}

/* Leaves. `dim` may hold hn_extent_dim values. */
hn_node *hn_graph_leaf(hn_graph *g, hn_leaf_kind kind, const char *name, hn_dtype dtype, int rank,
                       const int64_t *dim);
/* A weight in a layout: frozen, unless plain; its dimensions are fixed. */
hn_node *hn_graph_weight(hn_graph *g, const char *name, hn_dtype dtype, const hn_layout *layout, int rank,
                         const int64_t *dim);
/* A constant; the elements are copied. */
hn_node *hn_graph_constant(hn_graph *g, const char *name, const hn_type *type, const void *data);
hn_node *hn_graph_scalar(hn_graph *g, float value);
hn_node *hn_graph_ints(hn_graph *g, int n, const int32_t *values);

/* Applies an op: types are inferred, the versions of states are checked, attrs are copied. Returns
 * output 0. Optional inputs may be NULL; n_in may leave trailing ones out. */
hn_node *hn_graph_apply(hn_graph *g, const hn_op *op, const void *attrs, int n_in,
                        hn_node *const *in);

/* Lets the op that made `sum` start from, and store into, the accumulator `acc` (a leaf). */
hn_status hn_graph_attach_acc(hn_graph *g, hn_node *sum, hn_node *acc);

/* Marks `x` as the end of a layer: reverse mode may keep it and recompute what lies between. */
hn_node *hn_graph_boundary(hn_graph *g, hn_node *x);

static inline hn_node *hn_output(hn_node *node, int index)
{
    return node->by && index < node->by->n_out ? node->by->out[index] : node;
}
static inline bool hn_is_poison(const hn_graph *g, const hn_node *node)
{
    return node == &g->poison;
}

/* "blk.3/rms_norm#12", for messages. Returns `text`. */
enum { HN_NODE_TEXT = 160 };
const char *hn_node_text(const hn_node *node, char *text);
const char *hn_apply_text(const hn_apply *apply, char *text);

/* Types of a call's outputs and the bytes of a view's offset, from the call's inputs. */
hn_status hn_call_infer(const hn_call *call, hn_type *out, int64_t *view_at);

#endif
