/* utf8.h: well-formed UTF-8 (Unicode 3.9, table 3-7): no overlong forms, no surrogates. */
#ifndef HN_BASE_UTF8_H
#define HN_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `text`, 1 to 4; 0 if it is malformed or cut off. */
static inline size_t hn_utf8_length(const char *text, size_t bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    if (!bytes)
        return 0;
    if (s[0] < 0x80)
        return 1;
    const size_t n = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (!n || n > bytes)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* Bytes from the beginning that are whole characters: all of a text, or where it is none. */
static inline size_t hn_utf8_whole(const char *text, size_t bytes)
{
    size_t at = 0;
    for (size_t n; (n = hn_utf8_length(text + at, bytes - at)) > 0;)
        at += n;
    return at;
}

/* Writes the character to `out`, without a NUL; returns its bytes. `code` is a scalar value. */
static inline size_t hn_utf8_put(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = n; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(first[n] | code);
    return n;
}

#endif
