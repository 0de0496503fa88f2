/* ascii.h: words that are the same but for capitals, in ASCII, whatever the locale is. */
#ifndef HN_BASE_ASCII_H
#define HN_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>

static inline char hn_ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* At most the first n bytes are looked at; an end is an end for both. */
static inline bool hn_ascii_same_n(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (hn_ascii_lower(a[i]) != hn_ascii_lower(b[i]))
            return false;
        if (!a[i])
            return true;
    }
    return true;
}

static inline bool hn_ascii_same(const char *a, const char *b) { return hn_ascii_same_n(a, b, (size_t)-1); }

#endif
