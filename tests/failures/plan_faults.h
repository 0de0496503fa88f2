/* plan_faults.h: the planner with one fault planted in the plan that is made next: linked in the
 * library's plan.c's stead. */
#ifndef TESTS_FAILURES_PLAN_FAULTS_H
#define TESTS_FAILURES_PLAN_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of fault, by the stage that they are planted after: lowering, lifetimes, offsets. */
#define PLAN_FAULT_LIST(X)                                                                     \
    X(other_input) X(other_result) X(swapped_steps) X(moved_view) X(small_root) X(small_scratch)  \
    X(lost_update) X(wider_alias) X(other_attributes) X(other_copy)                            \
    X(freed_early) X(born_late) X(merged_roots) X(moved_root) X(small_workspace) X(took_over)

typedef enum plan_fault {
#define PLAN_FAULT(name) FAULT_##name,
    PLAN_FAULT_LIST(PLAN_FAULT)
#undef PLAN_FAULT
        N_PLAN_FAULTS
} plan_fault;

extern const char *const plan_fault_names[N_PLAN_FAULTS];

typedef struct plan_faults {
    bool is_armed;
    plan_fault kind;
    int plan;       /* the how manieth plan from now on; from 0 */
    uint64_t seed;  /* where in it */
    bool was_planted;
    int n_plans;    /* made since the counter was set to 0 */
    char where[200];
} plan_faults;

extern plan_faults planted;

#endif
