/* sentence.h: one sentence of a story, recognised: its pattern, and the words that fill it. */
#ifndef HN_CLI_STORY_SENTENCE_H
#define HN_CLI_STORY_SENTENCE_H

#include "base/heap.h"

enum { HN_SENTENCE_FILLS = 5 }; /* of one kind */

/* A word, or an adjective and a noun: bytes of the text. */
typedef struct hn_fill {
    const char *text;
    size_t bytes;
} hn_fill;

typedef struct hn_sentence {
    const char *claims; /* see sentences.def */
    size_t bytes;
    hn_fill fills[128][HN_SENTENCE_FILLS]; /* by letter; [1] is the first */
    int n[128];
} hn_sentence;

typedef struct hn_sentences hn_sentences;

hn_status hn_sentences_new(hn_heap *heap, hn_sentences **out);
void hn_sentences_free(hn_sentences *sentences); /* takes NULL */

/* What stands at the beginning of `text`, followed by a space or its end. */
bool hn_sentence_read(const hn_sentences *sentences, const char *text, size_t bytes,
                      hn_sentence *out);

/* Whether a name is a man's, as the word lists have it. */
bool hn_sentences_is_man(const hn_sentences *sentences, const hn_fill *name);

#endif
