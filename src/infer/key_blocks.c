/* Free blocks are a stack: what came back last is taken first, so a cache that is hardly used stays in few pages. */
#include "infer/key_blocks.h"

hn_status hn_key_blocks_new(hn_key_blocks *b, hn_heap *heap, int32_t n)
{
    *b = (hn_key_blocks){ .n = n, .n_free = n };
    b->count = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n, sizeof *b->count);
    b->free = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n, sizeof *b->free);
    if (!b->count || !b->free)
        return HN_ERR_MEMORY;
    for (int32_t i = 0; i < n; i++)
        b->free[i] = n - 1 - i;
    return HN_OK;
}

void hn_key_blocks_free(hn_key_blocks *b, hn_heap *heap)
{
    hn_free(heap, b->count);
    hn_free(heap, b->free);
    *b = (hn_key_blocks){ 0 };
}

int32_t hn_key_block_take(hn_key_blocks *b)
{
    const int32_t block = b->free[--b->n_free];
    b->count[block] = 1;
    return block;
}

void hn_key_block_hold(hn_key_blocks *b, int32_t block)
{
    b->count[block]++;
}

void hn_key_block_drop(hn_key_blocks *b, int32_t block)
{
    if (--b->count[block] == 0)
        b->free[b->n_free++] = block;
}
