/* scores.h: tokens with their log-probabilities, and how OpenAI's forms tell them: what the server says, and what `hone replay` holds it to. */
#ifndef HN_SERVER_SCORES_H
#define HN_SERVER_SCORES_H

#include "base/json.h"
#include "hone/hone.h"

typedef struct hn_told_token {
    int32_t id, n_likeliest;
    double log_probability;
    size_t begin, end; /* its part of the text */
    hn_lm_likely likeliest[]; /* room for as many as were asked for */
} hn_told_token;

/* One after the other, each with room for `likeliest`. */
typedef struct hn_told_tokens {
    hn_heap *heap;
    int32_t likeliest;
    char *at;
    size_t n, room;
} hn_told_tokens;

void hn_told_free(hn_told_tokens *tokens); /* takes a zeroed one; it may be added to again */
hn_status hn_told_reserve(hn_told_tokens *tokens, size_t room);
/* `of` with its likeliest, of which there are of->n_likeliest. */
hn_status hn_told_add(hn_told_tokens *tokens, const hn_told_token *of, const hn_lm_likely *likeliest);
const hn_told_token *hn_told_at(const hn_told_tokens *tokens, size_t i);

/* {"token", "bytes", "logprob", "top_logprobs"} */
void hn_score_add(hn_json_writer *w, const hn_lm *lm, const hn_told_token *t);
/* "token" and "bytes": a text of a token's own bytes, and these as numbers. */
void hn_score_add_token(hn_json_writer *w, const hn_lm *lm, int32_t id);
/* In the old form a token's text is "bytes:\\xe2\\x80" where it is no whole text. */
void hn_score_add_piece(hn_json_writer *w, const hn_lm *lm, int32_t id);
/* An object of the likeliest and of the token itself, each by its text. */
void hn_score_add_likeliest(hn_json_writer *w, const hn_lm *lm, const hn_told_token *t);

/* What ids say without special tokens, and where in it the text of each begins. */
hn_status hn_score_say(hn_lm *lm, const int32_t *ids, size_t n, hn_str *said, size_t *begins);

#endif
