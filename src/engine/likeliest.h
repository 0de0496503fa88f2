/* likeliest.h: which tokens logits have the likeliest. */
#ifndef HN_ENGINE_LIKELIEST_H
#define HN_ENGINE_LIKELIEST_H

#include "hone/session.h"

/* At most `most` of them to `to`, the likeliest first, of equals the lower id: how many. `sum` is hn_log_sum of the logits. */
int32_t hn_likeliest(const float *logits, int64_t vocab, double sum, int32_t most, hn_lm_likely *to);

#endif
