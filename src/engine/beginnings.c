/* Nodes lie in one array and are linked by numbers: in the chain of their hash's place or in that of the free
 * ones, and in the order of use. An index is what others hold, so a node never moves. Whoever walks the order
 * while nodes leave takes the next one first. */
#include "engine/beginnings.h"

#include <string.h>

enum { NONE = HN_NO_BEGINNING };

/* ---- beginning and end ---- */

static int32_t places_for(int32_t most)
{
    int32_t n = 1;
    while (n < most && n <= INT32_MAX / 2)
        n *= 2;
    return most ? n : 0;
}

hn_status hn_beginnings_new(hn_beginnings *b, hn_heap *heap, int32_t most, void (*on_leave)(void *, hn_beginning *), void *context)
{
    *b = (hn_beginnings){ .heap = heap, .most = most, .n_places = places_for(most), .free = NONE, .newest = NONE, .oldest = NONE,
                          .on_leave = on_leave, .context = context };
    b->at = hn_alloc_array(heap, HN_TAG_STATE, (size_t)most + 1, sizeof *b->at);
    b->places = hn_alloc_array(heap, HN_TAG_STATE, (size_t)b->n_places + 1, sizeof *b->places);
    if (!b->at || !b->places)
        return HN_ERR_MEMORY;
    for (int32_t i = 0; i < b->n_places; i++)
        b->places[i] = NONE;
    for (int32_t i = most - 1; i >= 0; i--) {
        b->at[i].next = b->free;
        b->free = i;
    }
    return HN_OK;
}

void hn_beginnings_free(hn_beginnings *b)
{
    if (b->n)
        hn_beginnings_drop(b, NULL);
    hn_free(b->heap, b->at);
    hn_free(b->heap, b->places);
    *b = (hn_beginnings){ .free = NONE, .newest = NONE, .oldest = NONE };
}

/* ---- finding ---- */

static uint64_t mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Whose it is, is compared alone. */
static uint64_t hash_of(int32_t parent, const int32_t *ids)
{
    uint64_t hash = mix(0, (uint32_t)parent);
    for (int i = 0; i < HN_BEGINNING_IDS; i++)
        hash = mix(hash, (uint32_t)ids[i]);
    return hash;
}

static int32_t *place_of(const hn_beginnings *b, uint64_t hash)
{
    return &b->places[hash & (uint64_t)(b->n_places - 1)];
}

int32_t hn_beginnings_child(const hn_beginnings *b, hn_whose whose, int32_t parent, const int32_t *ids)
{
    if (!b->n)
        return NONE;
    const uint64_t hash = hash_of(parent, ids);
    for (int32_t i = *place_of(b, hash); i != NONE; i = b->at[i].next) {
        const hn_beginning *node = &b->at[i];
        if (node->hash == hash && node->parent == parent && node->whose.owner == whose.owner &&
            node->whose.adapter == whose.adapter && !memcmp(node->ids, ids, sizeof node->ids))
            return i;
    }
    return NONE;
}

int32_t hn_beginnings_find(const hn_beginnings *b, hn_whose whose, const int32_t *ids, int64_t n)
{
    int32_t deepest = NONE;
    for (int64_t at = 0; n - at >= HN_BEGINNING_IDS; at += HN_BEGINNING_IDS) {
        const int32_t next = hn_beginnings_child(b, whose, deepest, ids + at);
        if (next == NONE)
            break;
        deepest = next;
    }
    return deepest;
}

/* ---- the order of use ---- */

static void unlink_used(hn_beginnings *b, const hn_beginning *node)
{
    if (node->newer == NONE)
        b->newest = node->older;
    else
        b->at[node->newer].older = node->older;
    if (node->older == NONE)
        b->oldest = node->newer;
    else
        b->at[node->older].newer = node->newer;
}

static void link_newest(hn_beginnings *b, int32_t i)
{
    b->at[i].newer = NONE;
    b->at[i].older = b->newest;
    if (b->newest == NONE)
        b->oldest = i;
    else
        b->at[b->newest].newer = i;
    b->newest = i;
}

void hn_beginnings_use(hn_beginnings *b, int32_t node)
{
    for (int32_t i = node; i != NONE; i = b->at[i].parent) {
        unlink_used(b, &b->at[i]);
        link_newest(b, i);
    }
}

void hn_beginnings_hold(hn_beginnings *b, int32_t node)
{
    if (node != NONE)
        b->at[node].n_holds++;
}

void hn_beginnings_let_go(hn_beginnings *b, int32_t node)
{
    if (node != NONE)
        b->at[node].n_holds--;
}

/* ---- coming and leaving ---- */

int32_t hn_beginnings_add(hn_beginnings *b, hn_whose whose, int32_t parent, const int32_t *ids, const hn_lent_keys *keys)
{
    const int32_t i = b->free;
    if (i == NONE)
        return NONE;
    hn_beginning *node = &b->at[i];
    b->free = node->next;
    *node = (hn_beginning){ .whose = whose, .parent = parent, .depth = parent == NONE ? 1 : b->at[parent].depth + 1, .keys = *keys,
                            .hash = hash_of(parent, ids) };
    memcpy(node->ids, ids, sizeof node->ids);
    int32_t *place = place_of(b, node->hash);
    node->next = *place;
    *place = i;
    if (parent != NONE)
        b->at[parent].n_children++;
    b->n++;
    link_newest(b, i);
    hn_beginnings_use(b, parent);
    return i;
}

static void leave(hn_beginnings *b, int32_t i)
{
    hn_beginning *node = &b->at[i];
    b->on_leave(b->context, node);
    int32_t *at = place_of(b, node->hash);
    while (*at != i)
        at = &b->at[*at].next;
    *at = node->next;
    unlink_used(b, node);
    if (node->parent != NONE)
        b->at[node->parent].n_children--;
    node->next = b->free;
    b->free = i;
    b->n--;
}

static bool stays(const hn_beginning *node) { return node->n_children || node->n_holds; }

bool hn_beginnings_evict(hn_beginnings *b, bool (*may)(const void *, const hn_beginning *), const void *context)
{
    for (int32_t i = b->oldest; i != NONE; i = b->at[i].newer)
        if (!stays(&b->at[i]) && (!may || may(context, &b->at[i]))) {
            leave(b, i);
            return true;
        }
    return false;
}

/* Children come before their parents from this end. */
void hn_beginnings_drop(hn_beginnings *b, const int32_t *adapter)
{
    for (int32_t i = b->oldest, newer; i != NONE; i = newer) {
        newer = b->at[i].newer;
        if (!stays(&b->at[i]) && (!adapter || b->at[i].whose.adapter == *adapter))
            leave(b, i);
    }
}
