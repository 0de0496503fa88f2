/* merge.h: a model with an adapter's changes in its weights, as a GGUF file; and what of the changes
 * is left in it.
 *
 * Weights in few bits round small changes away. So every tensor's share that survives is measured
 * (merge_rows.h), and the divergence KL(adapter || merged) over a held-out text; a file that fails
 * either budget is not kept. Tensors are streamed: memory is a few rows, the workspaces of two runs,
 * and the adapter. */
#ifndef HN_CONVERT_MERGE_H
#define HN_CONVERT_MERGE_H

#include "convert/merge_rows.h"
#include "infer/divergence.h"

typedef struct hn_merge_options {
    bool has_dtype;  /* every changed matrix gets `dtype`, or what its rows allow; else its own */
    hn_dtype dtype;
    double most_kl;    /* nats a token */
    double least_kept; /* share of all changes together; as much more than all is too much */
    bool is_forced;    /* the file is kept whatever is measured */
    hn_span template;  /* the result's chat template; data NULL: what the adapters carry, or the model's */
    hn_divergence_text text;
} hn_merge_options;

typedef struct hn_merged {
    const char *name; /* the model's */
    hn_dtype from, to;
    hn_merge_sums sums;
} hn_merged;

typedef struct hn_merge_report {
    hn_heap *heap;
    hn_merged *tensors; /* those changed, in the file's order */
    size_t n;
    double kept;        /* of all together */
    double kl, kl_base; /* KL(adapter || merged), KL(adapter || base) */
    bool fits;          /* both budgets hold, and the base itself is no nearer to the adapter */
    bool has_better;    /* if not: a type that would do was found */
    hn_dtype better;
} hn_merge_report;

/* The model must be a GGUF file; `adapters` holds those to merge, opened for it. The report is
 * filled in also when it fails with HN_ERR_NUMERIC because the budgets do not hold: then nothing is
 * written. Free it always. */
hn_status hn_merge(hn_heap *heap, hn_pool *pool, hn_run_spec run, const hn_model *model,
                   const hn_adapters *adapters, hn_sink out, const hn_merge_options *options,
                   hn_watch *watch, hn_merge_report *report);
void hn_merge_report_free(hn_merge_report *report); /* takes a zeroed one */

#endif
