/* divergence.h: how far one run of a model is from another: KL(p || q), nats a token, over a text.
 *
 * The text is cut into chunks that are run apart; every token of them counts. */
#ifndef HN_INFER_DIVERGENCE_H
#define HN_INFER_DIVERGENCE_H

#include "infer/forward.h"

/* A model, and what is applied to it. */
typedef struct hn_run_side {
    const hn_model *model;
    const hn_adapters *adapters; /* or NULL */
} hn_run_side;

typedef struct hn_divergence_text {
    const int32_t *tokens;
    size_t n;
    int64_t chunk; /* tokens run together */
    int32_t bos;   /* begins each chunk; -1: none */
} hn_divergence_text;

/* Both by the same run. HN_ERR_NUMERIC if logits are not finite. */
hn_status hn_divergence(hn_heap *heap, hn_run_spec run, const hn_run_side *p,
                        const hn_run_side *q, const hn_divergence_text *text, double *out);

#endif
