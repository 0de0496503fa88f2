/* session.h: a sequence on a model, and what it says comes next.
 *
 * The logits have the bits that running the sequence at once would give, however it was fed, cut back
 * and fed again: what is known is not computed again. After hn_lm_session_new feeding allocates nothing. */
#ifndef HONE_SESSION_H
#define HONE_SESSION_H

#include "hone/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller frees it; it holds its model. Used by one thread at a time. */
typedef struct hn_lm_session hn_lm_session;

/* Types of keys and values in a cache, by number. */
typedef enum hn_lm_cache {
    HN_LM_CACHE_F32, /* "f32", or NULL */
    HN_LM_CACHE_F16, /* "f16" */
    HN_LM_CACHE_BF16, /* "bf16" */
    HN_LM_CACHE_Q8_0, /* "q8_0" */
    HN_LM_CACHE_Q4_0  /* "q4_0" */
} hn_lm_cache;
HN_API hn_status hn_lm_cache_named(const char *word_or_null, hn_lm_cache *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_lm_cache_name(hn_lm_cache cache); /* "" of a number that is none */

typedef struct hn_lm_session_options {
    size_t size;
    int64_t context;   /* longest sequence; 0: 4096, or the model's if that is less */
    int64_t batch;     /* tokens computed at a time; 0: 512; changes no bit */
    const char *cache; /* of keys and values, as hn_lm_cache_name gives it; NULL: "f32" */
    int32_t keeps_all; /* keys beyond their windows too: going back is cheap */
    int32_t mapped;    /* reads weights where they are mapped: starts sooner, generates slower; the same bits */
    int32_t keeps_state; /* hn_lm_session_state */
} hn_lm_session_options;

/* Weights that nobody has packed yet are packed here: ended by hn_engine_cancel, told of by hn_engine_on_work. */
HN_API hn_status hn_lm_session_new(hn_lm_session **out, hn_lm *lm,
                                   const hn_lm_session_options *options_or_null);
HN_API void hn_lm_session_free(hn_lm_session *session); /* takes NULL */

/* Adds ids to the sequence and computes them; with n 0, what is not computed yet, after a trim or a load.
 * HN_ERR_ARGUMENT: nothing to compute, an id beyond the vocabulary, or no room in the context. Cancelled
 * by hn_engine_cancel, told of by hn_engine_on_progress. After a failure the sequence is what it was; what
 * was computed of the ids is not computed again when they are fed again. */
HN_API hn_status hn_lm_session_feed(hn_lm_session *session, const int32_t *ids, size_t n);

/* Of the token after the last: hn_lm_vocabulary numbers. NULL unless the last that changed the session was
 * a feed that did well; they live until it is fed, trimmed, loaded or freed. */
HN_API const float *hn_lm_session_logits(const hn_lm_session *session);

/* The state of the last token after the model's last norm, which its head takes: hn_lm_width numbers, which live as the logits do.
 * With a cache of f32 (in bf16 numerics, of bf16) they have the bits that an embedder which pools by the last token
 * gives of the same ids. NULL where there are no logits, and without keeps_state. */
HN_API const float *hn_lm_session_state(const hn_lm_session *session);

/* The sequence; lives as the logits do. */
HN_API const int32_t *hn_lm_session_ids(const hn_lm_session *session, size_t *n);
HN_API int64_t hn_lm_session_length(const hn_lm_session *session);
HN_API int64_t hn_lm_session_context(const hn_lm_session *session);

/* Cuts the sequence back to its first `length` ids. */
HN_API hn_status hn_lm_session_trim(hn_lm_session *session, size_t length);

/* Feeds ids and tells of each the logarithm of its probability after those before it; the sequence must
 * not be empty. Double, in nats. */
HN_API hn_status hn_lm_session_score(hn_lm_session *session, const int32_t *ids, size_t n,
                                     double *log_probabilities);

/* The same of one id that may come next, and is not fed. HN_ERR_ARGUMENT: there are no logits. */
HN_API hn_status hn_lm_session_foretell(const hn_lm_session *session, int32_t id, double *log_probability);

typedef struct hn_lm_likely {
    int32_t id;
    double log_probability;
} hn_lm_likely;

/* The likeliest of those that may come next, of equals the lower id. *n: at most so many, and then how many there are. */
HN_API hn_status hn_lm_session_likeliest(const hn_lm_session *session, hn_lm_likely *likeliest, int32_t *n);

/* The sequence with its keys and values, in a file that is written whole or not at all, and replaces one
 * of this name. Loaded only with the model, adapters, numerics and type of cache that it was saved with,
 * else HN_ERR_FORMAT, and the session is as before. HN_ERR_ARGUMENT: its logits are not there, after a feed that failed or was
 * cancelled, a trim, or loading: feed it, with no ids if none are to come. A model that is open is not replaced. Ended by
 * hn_engine_cancel, so what was cancelled is saved after hn_engine_resume; told of by hn_engine_on_work. */
HN_API hn_status hn_lm_session_save(const hn_lm_session *session, const char *path);
HN_API hn_status hn_lm_session_load(hn_lm_session *session, const char *path);

/* The same of what is computed, also of ids whose feed was cancelled, and of those that were cut away and are computed still;
 * *n (may be NULL) is how many: with none, no file is written. */
HN_API hn_status hn_lm_session_save_known(const hn_lm_session *session, const char *path, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
