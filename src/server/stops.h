/* stops.h: texts at which an answer ends. What may be the beginning of one is held back until it is known. */
#ifndef HN_SERVER_STOPS_H
#define HN_SERVER_STOPS_H

#include <stddef.h>

enum { HN_MOST_STOPS = 16 };

typedef struct hn_stops {
    int n;
    const char *at[HN_MOST_STOPS]; /* none is empty */
} hn_stops;

/* Where the one begins that is whole first, as the text grows byte by byte from `from` on, and which it is; of two that end
 * together the longer. So it is the same however the text comes. `bytes`: none is whole. */
size_t hn_stops_find(const hn_stops *stops, const char *text, size_t bytes, size_t from, int *which);
/* How much of a text without any can be told: up to where one may have begun. */
size_t hn_stops_safe(const hn_stops *stops, const char *text, size_t bytes);

#endif
