/* draft.h: what comes next is guessed, and several guesses are checked in one step: the same text, sooner.
 *
 *     hn_lm_draft_options o = { .size = sizeof o };
 *     hn_lm_session_new_drafting(&session, lm, NULL, &o);
 *
 * Such a session is fed and drawn from as any other. Where it computes, it computes a few tokens more, which may come
 * next; if they are what is then fed, their logits are there. Guesses are taken from what followed the same tokens before (in
 * the prompt, in the text itself), or drawn by a small model with the same tokens.
 *
 * A guess is right if it is the token that is drawn there, which depends on no guess: logits, texts and log-probabilities
 * have the bits that they have without, at every temperature and with all penalties. What is guessed wrong is work for nothing:
 * it pays where guesses are often right and a step of several tokens takes little longer than a step of one. */
#ifndef HONE_DRAFT_H
#define HONE_DRAFT_H

#include "hone/batch.h"
#include "hone/chat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hn_lm_draft_options {
    size_t size;
    int64_t most;        /* guesses at a time; 0: 8. Fewer than the tokens that are computed at a time */
    int64_t ngram;       /* longest run of tokens that is looked up; 0: 4, or with a model none is looked up */
    int64_t ngram_least; /* the shortest; 0: 2, or `ngram` if that is less */
    hn_lm *model;        /* guesses where no run is found; NULL: none. Its tokens are the model's, one by one, or it is refused:
                          * HN_ERR_ARGUMENT names the first that differs. It may be on another engine, and have adapters */
    const hn_lm_sampling *sampling; /* by which it draws, but for its grammar: best what draws the text, seed and all. NULL: a chat's own, else the likeliest */
    int32_t fixed;       /* as many each time; else fewer after guesses that were wrong, and for some steps none */
    int32_t mapped;      /* the model's weights are read where they are mapped */
} hn_lm_draft_options;

/* NULL is default in both. HN_ERR_UNSUPPORTED: a draft model, and no tokenizer to hold it to. */
HN_API hn_status hn_lm_session_new_drafting(hn_lm_session **out, hn_lm *lm, const hn_lm_session_options *options_or_null,
                                            const hn_lm_draft_options *draft_or_null);
HN_API hn_status hn_lm_chat_new_drafting(hn_lm_chat **out, hn_lm *lm, const hn_lm_chat_options *options_or_null,
                                         const hn_lm_draft_options *draft_or_null);
/* Guesses that were right so far, and that were not; both 0 where nothing is guessed. */
HN_API hn_status hn_lm_session_drafted(const hn_lm_session *session, int64_t *accepted, int64_t *rejected);
HN_API hn_status hn_lm_chat_drafted(const hn_lm_chat *chat, int64_t *accepted, int64_t *rejected);

/* ---- in a batch: a drafter for each sequence ----
 *
 *     hn_lm_drafter_guess(drafter, ids, n, number, piece + 1, MOST, &guessed);    piece[0] is the last id, not run yet
 *     hn_lm_batch_step(batch, &(hn_lm_batch_piece){ sizeof(hn_lm_batch_piece), s, 1 + guessed, piece, 1 + guessed }, 1);
 *     hn_lm_batch_settle(batch, s, sampler, 0, 1 + guessed, drawn, &n_drawn);
 */
/* The caller frees it, before the engines of both models, which it holds. Used by one thread at a time. */
typedef struct hn_lm_drafter hn_lm_drafter;

/* For sequences of up to `context` ids; 0: 4096, or the model's if that is less. Ended and told of as hn_lm_session_new. */
HN_API hn_status hn_lm_drafter_new(hn_lm_drafter **out, hn_lm *lm, const hn_lm_draft_options *draft_or_null,
                                   int64_t context);
HN_API void hn_lm_drafter_free(hn_lm_drafter *drafter); /* takes NULL */

/* At most `room` guesses at what follows these ids, of which the first is generated token `number` (hn_lm_sampler_begin); what
 * was guessed before is judged by them. No guess is no failure. */
HN_API hn_status hn_lm_drafter_guess(hn_lm_drafter *drafter, const int32_t *ids, size_t n, uint64_t number,
                                     int32_t *to, size_t room, size_t *guessed);
HN_API hn_status hn_lm_drafter_counts(const hn_lm_drafter *drafter, int64_t *accepted, int64_t *rejected);

/* After a step whose last piece of the sequence ended in guesses: draws after each of its last `rows` ids, whose logits are rows
 * `row` and after of that step, until what is drawn is not what follows. The sequence is cut back to what was right. `drawn`
 * has room for `rows` ids, and gets 1 or more: all but the last are in the sequence, the last is what comes next. */
HN_API hn_status hn_lm_batch_settle(hn_lm_batch *batch, int32_t sequence, hn_lm_sampler *sampler, size_t row, size_t rows,
                                    int32_t *drawn, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
