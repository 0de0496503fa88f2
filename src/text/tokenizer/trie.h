/* trie.h: byte strings by their beginnings: all that a text begins with, in one walk. */
#ifndef HN_TEXT_TOKENIZER_TRIE_H
#define HN_TEXT_TOKENIZER_TRIE_H

#include "base/heap.h"

typedef struct hn_trie {
    hn_heap *heap;
    uint64_t
        *slots; /* (node << 8 | byte) + 1, in the upper 40 bits; the child in the lower 24 */
    uint32_t mask, n_nodes, node_room;
    int32_t *value;     /* of each node; -1: none ends here */
    uint32_t root[256]; /* children of node 0; 0: none */
} hn_trie;

void hn_trie_init(hn_trie *trie, hn_heap *heap); /* allocates nothing */
void hn_trie_free(hn_trie *trie);
hn_status hn_trie_add(hn_trie *trie, const uint8_t *bytes, size_t n, int32_t value);

/* The child of `node` by `byte`, or 0. */
static inline uint32_t hn_trie_child(const hn_trie *t, uint32_t node, uint8_t byte)
{
    if (!node)
        return t->root[byte];
    const uint64_t key = ((uint64_t)node << 8 | byte) + 1;
    for (uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 33) & t->mask; t->slots[slot];
         slot = (slot + 1) & t->mask)
        if (t->slots[slot] >> 24 == key)
            return t->slots[slot] & 0xffffff;
    return 0;
}

#endif
