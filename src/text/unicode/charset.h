/* charset.h: sets of characters: as ranges, to compute with, and as bitmaps, to ask.
 *
 * Text may hold bytes that are no UTF-8. Such a byte is a character of its own, HN_BAD_CHAR: it
 * has no category but Cn, is in a set only if unassigned characters are, and equals no other.
 */
#ifndef HN_TEXT_UNICODE_CHARSET_H
#define HN_TEXT_UNICODE_CHARSET_H

#include "base/heap.h"
#include "base/utf8.h"

#define HN_COUNT(array) (sizeof(array) / sizeof *(array))

enum { HN_BAD_CHAR = 0x110000 };

typedef struct hn_range {
    uint32_t low, high; /* both belong to it */
} hn_range;

/* Of characters: any order and overlap until hn_ranges_settle. Failure is sticky. */
typedef struct hn_ranges {
    hn_heap *heap;
    hn_range *at;
    size_t n, room;
    hn_status status;
} hn_ranges;

hn_ranges hn_ranges_on(hn_heap *heap);
void hn_ranges_free(hn_ranges *set);
void hn_ranges_add(hn_ranges *set, uint32_t low, uint32_t high);
void hn_ranges_add_all(hn_ranges *set, const hn_range *from, size_t n);
void hn_ranges_settle(hn_ranges *set); /* sorted, disjoint, not adjacent */
void hn_ranges_invert(hn_ranges *set); /* settles */
/* Leaves in `set` what is in both; settles both. */
void hn_ranges_intersect(hn_ranges *set, hn_ranges *with);
bool hn_ranges_has(const hn_ranges *settled, uint32_t code);

/* What the tables of unicode_tables.h are made of. */
typedef struct hn_mapping {
    uint32_t code;
    uint16_t at;     /* in the pool */
    uint16_t length; /* characters */
} hn_mapping;
typedef struct hn_combining {
    uint32_t low, high, class;
} hn_combining;
typedef struct hn_composition {
    uint32_t first, second, whole;
} hn_composition;

/* 256 characters a block; equal blocks are one. */
typedef struct hn_charset {
    uint16_t index[(HN_BAD_CHAR >> 8) + 1];
    uint8_t (*blocks)[32];
    size_t n_blocks;
} hn_charset;

/* NULL and a message if the heap refuses, or if building the ranges failed. Settles them. */
hn_charset *hn_charset_new(hn_heap *heap, hn_ranges *set);
void hn_charset_free(hn_heap *heap, hn_charset *set);

static inline bool hn_charset_has(const hn_charset *set, uint32_t code)
{
    return set->blocks[set->index[code >> 8]][code >> 3 & 31] >> (code & 7) & 1;
}

/* The character at `at` < `end`: its code, and its bytes. */
static inline size_t hn_char_at(const uint8_t *at, const uint8_t *end, uint32_t *code)
{
    if (*at < 0x80) {
        *code = *at;
        return 1;
    }
    const size_t n = hn_utf8_length((const char *)at, (size_t)(end - at));
    if (n == 2)
        *code = (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
    else if (n == 3)
        *code = (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    else if (n == 4)
        *code = (at[0] & 0x07u) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 |
                (at[3] & 0x3fu);
    else
        *code = HN_BAD_CHAR;
    return n ? n : 1;
}

/* Bytes of the character that ends before `at` > `start`. A lead byte never lies inside another
 * character, so both directions see the same characters. */
static inline size_t hn_char_before(const uint8_t *start, const uint8_t *at)
{
    for (size_t n = 1; n <= 4 && n <= (size_t)(at - start); n++)
        if ((at[-(ptrdiff_t)n] & 0xc0) != 0x80)
            return hn_utf8_length((const char *)at - n, n) == n ? n : 1;
    return 1;
}

#endif
