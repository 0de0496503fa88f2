/* oracle.h: what a graph means, in double precision: every float node in f64 and in memory of its
 * own, every op by its own forward, nothing reused. Casts and roundings to narrower types become
 * the identity, because outputs are f64 whatever the graph says. It shares nothing with the
 * planner or with kernels. */
#ifndef HN_PROVE_ORACLE_H
#define HN_PROVE_ORACLE_H

#include "graph/graph.h"

typedef struct hn_oracle hn_oracle;

/* Evaluates what `wanted` needs. The graph must outlive it. */
hn_status hn_oracle_new(hn_oracle **out, const hn_graph *g, int n_wanted,
                        hn_node *const *wanted);
void hn_oracle_free(hn_oracle *o);

/* Gives a leaf its value: floats and blocks become f64, integers are copied. Constants have theirs
 * already; a leaf that is never given is zero. */
hn_status hn_oracle_give(hn_oracle *o, const hn_leaf *leaf, const hn_tensor *value);

/* The leaf's value, to be moved about: f64, or integers as they are. */
hn_tensor *hn_oracle_leaf(hn_oracle *o, const hn_leaf *leaf);

/* Evaluates. With `watch`, integer results, and the sides of kinks on which values lie, are compared with those
 * of the last run without it: *moved says that a discrete choice changed, or that a kink lies between. */
hn_status hn_oracle_run(hn_oracle *o, bool watch, bool *moved);

const hn_tensor *hn_oracle_value(const hn_oracle *o, const hn_node *node);

#endif
