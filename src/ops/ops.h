/* ops.h: every op by name and by constructor, made from the one list in ops.def. */
#ifndef HN_OPS_OPS_H
#define HN_OPS_OPS_H

#include "base/mathfn.h"
#include "graph/graph.h"

#include <math.h>

typedef struct hn_rope_spec hn_rope_spec; /* ops/rope_table.h */

#define HN_OP(op, ...) extern const hn_op hn_op_##op;
#include "ops/ops.def"
#undef HN_OP

#define HN_OP(op, ...) hn_node *hn_##op(hn_graph *g, __VA_ARGS__);
#include "ops/ops.def"
#undef HN_OP

/* Every op, in the order of the list, NULL at the end. */
extern const hn_op *const hn_ops[];

const hn_op *hn_op_find(const char *name); /* NULL if unknown */

/* HN_APPLY(g, &hn_op_x, &(attrs){ ... }, inputs ...): the last line of every constructor. */
#define HN_APPLY(g, op, attrs, ...)                                                            \
    hn_graph_apply(g, op, attrs,                                                               \
                   (int)(sizeof((hn_node *[]){ __VA_ARGS__ }) / sizeof(hn_node *)),            \
                   (hn_node *[]){ __VA_ARGS__ })

/* Applies an op by name with "key=value ..." attributes. */
hn_node *hn_apply_named(hn_graph *g, const char *name, const char *attrs, int n_in,
                        hn_node *const *in);

/* The same with attributes by value. */
hn_node *hn_apply_values(hn_graph *g, const char *name, int n_values, const hn_attr_value *values,
                         int n_in, hn_node *const *in);

/* ---- what backwards share ---- */

/* dy summed over the dimensions along which `x` was broadcast: the gradient of `x`. */
hn_node *hn_unbroadcast(hn_graph *g, hn_node *dy, hn_node *x);
/* x as [rows, last dimension], without copying where its strides allow. */
hn_node *hn_as_rows(hn_graph *g, hn_node *x);
hn_node *hn_reshape_like(hn_graph *g, hn_node *x, hn_node *like);
/* x, or a contiguous copy of it: what views that need_contiguous are applied to. */
hn_node *hn_packed(hn_graph *g, hn_node *x);

/* The type rule of maps: output as input `i`. */
hn_status hn_infer_like(const hn_call *call, int i, hn_type *out);

#endif
