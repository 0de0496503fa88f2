/* forward.h: a model ready to run over whole sequences: one compile for every length up to a
 * bound. Nothing is allocated while it runs. */
#ifndef HN_INFER_FORWARD_H
#define HN_INFER_FORWARD_H

#include "backend/program.h"
#include "infer/adapter.h"
#include "infer/run_spec.h"
#include "models/model.h"

typedef struct hn_forward hn_forward;

typedef struct hn_forward_options {
    int64_t max_tokens;
    bool gives_states; /* the states after the final norm in the logits' place: the head is neither computed nor read */
    bool wants_uses;   /* also what goes into every matrix: hn_forward_use */
    hn_dtype cache;    /* keys and values rounded as a session's cache of this type; HN_F32: not */
    const hn_adapters *adapters; /* NULL: none */
    const char *plan;  /* separate, reuse, inplace (NULL), poison */
} hn_forward_options;

/* The model must outlive it. */
hn_status hn_forward_new(hn_forward **out, hn_heap *heap, const hn_model *model,
                         hn_run_spec run, const hn_forward_options *options);
void hn_forward_free(hn_forward *forward); /* takes NULL */

/* One sequence of n tokens from position 0. HN_ERR_ARGUMENT names a token that the vocabulary
 * has not. */
hn_status hn_forward_run(hn_forward *forward, const int32_t *tokens, int64_t n,
                         const hn_run_options *options);

/* [n, vocabulary] f32, or states [n, width], until the next run. */
hn_status hn_forward_logits(const hn_forward *forward, hn_tensor *out);

/* What went into product i: [n, ...] and the experts' ids [n, used], ids->data NULL without. */
int hn_forward_uses(const hn_forward *forward);
hn_status hn_forward_use(const hn_forward *forward, int i, const nn_weight **weight,
                         hn_tensor *x, hn_tensor *ids);

size_t hn_forward_workspace(const hn_forward *forward);

#endif
