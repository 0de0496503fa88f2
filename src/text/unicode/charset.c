/* charset: ranges are sorted and merged; a bitmap is made of the result in one pass. */
#include "text/unicode/charset.h"

#include <stdlib.h>
#include <string.h>

enum { N_BLOCKS = (HN_BAD_CHAR >> 8) + 1 };

hn_ranges hn_ranges_on(hn_heap *heap) { return (hn_ranges){ .heap = heap, .status = HN_OK }; }

void hn_ranges_free(hn_ranges *set)
{
    hn_free(set->heap, set->at);
    *set = hn_ranges_on(set->heap);
}

void hn_ranges_add(hn_ranges *set, uint32_t low, uint32_t high)
{
    if (set->status != HN_OK)
        return;
    if (set->n == set->room) {
        const size_t room = set->room ? 2 * set->room : 16;
        hn_range *at = hn_realloc_array(set->heap, HN_TAG_TEXT, set->at, room, sizeof *at);
        if (!at) {
            set->status = HN_ERR_MEMORY;
            return;
        }
        set->at = at;
        set->room = room;
    }
    set->at[set->n++] = (hn_range){ low, high };
}

void hn_ranges_add_all(hn_ranges *set, const hn_range *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hn_ranges_add(set, from[i].low, from[i].high);
}

static int by_low(const void *a, const void *b)
{
    const uint32_t x = ((const hn_range *)a)->low, y = ((const hn_range *)b)->low;
    return (x > y) - (x < y);
}

void hn_ranges_settle(hn_ranges *set)
{
    if (set->n < 2)
        return;
    qsort(set->at, set->n, sizeof *set->at, by_low);
    size_t n = 1;
    for (size_t i = 1; i < set->n; i++) {
        hn_range *last = &set->at[n - 1];
        if (set->at[i].low > last->high + 1)
            set->at[n++] = set->at[i];
        else if (set->at[i].high > last->high)
            last->high = set->at[i].high;
    }
    set->n = n;
}

void hn_ranges_invert(hn_ranges *set)
{
    hn_ranges_settle(set);
    hn_ranges out = hn_ranges_on(set->heap);
    uint32_t next = 0;
    for (size_t i = 0; i < set->n; i++) {
        if (set->at[i].low > next)
            hn_ranges_add(&out, next, set->at[i].low - 1);
        next = set->at[i].high + 1;
    }
    if (next <= HN_BAD_CHAR)
        hn_ranges_add(&out, next, HN_BAD_CHAR);
    if (set->status != HN_OK)
        out.status = set->status;
    hn_ranges_free(set);
    *set = out;
}

/* By De Morgan: it is rare, and sets are small. */
void hn_ranges_intersect(hn_ranges *set, hn_ranges *with)
{
    hn_ranges_invert(set);
    hn_ranges_invert(with);
    hn_ranges_add_all(set, with->at, with->n);
    if (with->status != HN_OK)
        set->status = with->status;
    hn_ranges_invert(set);
    hn_ranges_invert(with);
}

bool hn_ranges_has(const hn_ranges *settled, uint32_t code)
{
    size_t low = 0, high = settled->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (settled->at[middle].high < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < settled->n && settled->at[low].low <= code;
}

static void fill(uint8_t (*bits)[32], const hn_ranges *set)
{
    uint8_t *flat = bits[0];
    for (size_t i = 0; i < set->n; i++) {
        uint32_t code = set->at[i].low;
        const uint32_t end = set->at[i].high + 1;
        for (; code < end && code & 7; code++)
            flat[code >> 3] |= (uint8_t)(1u << (code & 7));
        if (code < end) {
            memset(flat + (code >> 3), 0xff, (end >> 3) - (code >> 3));
            code = end & ~7u;
        }
        for (; code < end; code++)
            flat[code >> 3] |= (uint8_t)(1u << (code & 7));
    }
}

/* Keeps one of equal blocks, in place; returns how many are left. */
static size_t fold(uint8_t (*bits)[32], uint16_t *index)
{
    static const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint16_t slots[1024] = { 0 }; /* block + 1 by hash; a full neighbourhood only costs room */
    size_t n = 0;
    for (size_t b = 0; b < N_BLOCKS; b++) {
        uint64_t words[4], hash = 0;
        memcpy(words, bits[b], 32);
        for (int i = 0; i < 4; i++)
            hash = (hash ^ words[i]) * odd ^ hash >> 29;
        size_t slot = hash >> 54, tries = 0;
        for (; tries < 8; tries++, slot = (slot + 1) & 1023)
            if (!slots[slot] || !memcmp(bits[slots[slot] - 1], bits[b], 32))
                break;
        if (tries < 8 && slots[slot]) {
            index[b] = (uint16_t)(slots[slot] - 1);
            continue;
        }
        if (tries < 8)
            slots[slot] = (uint16_t)(n + 1);
        memmove(bits[n], bits[b], 32);
        index[b] = (uint16_t)n++;
    }
    return n;
}

hn_charset *hn_charset_new(hn_heap *heap, hn_ranges *set)
{
    hn_ranges_settle(set);
    if (set->status != HN_OK)
        return NULL;
    hn_charset *out = hn_alloc(heap, HN_TAG_TEXT, sizeof *out);
    uint8_t(*bits)[32] = hn_alloc_array(heap, HN_TAG_TEXT, N_BLOCKS, 32);
    if (out && bits) {
        fill(bits, set);
        out->n_blocks = fold(bits, out->index);
        out->blocks = hn_alloc_array(heap, HN_TAG_TEXT, out->n_blocks, 32);
    }
    if (!out || !bits || !out->blocks) {
        hn_free(heap, bits);
        hn_free(heap, out);
        return NULL;
    }
    memcpy(out->blocks, bits, 32 * out->n_blocks);
    hn_free(heap, bits);
    return out;
}

void hn_charset_free(hn_heap *heap, hn_charset *set)
{
    if (set)
        hn_free(heap, set->blocks);
    hn_free(heap, set);
}
