/* str.h: text that grows, on a heap. Always ends in NUL; may hold others.
 *
 * Failure is sticky: after the heap refuses, additions do nothing and hn_str_status says so,
 * once, at the end. */
#ifndef HN_BASE_STR_H
#define HN_BASE_STR_H

#include "base/heap.h"

typedef struct hn_str {
    hn_heap *heap;
    char *text; /* "" until something is added; never NULL */
    size_t length, room;
    hn_status status;
} hn_str;

hn_str hn_str_on(hn_heap *heap); /* allocates nothing */
void hn_str_free(hn_str *str);   /* and makes it empty again */
void hn_str_clear(hn_str *str);  /* keeps its room, and a failure */

void hn_str_add(hn_str *str, const char *text);
void hn_str_add_bytes(hn_str *str, const char *bytes, size_t n);
void hn_str_add_char(hn_str *str, char c);
void hn_str_print(hn_str *str, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* HN_OK, or HN_ERR_MEMORY if an addition was lost; sets the message. */
hn_status hn_str_status(const hn_str *str);

#endif
