/* graph_same.h: whether two graphs compute the same: the same applications in the same order, of the
 * same inputs, with the same attributes to the bit, over leaves of the same names, types and
 * constants. */
#ifndef HN_GRAPH_GRAPH_SAME_H
#define HN_GRAPH_GRAPH_SAME_H

#include "graph/graph.h"

/* HN_ERR_FORMAT names the first place where they part, as `a` has it and as `b` has it. */
hn_status hn_graph_same(const hn_graph *a, const hn_graph *b);

#endif
