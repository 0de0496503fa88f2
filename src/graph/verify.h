/* verify.h: an independent reading of a plan, and the only way from a plan to something that runs.
 *
 * It shares no code with the planner. It walks the steps, keeps its own record of which bytes hold
 * which value, and refuses every overlap that the contracts of the ops and kernels do not allow, every
 * read of bytes that were overwritten, and every state that is updated before its last reader
 * (verify.c). It holds each step to the graph: the op that was asked for, on the values that it was
 * asked of, where its device can reach them, in memory large enough (verify_steps.c).
 *
 * A program is made of an hn_verified_plan, and nothing but hn_verified_plan_new makes one. */
#ifndef HN_GRAPH_VERIFY_H
#define HN_GRAPH_VERIFY_H

#include "graph/plan.h"

/* HN_ERR_PROOF, naming the step, the tensors and the bytes. `wanted`: what the plan was made for. */
hn_status hn_plan_verify(const hn_plan *plan, int n_wanted, hn_node *const *wanted);

typedef struct hn_verified_plan hn_verified_plan;

/* Takes the plan, also where it is refused. */
hn_status hn_verified_plan_new(hn_verified_plan **out, hn_plan *plan, int n_wanted,
                               hn_node *const *wanted);
void hn_verified_plan_free(hn_verified_plan *plan); /* takes NULL */
const hn_plan *hn_verified_plan_look(const hn_verified_plan *plan);

/* Its parts in verify_steps.c, for verify.c. */
hn_status hn_plan_verify_indices(const hn_plan *plan); /* nothing refers to what is not there */
hn_status hn_plan_verify_steps(const hn_plan *plan, int n_wanted, hn_node *const *wanted);

#endif
