/* session_state.h: what a session holds; for session.c and session_file.c. */
#ifndef HN_INFER_SESSION_STATE_H
#define HN_INFER_SESSION_STATE_H

#include "infer/compiled.h"
#include "infer/session.h"

struct hn_session {
    hn_heap *heap;
    const hn_model *model;
    const hn_adapters *adapters; /* or NULL */
    hn_run_spec run;
    bool packs;
    hn_dtype cache;
    hn_compiled c;
    int64_t n_ctx, max_batch;
    int64_t ring;   /* rows of layers with a window, whose keys wrap around; 0: none does */
    int64_t length; /* tokens held */
    int64_t first;  /* layers with a window hold keys [first, length) */
    int32_t *held;  /* [n_ctx] the tokens whose keys are in the cache */
    int32_t *tokens, *positions, *ring_slots, *spans, row; /* of a batch */
    const float *logits;
};

/* Whether a leaf of its graph is part of the cache. */
static inline bool hn_session_caches(const hn_leaf *leaf)
{
    return leaf->kind == HN_LEAF_STATE;
}

static inline bool hn_session_wraps(const hn_session *s, const hn_leaf *leaf)
{
    return s->ring > 0 && leaf->type.dim[0] == s->ring;
}

#endif
