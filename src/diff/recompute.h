/* recompute.h: which forward values the backward may read, and clones of the others.
 *
 * Layers between two kept boundaries form a group. A backward in a group reads the group's first
 * input and the parameters; everything else it needs is computed again, by the same ops with the
 * same attributes (and so the same random numbers): the same bits for less memory. */
#ifndef HN_DIFF_RECOMPUTE_H
#define HN_DIFF_RECOMPUTE_H

#include "graph/graph.h"

typedef struct hn_recompute {
    hn_graph *g;
    int every;         /* 0: nothing is recomputed */
    int n_nodes;       /* nodes of the forward graph */
    hn_node **clone;   /* by node id; NULL until needed */
    bool *is_kept;     /* by node id */
    int last_group;    /* the group of the loss is still in memory */
} hn_recompute;

hn_status hn_recompute_init(hn_recompute *r, hn_graph *g, int every);
void hn_recompute_free(hn_recompute *r);

/* The node through which the backward may read `node`'s value. */
hn_node *hn_recompute_saved(hn_recompute *r, hn_node *node);

#endif
