/* metrics.h: metrics.jsonl of a run: a line for every step, evaluation, look at the experts and round of samples.
 * Time and memory are in it, so it differs from run to run; nothing reads it to compute. */
#ifndef HN_TRAIN_METRICS_H
#define HN_TRAIN_METRICS_H

#include "base/json.h"
#include "base/out_file.h"
#include "train/evaluator.h"
#include "train/learner.h"
#include "train/prompts.h"

typedef struct hn_step_report {
    int64_t step, n_steps; /* steps done, of how many */
    double loss, grad_norm, rate, epoch;
    int64_t tokens, supervised; /* of this step */
    int n_micro;
    double seconds;        /* it took */
    size_t resident_bytes; /* now */
} hn_step_report;

typedef struct hn_metrics {
    hn_heap *heap;
    hn_out_file file;
    hn_str line;
    bool has_samples; /* when it was opened there was a line of samples of that step */
} hn_metrics;

/* Goes on with `path`: lines of steps past `step` are cut off, as is half a line. */
hn_status hn_metrics_open(hn_metrics *metrics, hn_heap *heap, const char *path, int64_t step);
void hn_metrics_close(hn_metrics *metrics); /* takes a zeroed one */

hn_status hn_metrics_step(hn_metrics *metrics, const hn_step_report *report);
hn_status hn_metrics_evaluation(hn_metrics *metrics, int64_t step, const hn_evaluation *result);
hn_status hn_metrics_verdict(hn_metrics *metrics, int64_t step, const char *verdict);
/* What is answered to them by now. */
hn_status hn_metrics_samples(hn_metrics *metrics, int64_t step, const hn_prompts *prompts, const hn_str *answers);
/* Tokens that every expert of every layer got in the last step, and the norms of its gradients. */
hn_status hn_metrics_experts(hn_metrics *metrics, int64_t step, hn_learner *learner);

/* RssAnon + RssFile; 0 where it cannot be known. */
size_t hn_resident_bytes(void);

#endif
