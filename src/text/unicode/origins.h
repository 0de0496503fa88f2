/* origins.h: whose words a text is made of: a chat template's own, or those of the conversation that it was given.
 *
 * Only the template may say where a turn begins and ends. Data that spells one of its tokens spells a word. */
#ifndef HN_TEXT_UNICODE_ORIGINS_H
#define HN_TEXT_UNICODE_ORIGINS_H

#include <stddef.h>

typedef struct hn_text_span {
    size_t begin, end; /* bytes of a text */
} hn_text_span;

/* Borrows all it points to. */
typedef struct hn_text_origins {
    const hn_text_span *own; /* in order, apart from each other; all between them is data */
    size_t n_own;
    const char *words; /* all that the template writes: its markers are looked for in it */
    size_t n_words;
} hn_text_origins;

#endif
