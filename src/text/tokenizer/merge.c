/* merge: short words are searched for their best pair again and again, which beats any
 * structure; long ones keep a heap, so that a megabyte of one letter takes n log n. */
#include "text/tokenizer/merge.h"

#include "base/work.h"

#include <string.h>

enum { SHORT = 24 };

typedef struct hn_candidate {
    uint32_t rank, left, middle, end;
    int32_t id;
} hn_candidate;

hn_status hn_merges_new(hn_heap *heap, const hn_vocab *vocab, uint64_t n, hn_merges *out)
{
    uint64_t room = 16;
    while (room < n + n / 2)
        room *= 2;
    HN_REQUIRE(room <= 1u << 30, HN_ERR_UNSUPPORTED, "%llu merges", (unsigned long long)n);
    *out = (hn_merges){ .vocab = vocab, .mask = (uint32_t)room - 1, .n = (uint32_t)n };
    out->pairs = hn_alloc_array(heap, HN_TAG_TEXT, room, sizeof *out->pairs);
    return out->pairs ? HN_OK : HN_ERR_MEMORY;
}

void hn_merges_free(hn_heap *heap, hn_merges *merges)
{
    hn_free(heap, merges->pairs);
    merges->pairs = NULL;
}

static uint32_t slot_of(const hn_merges *m, uint64_t key)
{
    const uint64_t hash = key * 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash >> 32 ^ hash >> 13) & m->mask;
}

void hn_merges_add(hn_merges *m, int32_t left, int32_t right, uint32_t rank, int32_t id)
{
    const uint64_t key = ((uint64_t)left << 32 | (uint32_t)right) + 1;
    uint32_t slot = slot_of(m, key);
    while (m->pairs[slot].key && m->pairs[slot].key != key)
        slot = (slot + 1) & m->mask;
    m->pairs[slot] = (hn_pair){ key, rank, id };
}

/* UINT32_MAX if the two do not go together. */
static uint32_t rank_of(const hn_merges *m, const hn_symbol *a, const hn_symbol *b,
                        const uint8_t *text, int32_t *id)
{
    if (!m->pairs) {
        *id = hn_vocab_find(m->vocab, text + a->begin, b->end - a->begin);
        return *id < 0 ? UINT32_MAX : m->rank[*id];
    }
    if (a->id < 0 || b->id < 0)
        return UINT32_MAX;
    const uint64_t key = ((uint64_t)a->id << 32 | (uint32_t)b->id) + 1;
    for (uint32_t slot = slot_of(m, key); m->pairs[slot].key; slot = (slot + 1) & m->mask) {
        if (m->pairs[slot].key == key) {
            *id = m->pairs[slot].id;
            return m->pairs[slot].rank;
        }
    }
    return UINT32_MAX;
}

void hn_merger_free(hn_heap *heap, hn_merger *m)
{
    hn_free(heap, m->symbols);
    hn_free(heap, m->heap);
    *m = (hn_merger){ 0 };
}

hn_status hn_merger_add(hn_heap *heap, hn_merger *m, int32_t id, size_t begin, size_t end)
{
    if (m->n == m->room) {
        const size_t room = m->room ? 2 * m->room : 64;
        hn_symbol *symbols =
            hn_realloc_array(heap, HN_TAG_TEXT, m->symbols, room, sizeof *symbols);
        if (!symbols)
            return HN_ERR_MEMORY;
        m->symbols = symbols;
        m->room = room;
    }
    m->symbols[m->n++] =
        (hn_symbol){ .id = id, .begin = (uint32_t)begin, .end = (uint32_t)end };
    return HN_OK;
}

/* Symbols stay in an array without gaps; ranks[i] is of the pair (i, i + 1). */
static void merge_short(hn_merger *m, const hn_merges *merges, const uint8_t *text)
{
    uint32_t ranks[SHORT];
    int32_t ids[SHORT];
    hn_symbol *s = m->symbols;
    for (size_t i = 0; i + 1 < m->n; i++)
        ranks[i] = rank_of(merges, &s[i], &s[i + 1], text, &ids[i]);
    for (;;) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < m->n; i++)
            if (ranks[i] < ranks[best])
                best = i;
        if (m->n < 2 || ranks[best] == UINT32_MAX)
            break;
        s[best].id = ids[best];
        s[best].end = s[best + 1].end;
        m->n--;
        for (size_t i = best + 1; i < m->n; i++) {
            s[i] = s[i + 1];
            ranks[i - 1] = ranks[i];
            ids[i - 1] = ids[i];
        }
        if (best + 1 < m->n)
            ranks[best] = rank_of(merges, &s[best], &s[best + 1], text, &ids[best]);
        if (best > 0)
            ranks[best - 1] = rank_of(merges, &s[best - 1], &s[best], text, &ids[best - 1]);
    }
    for (size_t i = 0; i < m->n; i++)
        s[i].next = i + 1 < m->n ? (uint32_t)i + 1 : UINT32_MAX;
}

static bool is_before(const hn_candidate *a, const hn_candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static hn_status push(hn_heap *heap, hn_merger *m, hn_candidate c)
{
    if (m->n_heap == m->heap_room) {
        const size_t room = m->heap_room ? 2 * m->heap_room : 256;
        hn_candidate *items = hn_realloc_array(heap, HN_TAG_TEXT, m->heap, room, sizeof *items);
        if (!items)
            return HN_ERR_MEMORY;
        m->heap = items;
        m->heap_room = room;
    }
    size_t at = m->n_heap++;
    for (; at && is_before(&c, &m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = c;
    return HN_OK;
}

static hn_candidate pop(hn_merger *m)
{
    const hn_candidate top = m->heap[0], last = m->heap[--m->n_heap];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < m->n_heap; at = child) {
        child += child + 1 < m->n_heap && is_before(&m->heap[child + 1], &m->heap[child]);
        if (!is_before(&m->heap[child], &last))
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = last;
    return top;
}

static hn_status offer(hn_heap *heap, hn_merger *m, const hn_merges *merges,
                       const uint8_t *text, uint32_t left)
{
    const hn_symbol *a = &m->symbols[left];
    if (a->next == UINT32_MAX)
        return HN_OK;
    const hn_symbol *b = &m->symbols[a->next];
    int32_t id = -1;
    const uint32_t rank = rank_of(merges, a, b, text, &id);
    return rank == UINT32_MAX ? HN_OK
                              : push(heap, m, (hn_candidate){ rank, left, a->end, b->end, id });
}

static hn_status merge_long(hn_heap *heap, hn_merger *m, const hn_merges *merges,
                            const uint8_t *text)
{
    hn_symbol *s = m->symbols;
    m->n_heap = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        s[i].previous = i ? i - 1 : UINT32_MAX;
        s[i].next = i + 1 < m->n ? i + 1 : UINT32_MAX;
    }
    for (uint32_t i = 0; i < m->n; i++) {
        if (hn_work_every((uint64_t)i + 1))
            HN_TRY(hn_work_look("encoding"));
        HN_TRY(offer(heap, m, merges, text, i));
    }
    for (uint64_t i = 1; m->n_heap; i++) {
        const hn_candidate c = pop(m);
        if (hn_work_every(i))
            HN_TRY(hn_work_look("encoding"));
        hn_symbol *a = &s[c.left];
        /* both must still be what they were: a swallowed symbol has no bytes */
        if (a->begin == a->end || a->next == UINT32_MAX || a->end != c.middle ||
            s[a->next].end != c.end)
            continue;
        hn_symbol *b = &s[a->next];
        a->id = c.id;
        a->end = b->end;
        a->next = b->next;
        b->begin = b->end;
        if (a->next != UINT32_MAX)
            s[a->next].previous = c.left;
        HN_TRY(offer(heap, m, merges, text, c.left));
        if (a->previous != UINT32_MAX)
            HN_TRY(offer(heap, m, merges, text, a->previous));
    }
    return HN_OK;
}

hn_status hn_merger_run(hn_heap *heap, hn_merger *m, const hn_merges *merges,
                        const uint8_t *text)
{
    if (m->n > SHORT)
        return merge_long(heap, m, merges, text);
    merge_short(m, merges, text);
    return HN_OK;
}
