/* added.h: tokens that are looked for in the text itself, before it is cut. */
#ifndef HN_TEXT_ADDED_H
#define HN_TEXT_ADDED_H

#include "text/tokenizer_parts.h"

typedef struct hn_added_match {
    size_t begin, end; /* with the blanks that the token takes along */
    int32_t id;
} hn_added_match;

/* The next match in text[from, bytes): of those that begin first the longest. Blanks before
 * `from` belong to what came before. False if there is none. */
bool hn_added_next(const hn_tokenizer *tok, const hn_trie *trie, const uint8_t *text,
                   size_t bytes, size_t from, bool parse_special, hn_added_match *out);

#endif
