/* log_sum.h: what logits are taken down by to become log-probabilities. */
#ifndef HN_INFER_LOG_SUM_H
#define HN_INFER_LOG_SUM_H

#include <stdint.h>

/* The logarithm of the sum of their exponentials, added up in their order; *best is the first of the
 * largest. Not finite where the logits are not. */
double hn_log_sum(const float *logits, int64_t n, int64_t *best);

#endif
