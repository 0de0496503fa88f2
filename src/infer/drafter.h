/* drafter.h: guesses at what comes next, for a session that checks them all in one step.
 *
 *     tokens        ... the cat sat on the | cat ran     what the sampler draws, token by token
 *     guess                                | cat sat on  from what was said before, or by a small model
 *     one step of                      the | cat sat on  gives logits of four rows:
 *     draws                                  cat ran     of which the second is not what was guessed: two tokens of one step
 *
 * A guess is right if it is the token that the sampler draws there, whatever made it guess so. A draw is a function of
 * logits, tokens, seed and number (sampler.h), and a row has the bits that it has alone (sequences.h): so the text is that of
 * no guesses, and so are its logits; only the work differs. The small model draws as the sampler does, with the same
 * numbers of the same seed, so that it is often right at any temperature.
 *
 * How many are guessed depends on how many were right: twice as many after a guess that was right as a whole, one more than
 * were right after another; where all were wrong several times, nothing is guessed for some steps. */
#ifndef HN_INFER_DRAFTER_H
#define HN_INFER_DRAFTER_H

#include "infer/sampler.h"
#include "infer/session.h"
#include "text/tokenizer/tokenizer.h"

typedef struct hn_drafter hn_drafter;

/* Looked up first, in n-grams; then, where none is found, drawn by the model. What it is made with must outlive it. */
typedef struct hn_drafter_options {
    int64_t n_ctx;             /* longest sequence */
    int64_t most;              /* guesses at a time */
    bool is_fixed;             /* as many every time */
    int64_t longest, shortest; /* n-grams; longest 0: none */
    int64_t vocab;             /* ids below it are guessed */
    hn_session *model;         /* of a model with the same tokens; NULL: none */
    hn_sampler *sampler;       /* of it */
    const hn_tokenizer *tok;   /* of both; NULL: unknown, and there is no model. What ends a text is not guessed */
} hn_drafter_options;

hn_status hn_drafter_new(hn_drafter **out, hn_heap *heap, const hn_drafter_options *options);
void hn_drafter_free(hn_drafter *drafter); /* takes NULL */

/* At most `room` guesses after these tokens, of which the first is generated token `number`. They are judged by the tokens of
 * the next call. */
hn_status hn_drafter_guess(hn_drafter *drafter, const int32_t *tokens, int64_t n, uint64_t number, int64_t room,
                           const hn_run_options *options, const int32_t **guess, int64_t *n_guess);

/* hn_session_sync, with guesses where it computes anything. NULL: without. */
hn_status hn_drafter_sync(hn_drafter *drafter, hn_session *session, const int32_t *tokens, int64_t n, uint64_t number,
                          const hn_run_options *options);

/* Guesses that were drawn, and that were not. Those that nothing was drawn for yet are neither. */
void hn_drafter_counts(const hn_drafter *drafter, int64_t *accepted, int64_t *rejected);

#endif
