/* plan.h: what running a model takes, before it runs. */
#ifndef HONE_PLAN_H
#define HONE_PLAN_H

#include "hone/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hn_lm_sizes {
    int64_t context;           /* of the session, where it was not said */
    uint64_t weights;          /* bytes, where they are mapped */
    uint64_t cache, workspace;
    uint64_t other;            /* tokenizer, names, graph, plan: all that is on the engine's heap by then */
} hn_lm_sizes;

/* Plans a session as hn_lm_session_new would make it, and allocates neither cache nor workspace. */
HN_API hn_status hn_lm_measure(hn_lm *lm, const hn_lm_session_options *options_or_null, hn_lm_sizes *out);

/* Whether copying weights into panels, which hn_lm_session_options.mapped leaves out, is worth it for so many tokens:
 * not for few, or where the copies would take more than half of the memory that is left. */
HN_API int32_t hn_lm_worth_copying(const hn_lm *lm, int64_t tokens);

#ifdef __cplusplus
}
#endif
#endif
