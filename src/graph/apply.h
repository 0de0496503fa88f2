/* apply.h: between graph.c, which keeps the list of applications, and apply.c, which checks them. */
#ifndef HN_GRAPH_APPLY_H
#define HN_GRAPH_APPLY_H

#include "graph/graph.h"

bool hn_graph_add_apply(hn_graph *g, hn_apply *apply);

#endif
