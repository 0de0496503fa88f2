/* told_scores.h: what an answer told of its tokens, held to what was made again: each log-probability, the likeliest beside it, texts, bytes
 * and places. */
#ifndef HN_CLI_TOLD_SCORES_H
#define HN_CLI_TOLD_SCORES_H

#include "server/scores.h"

typedef struct hn_made_scores {
    hn_heap *heap;
    hn_lm *lm;
    const hn_told_tokens *tokens; /* those of the prompt before those of the answer */
    size_t n_prompt;              /* how many of them are of the prompt */
    const int32_t *prompt;        /* its ids, of a prompt that is told */
    size_t prompt_ids;
    const hn_json *echo; /* and its text; NULL: it is not told */
    size_t text;         /* bytes of the answer's text */
} hn_made_scores;

/* `told` is a choice's "logprobs": of chats {"content": [...]}, of a text {"token_logprobs": [...], ...}, of a response {"output": [...]},
 * tokens of its text alone. */
hn_status hn_compare_scores(const hn_made_scores *made, const hn_json *told);

#endif
