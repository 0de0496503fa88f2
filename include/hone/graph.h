/* graph.h: building computations.
 *
 * Building is sticky: after a failure every function returns a node that may be passed on, does
 * nothing, and hn_builder_status reports the first failure. Nodes of another builder are refused. */
#ifndef HONE_GRAPH_H
#define HONE_GRAPH_H

#include "hone/engine.h"
#include "hone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A graph, and what it is built with. The caller frees it, before its engine; what is made of it (hn_exec, hn_trainer) holds the
 * graph, and may be freed after it. Used by one thread at a time. While what was made of it runs on other threads, nothing is
 * built. */
typedef struct hn_builder hn_builder;
/* A value. The graph's own, never freed alone: it lives as long as the builder, and as what holds the graph. Used by the
 * thread that uses one of these. */
typedef struct hn_node hn_node;

HN_API hn_status hn_builder_new(hn_builder **out, hn_engine *engine);
HN_API void hn_builder_free(hn_builder *builder); /* takes NULL */
HN_API hn_status hn_builder_status(const hn_builder *builder);

/* A size that may be smaller in a run: pass -1 - extent as a dimension of an input. */
HN_API int32_t hn_builder_extent(hn_builder *builder, const char *name, int64_t max);

/* What a leaf is, by number. */
typedef enum hn_builder_kind {
    HN_BUILDER_INPUT,  /* "input": differs between micro-batches */
    HN_BUILDER_STEP,   /* "step": the same for all of a step */
    HN_BUILDER_WEIGHT, /* "weight" */
    HN_BUILDER_STATE   /* "state" */
} hn_builder_kind;
HN_API hn_status hn_builder_kind_named(const char *word, hn_builder_kind *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_builder_kind_name(hn_builder_kind kind); /* "" of a number that is none */

/* kind: as hn_builder_kind_name gives it. A frozen weight may have a packed layout, type "q4_k@panel16": it is written as plain
 * rows, all at once, and takes no other memory. */
HN_API hn_node *hn_builder_leaf(hn_builder *builder, const char *kind, const char *name,
                                const char *type, int32_t rank, const int64_t *dim);
/* Puts a leaf on device number `device` of the engine. */
HN_API void hn_builder_place(hn_builder *builder, hn_node *leaf, int32_t device);
HN_API hn_node *hn_builder_constant(hn_builder *builder, const char *type, int32_t rank,
                                    const int64_t *dim, const void *data);

/* Applies an op as `hone op --list` shows it: attributes "key=value ...", or NULL; optional inputs
 * may be NULL. Returns output 0. */
HN_API hn_node *hn_builder_op(hn_builder *builder, const char *op, const char *attributes,
                              int32_t n_in, hn_node *const *in);
/* The same with attributes by value: no number passes as text. */
typedef enum hn_attribute_kind {
    HN_ATTRIBUTE_NUMBER,   /* of floats */
    HN_ATTRIBUTE_INTEGER,  /* of integers, and 0 or 1 */
    HN_ATTRIBUTE_INTEGERS, /* of lists */
    HN_ATTRIBUTE_WORD      /* of choices */
} hn_attribute_kind;

typedef struct hn_attribute {
    size_t size; /* the same in all of a list */
    const char *name;
    hn_attribute_kind kind;
    double number;
    int64_t integer;
    const int64_t *integers;
    int32_t n_integers;
    const char *word;
} hn_attribute;

HN_API hn_node *hn_builder_apply(hn_builder *builder, const char *op, int32_t n_attributes,
                                 const hn_attribute *attributes, int32_t n_in, hn_node *const *in);
HN_API hn_node *hn_builder_output(hn_node *node, int32_t index);

/* Where in the model the next nodes are ("blk.3"), for messages and random numbers. */
HN_API void hn_builder_scope(hn_builder *builder, const char *scope);
/* Marks the end of a layer, for recomputation. */
HN_API hn_node *hn_builder_boundary(hn_builder *builder, hn_node *node);

/* d loss / d params[i]. recompute_every: keep every n-th layer boundary; 0 keeps all values. Ended by hn_engine_cancel: what
 * was built then is a failed builder's, HN_ERR_CANCELLED, and built anew it gives what it gives. */
HN_API hn_status hn_builder_gradients(hn_builder *builder, hn_node *loss, int32_t n,
                                      hn_node *const *params, int32_t recompute_every,
                                      hn_node **gradients);

HN_API hn_status hn_node_shape(const hn_node *node, hn_shape *out, size_t size);
HN_API const char *hn_node_type(const hn_node *node); /* the element type's name */

#ifdef __cplusplus
}
#endif
#endif
