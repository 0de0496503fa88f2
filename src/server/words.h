/* words.h: texts in a row, each on its own: what a program is called with, and settings. The first failure stays. */
#ifndef HN_SERVER_WORDS_H
#define HN_SERVER_WORDS_H

#include "base/heap.h"

enum { HN_MOST_WORDS = 240 };

typedef struct hn_words {
    hn_heap *heap;
    char *at[HN_MOST_WORDS + 1]; /* NULL after the last */
    int32_t n;
    hn_status status;
} hn_words;

void hn_words_add(hn_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hn_words_free(hn_words *words); /* takes a zeroed one */

#endif
