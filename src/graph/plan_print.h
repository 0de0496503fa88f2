/* plan_print.h: a plan for people: as text, a line a step, or as a picture. */
#ifndef HN_GRAPH_PLAN_PRINT_H
#define HN_GRAPH_PLAN_PRINT_H

#include "base/str.h"
#include "graph/plan.h"

/* Steps with their types, places and take-overs; then bytes. */
void hn_plan_text(const hn_plan *plan, hn_str *out);

/* SVG: steps to the right, bytes upwards, one box a tensor; each device below the last. */
void hn_plan_svg(const hn_plan *plan, hn_str *out);

#endif
