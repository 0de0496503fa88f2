/* session.h: a sequence that grows, and what the model says comes next.
 *
 * Hand over the whole sequence each time: the longest part that it has in common with the last
 * one is kept, only the rest is computed. The logits have the bits that running the sequence at
 * once would give, however it was cut. After hn_session_new nothing is allocated.
 *
 * It is one sequence of many (sequences.h). Layers that see only a window of tokens keep only that window and one
 * batch. Where a new sequence parts from the old one so early that its window is gone, it is computed from
 * its beginning. */
#ifndef HN_INFER_SESSION_H
#define HN_INFER_SESSION_H

#include "infer/sequences.h"

typedef struct hn_session hn_session;

typedef struct hn_session_options {
    int64_t n_ctx;     /* longest sequence; 0: 4096, or the model's context if that is less */
    int64_t max_batch; /* tokens computed at a time; 0: 512 */
    hn_dtype cache;    /* of keys and values: HN_F32 (0; in bf16, HN_BF16, which holds as much there), f16,
                        * bf16, q8_0, q4_0 */
    bool packs;        /* weights are copied into panels, which generation reads faster; the same
                        * bits. Their mapped pages leave memory */
    bool keeps_all;    /* layers with a window keep everything too */
    bool keeps_state;  /* hn_session_state */
    int64_t max_ahead; /* guesses that hn_session_sync_ahead takes, at most; less than max_batch */
    const hn_adapters *adapters; /* NULL: none; they must outlive it */
    const nn_build_options *changed; /* as in hn_sequences_options; NULL: none */
} hn_session_options;

/* The model must outlive it. HN_ERR_UNSUPPORTED: a type that caches have not;
 * HN_ERR_SHAPE: keys that its blocks do not divide. */
hn_status hn_session_new(hn_session **out, hn_heap *heap, const hn_model *model,
                         hn_run_spec run, const hn_session_options *options);
/* The same without its memory: it can be looked at, and not be run. */
hn_status hn_session_plan(hn_session **out, hn_heap *heap, const hn_model *model,
                          hn_run_spec run, const hn_session_options *options);
void hn_session_free(hn_session *session); /* takes NULL */

/* The word for a type of cache; NULL: f32. HN_ERR_ARGUMENT lists them. */
hn_status hn_session_cache_parse(const char *word_or_null, hn_dtype *out);

/* Whether weights should be copied into panels for this many tokens: not for few, or where the copies
 * would take more than half of the memory that is left. */
bool hn_session_should_pack(const hn_model *model, int64_t tokens);

/* What a session would take, beside the weights: planned, not allocated. */
typedef struct hn_session_sizes {
    int64_t n_ctx;
    size_t cache, workspace;
    size_t other; /* graph, plan, lists of tokens */
} hn_session_sizes;
hn_status hn_session_measure(hn_heap *heap, const hn_model *model, hn_run_spec run,
                             const hn_session_options *options, hn_session_sizes *out);

/* Brings the session to this sequence. HN_ERR_ARGUMENT if it is empty, longer than n_ctx, or has
 * a token that the vocabulary has not; then the session is as before. When it is cancelled, what
 * was computed is kept. */
hn_status hn_session_sync(hn_session *session, const int32_t *tokens, int64_t n,
                          const hn_run_options *options);

/* The same, and what may come next is computed with it, as far as there is room:
 *
 *     sync_ahead(tokens 0 .. n,  guess a b c)     computes n .. n + 3, keeps logits of the last four
 *     sync(tokens 0 .. n, a)                      is there already: nothing is computed
 *     sync(tokens 0 .. n, a, x)                   cuts b and c off, computes x
 *
 * Nothing that this header tells of is changed by a guess, right or wrong, but the work. Where a step fails with
 * guesses, it is run without them. */
hn_status hn_session_sync_ahead(hn_session *session, const int32_t *tokens, int64_t n, const int32_t *guess,
                                int64_t n_guess, const hn_run_options *options);
/* Whether this sequence was guessed: a sync computes nothing. */
bool hn_session_has(const hn_session *session, const int32_t *tokens, int64_t n);
/* How many guesses a sync takes: none where it computes nothing. */
int64_t hn_session_room_ahead(const hn_session *session, const int32_t *tokens, int64_t n);

/* How many of these tokens would not be computed again. */
int64_t hn_session_known(const hn_session *session, const int32_t *tokens, int64_t n);

/* [vocabulary] f32, for the token after the last; until the next sync. NULL before the first. */
const float *hn_session_logits(const hn_session *session);
/* [width] f32, the last token's state after the final norm, as long; NULL without keeps_state too. */
const float *hn_session_state(const hn_session *session);

int64_t hn_session_length(const hn_session *session); /* tokens whose keys are held, but guesses */
/* Those. */
const int32_t *hn_session_tokens(const hn_session *session);
int64_t hn_session_context(const hn_session *session);
int64_t hn_session_batch(const hn_session *session); /* tokens computed at a time */
size_t hn_session_cache_bytes(const hn_session *session);
size_t hn_session_workspace(const hn_session *session);
size_t hn_session_packed_bytes(const hn_session *session); /* of weights copied into panels; 0 once made */
const hn_plan *hn_session_look(const hn_session *session);
const hn_compiled *hn_session_compiled(const hn_session *session);

/* Writes tokens, keys and values to a GGUF file: whole, or not at all. */
hn_status hn_session_save(const hn_session *session, const char *path);
/* Takes them back, into a session of any context and batch that holds them. HN_ERR_FORMAT if the
 * file is damaged or was made with another model, adapter, numerics or type of cache; then the
 * session is as before. */
hn_status hn_session_restore(hn_session *session, const char *path);

#endif
