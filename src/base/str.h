/* str.h: text that grows, on a heap. Always ends in NUL; may hold others.
 *
 * Failure is sticky: after the heap refuses, additions do nothing and hn_str_status says so,
 * once, at the end. */
#ifndef HN_BASE_STR_H
#define HN_BASE_STR_H

#include "base/heap.h"

typedef struct hn_str {
    hn_heap *heap; /* NULL: hn_str_within */
    char *text; /* "" until something is added; never NULL */
    size_t length, room;
    hn_status status;
} hn_str;

hn_str hn_str_on(hn_heap *heap); /* allocates nothing */
/* In the caller's room, the NUL too, which it never outgrows: for what is said when there is no memory. */
hn_str hn_str_within(char *room, size_t bytes);
void hn_str_free(hn_str *str);   /* and makes it empty again */
/* The same of a part of a text: what it has lost is lost to the whole. */
void hn_str_end(hn_str *part, hn_str *whole);
void hn_str_clear(hn_str *str);  /* keeps its room, and a failure */

void hn_str_add(hn_str *str, const char *text);
void hn_str_add_bytes(hn_str *str, const char *bytes, size_t n);
void hn_str_add_char(hn_str *str, char c);
void hn_str_print(hn_str *str, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* HN_OK, or HN_ERR_MEMORY if an addition was lost; sets the message. */
hn_status hn_str_status(const hn_str *str);

#endif
