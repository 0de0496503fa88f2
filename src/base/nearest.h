/* nearest.h: the known word that an unknown one was probably meant to be. */
#ifndef HN_BASE_NEAREST_H
#define HN_BASE_NEAREST_H

#include <stddef.h>

enum { HN_NEAREST_TEXT = 80 };

/* Begun with the word that was found; then every known one is shown to it. */
typedef struct hn_nearest {
    const char *word;
    size_t bytes;
    const char *best; /* NULL: none is near */
    int distance;
} hn_nearest;

hn_nearest hn_nearest_to(const char *word, size_t bytes);
void hn_nearest_try(hn_nearest *nearest, const char *known);
/* ", did you mean X?", or "": for the end of a message. Returns `out`. `before` stands before the word, as
 * "--" does. */
const char *hn_nearest_text(const hn_nearest *nearest, const char *before,
                            char out[HN_NEAREST_TEXT]);

#endif
