/* plan_work.h: what a plan asks of its devices: how often each op runs, how much it computes and moves.
 * Of the most tokens that it is planned for, or of so many as are said. */
#ifndef HN_GRAPH_PLAN_WORK_H
#define HN_GRAPH_PLAN_WORK_H

#include "graph/plan.h"

typedef struct hn_op_work {
    const hn_op *op;
    int n;
    double flops, bytes; /* bytes: of inputs and outputs, each once a step */
} hn_op_work;

typedef struct hn_plan_work {
    hn_op_work all;      /* op: NULL */
    int n_views;         /* that cost nothing, and are not among `all` */
    int n_copies;        /* between devices */
    double arrives[HN_MAX_DEVICES]; /* bytes that these bring to each */
    int n_without_kernel;
    hn_op_work *ops;     /* those that compute most first */
    int n_ops;
} hn_plan_work;

/* `sizes`: of the graph's extents, as a program may be given them; NULL: their upper bounds. */
hn_status hn_plan_work_new(const hn_plan *plan, hn_heap *heap, const int64_t *sizes, hn_plan_work *out);
void hn_plan_work_free(hn_plan_work *work, hn_heap *heap);

#endif
