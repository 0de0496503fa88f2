/* pairs.h: names and values, as a query and a form have them, made an object that a table of fields can be asked about. "a[b]"
 * is b of the object a. A value whose row takes an integer or a truth is read as one where it is written so; others are texts. */
#ifndef HN_SERVER_PAIRS_H
#define HN_SERVER_PAIRS_H

#include "server/fields.h"

enum { HN_MOST_PAIRS = 32, HN_PAIR_NAME = 64 };

typedef struct hn_pair {
    char name[HN_PAIR_NAME], within[HN_PAIR_NAME]; /* "b" of "a[b]", or "" */
    char *value;
} hn_pair;

typedef struct hn_pairs {
    hn_heap *heap;
    hn_pair of[HN_MOST_PAIRS];
    size_t n;
} hn_pairs;

bool hn_pairs_add(hn_pairs *pairs, const char *name, const char *value, size_t bytes, hn_failure *why);
/* Of a query as it came. */
bool hn_pairs_of_query(hn_pairs *pairs, hn_heap *heap, const char *query, hn_failure *why);
/* `within`: of what is in objects; NULL: all of it is text. The object is checked by `fields`, not what is in objects of it. */
bool hn_pairs_read(const hn_pairs *pairs, const hn_fields *fields, const hn_fields *within, hn_json_text **out, hn_failure *why);
void hn_pairs_free(hn_pairs *pairs); /* takes a zeroed one */

#endif
