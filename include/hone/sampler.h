/* sampler.h: which token comes next. A draw is a function of the logits, the options, the seed and the token's number
 * among those that are generated: what `hone run` draws with the same. What was drawn before changes nothing, so a
 * sequence that is cut back and goes on, one that is forked, one whose first tokens were known, and one that was guessed
 * ahead and checked have the text of one that was drawn token by token. */
#ifndef HONE_SAMPLER_H
#define HONE_SAMPLER_H

#include "hone/grammar.h"
#include "hone/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller frees it; it holds its model, and its grammar. Used by one thread at a time. */
typedef struct hn_lm_sampler hn_lm_sampler;

typedef struct hn_lm_bias {
    size_t size; /* the same in all of a list */
    int32_t id;
    float bias; /* added to its logit; -INFINITY: never */
} hn_lm_bias;

/* Applied in this order: bias, penalties, grammar, top_k, top_p, min_p, temperature. */
typedef struct hn_lm_sampling {
    size_t size;
    uint64_t seed;
    float temperature;         /* 0: the likeliest, always */
    int32_t top_k;             /* 0: all */
    float top_p, min_p;        /* 0: off */
    float repetition;          /* divides what was said before; 0 or 1: off */
    float frequency, presence; /* taken off for each time, or once */
    int32_t last;              /* how far back these look; 0: everything */
    const hn_lm_bias *bias;    /* copied */
    int32_t n_bias;
    hn_lm_grammar *grammar;    /* of what is generated; held. NULL: any text */
} hn_lm_sampling;

/* What the program has when nothing is said: temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, no
 * penalties, seed 0. */
HN_API hn_status hn_lm_sampling_default(hn_lm_sampling *out, size_t size);

/* NULL: those. */
HN_API hn_status hn_lm_sampler_new(hn_lm_sampler **out, hn_lm *lm, const hn_lm_sampling *sampling_or_null);
HN_API void hn_lm_sampler_free(hn_lm_sampler *sampler); /* takes NULL */

/* Where generating begins: the token after n ids is generated token `number`, the one after n + k ids number + k. For a
 * sequence that was begun elsewhere: a fork, a text to go on with, the next turn of a conversation. Without it token 0 is
 * the one after the ids of the first draw, and so it is again after a draw with fewer ids. */
HN_API hn_status hn_lm_sampler_begin(hn_lm_sampler *sampler, size_t n, uint64_t number);

/* After these n ids, which penalties look at. hn_lm_vocabulary logits, of which none is changed. */
HN_API hn_status hn_lm_sampler_next(hn_lm_sampler *sampler, const float *logits, const int32_t *ids, size_t n,
                                    int32_t *out);
/* The same after a session's sequence; it is not fed with it. */
HN_API hn_status hn_lm_sampler_draw(hn_lm_sampler *sampler, const hn_lm_session *session, int32_t *out);

/* What a draw with these options means in this release, as recipes record it: "draw.1" with a top_k of 1 to 1,024, or a temperature of
 * 0, "draw.2" among all (docs/numerics.md). "" of NULL, or of a size that is not known. */
HN_API const char *hn_lm_sampling_definition(const hn_lm_sampling *sampling);

/* What a draw there is of, after all that is applied: the logarithm of the probability of `id`, -INFINITY if it is never drawn, and
 * the likeliest of those that are, of equals the lower id. *n_likeliest: at most so many, and then how many there are. */
HN_API hn_status hn_lm_sampler_foretell(hn_lm_sampler *sampler, const float *logits, const int32_t *ids, size_t n, int32_t id,
                                        double *log_probability, hn_lm_likely *likeliest, int32_t *n_likeliest);

#ifdef __cplusplus
}
#endif
#endif
