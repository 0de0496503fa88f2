/* lm_grammar.h: a grammar on a model's vocabulary, which all its matchers share. */
#ifndef HN_ENGINE_LM_GRAMMAR_H
#define HN_ENGINE_LM_GRAMMAR_H

#include "base/os/threads.h"
#include "engine/lm.h"
#include "text/grammar/mask.h"

struct hn_lm_grammar {
    hn_engine *engine;
    atomic_int n_holders;
    hn_grammar *inner;
};

/* Of a model's list; under its lock. */
typedef struct hn_lm_bound {
    hn_lm_grammar *grammar; /* held */
    hn_masks *masks;
    hn_os_mutex lock; /* of the masks */
    int64_t n_users, used; /* used: the larger, the later */
    struct hn_lm_bound *next;
} hn_lm_bound;

hn_status hn_lm_bind(hn_lm *lm, hn_lm_grammar *grammar, hn_lm_bound **out);
void hn_lm_unbind(hn_lm *lm, hn_lm_bound *bound);

void hn_lm_grammar_hold(hn_lm_grammar *grammar);
void hn_lm_bounds_free(hn_lm *lm); /* when nobody holds the model any more */

/* A matcher after these ids, of which it has the first already where they are the same. HN_ERR_ARGUMENT: they are not allowed. */
hn_status hn_lm_matcher_set(hn_lm_matcher *matcher, const int32_t *ids, size_t n);

#endif
