/* diff.h: reverse mode over op descriptors. It emits nodes and touches no data.
 *
 * Refused, while the graph is built: a loss that does not depend on a parameter; a path to a
 * parameter through an op without a backward, or through an input that has none. */
#ifndef HN_DIFF_DIFF_H
#define HN_DIFF_DIFF_H

#include "ops/ops.h"

typedef struct hn_diff_options {
    /* Keep every n-th layer boundary (hn_graph_boundary) and recompute what lies between while
     * going back; 0 keeps everything. */
    int recompute_every;
    /* Let every sum over tokens, the loss too, continue from micro-batch to micro-batch through an
     * accumulator (HN_LEAF_ACC) of its own. What sums over a batch and cannot is refused. */
    bool accumulate;
} hn_diff_options;

/* Emits d loss / d params[i] into grads[i]. `loss` has one element; with `accumulate` the loss
 * node itself becomes the running sum. */
hn_status hn_diff(hn_graph *g, hn_node *loss, int n_params, hn_node *const *params,
                  const hn_diff_options *options, hn_node **grads);

#endif
