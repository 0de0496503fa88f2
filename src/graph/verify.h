/* verify.h: an independent reading of a plan. It shares no code with the planner: it walks the
 * steps, keeps its own record of which bytes hold which value, and refuses every overlap that the
 * contracts of the ops and kernels do not allow, every read of bytes that were overwritten, and
 * every state that is updated before its last reader. */
#ifndef HN_GRAPH_VERIFY_H
#define HN_GRAPH_VERIFY_H

#include "graph/plan.h"

/* HN_ERR_PROOF, naming the step, the tensors and the bytes. */
hn_status hn_plan_verify(const hn_plan *plan);

#endif
