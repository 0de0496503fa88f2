/* place.h: on which device each leaf of a graph lies, decided once for all programs of the graph.
 *
 *     inputs, numbers of a step, constants   where the host writes them: a device with memory of its own
 *                                            gets copies, which are steps of the plan
 *     weights, states, sums                  on the device that was asked for, or beside their parameter;
 *                                            on the host where a device cannot run what updates them
 *     weights that are streamed              with the host; what reads them runs where they were asked for
 *
 * And in which layout a weight is read there: as it lies, or in plain rows where that device does not read its layout. */
#ifndef HN_GRAPH_PLACE_H
#define HN_GRAPH_PLACE_H

#include "graph/plan.h"

/* The device that a leaf was asked to lie on, or that its parameter was. */
int hn_leaf_asked(const hn_leaf *leaf, int n_targets, const hn_target *targets);
/* `place`: g->n_leaves entries. One target at least has the host's memory. */
hn_status hn_place_leaves(const hn_graph *g, int n_targets, const hn_target *targets, int *place);
/* The first target whose memory is the host's; -1: none. */
int hn_host_target(int n_targets, const hn_target *targets);

/* Whether the target's kernels read a layout; every one reads plain rows. */
bool hn_target_reads(const hn_target *target, const hn_layout *layout);
/* The type of a contiguous tensor's copy on a target. */
hn_type hn_type_on(const hn_target *target, const hn_type *type);

#endif
