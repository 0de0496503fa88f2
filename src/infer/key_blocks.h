/* key_blocks.h: the blocks of 64 keys that a cache has, and who holds which.
 *
 *     blocks    0  1  2  3  4  5        counts  2  1  0  1  0  0        free  5 4 2
 *     tables    sequence 0: 0 1 - -     sequence 1: 0 3 - -
 *
 * A block is counted: the beginnings of two sequences that share it hold it twice. Only a block that is held
 * once may be written to; who wants to write to another takes a block of its own first. */
#ifndef HN_INFER_KEY_BLOCKS_H
#define HN_INFER_KEY_BLOCKS_H

#include "base/heap.h"
#include "base/status.h"

typedef struct hn_key_blocks {
    int32_t n, n_free;
    int32_t *count; /* [n] */
    int32_t *free;  /* [n] a stack: the lowest first where none was ever held */
} hn_key_blocks;

hn_status hn_key_blocks_new(hn_key_blocks *blocks, hn_heap *heap, int32_t n);
void hn_key_blocks_free(hn_key_blocks *blocks, hn_heap *heap); /* takes a zeroed one */

/* One that nobody holds: there must be one. */
int32_t hn_key_block_take(hn_key_blocks *blocks);
void hn_key_block_hold(hn_key_blocks *blocks, int32_t block);
void hn_key_block_drop(hn_key_blocks *blocks, int32_t block);

static inline bool hn_key_block_is_shared(const hn_key_blocks *blocks, int32_t block)
{
    return blocks->count[block] > 1;
}

#endif
