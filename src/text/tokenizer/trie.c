/* trie: the edges of all nodes in one open-addressing table. */
#include "text/tokenizer/trie.h"

enum { MAX_NODES = 1 << 24 };

void hn_trie_init(hn_trie *trie, hn_heap *heap) { *trie = (hn_trie){ .heap = heap }; }

void hn_trie_free(hn_trie *trie)
{
    hn_free(trie->heap, trie->slots);
    hn_free(trie->heap, trie->value);
    hn_trie_init(trie, trie->heap);
}

static void put(uint64_t *slots, uint32_t mask, uint64_t entry)
{
    uint32_t slot = (uint32_t)((entry >> 24) * 0x9e3779b97f4a7c15u >> 33) & mask;
    while (slots[slot])
        slot = (slot + 1) & mask;
    slots[slot] = entry;
}

/* Room for one more node, at most half of the slots used. */
static hn_status grow(hn_trie *t)
{
    if (t->n_nodes < t->node_room)
        return HN_OK;
    const uint32_t room = t->node_room ? 2 * t->node_room : 256;
    HN_REQUIRE(room <= MAX_NODES, HN_ERR_UNSUPPORTED,
               "vocabulary: more than %d nodes of a trie", MAX_NODES);
    int32_t *value = hn_realloc_array(t->heap, HN_TAG_TEXT, t->value, room, sizeof *value);
    if (!value)
        return HN_ERR_MEMORY;
    t->value = value;
    uint64_t *slots = hn_alloc_array(t->heap, HN_TAG_TEXT, 2 * (size_t)room, sizeof *slots);
    if (!slots)
        return HN_ERR_MEMORY;
    for (uint32_t i = 0; t->slots && i <= t->mask; i++)
        if (t->slots[i])
            put(slots, 2 * room - 1, t->slots[i]);
    hn_free(t->heap, t->slots);
    t->slots = slots;
    t->mask = 2 * room - 1;
    t->node_room = room;
    if (!t->n_nodes)
        t->value[t->n_nodes++] = -1;
    return HN_OK;
}

hn_status hn_trie_add(hn_trie *t, const uint8_t *bytes, size_t n, int32_t value)
{
    HN_TRY(grow(t));
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t child = hn_trie_child(t, node, bytes[i]);
        if (!child) {
            HN_TRY(grow(t));
            child = t->n_nodes++;
            t->value[child] = -1;
            if (node)
                put(t->slots, t->mask, (((uint64_t)node << 8 | bytes[i]) + 1) << 24 | child);
            else
                t->root[bytes[i]] = child;
        }
        node = child;
    }
    t->value[node] = value;
    return HN_OK;
}
