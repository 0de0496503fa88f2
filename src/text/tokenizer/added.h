/* added.h: tokens that are looked for in the text itself, before it is cut. */
#ifndef HN_TEXT_TOKENIZER_ADDED_H
#define HN_TEXT_TOKENIZER_ADDED_H

#include "text/tokenizer/guard.h"

typedef struct hn_added_match {
    size_t begin, end; /* with the blanks that the token takes along */
    size_t after; /* where the next may begin: blanks may be taken twice, as in `tokenizers` */
    int32_t id;
} hn_added_match;

/* Where tokens are looked for. */
typedef struct hn_added_search {
    const hn_tokenizer *tok;
    const hn_trie *trie;
    hn_span text;
    bool parse_special;
    const struct hn_encoder *encoder; /* its guards */
    const hn_passage *passage; /* that `text` is, after normalising; NULL: the caller's own */
} hn_added_search;

/* The next match in text[from, bytes): of those that begin first the longest. Blanks before
 * `taken` belong to what came before. If there is none it is empty, at `bytes`, with id -1. */
hn_added_match hn_added_next(const hn_added_search *search, size_t from, size_t taken);

#endif
