/* answers.h: a model asked what a file of chats asks, and how many of its answers are theirs. */
#ifndef HN_CLI_ANSWERS_H
#define HN_CLI_ANSWERS_H

#include "base/heap.h"

#include <stdio.h>

typedef struct hn_answers {
    int n, n_right; /* the whole answer, to the letter */
} hn_answers;

/* The likeliest answers, by the model's own template; the first `n_shown` are printed. The last
 * message of every line of `chats` is the answer expected. */
hn_status hn_answers_count(hn_heap *heap, const char *model, const char *adapter_or_null,
                           const char *chats, int n_shown, FILE *out, hn_answers *answers);

#endif
