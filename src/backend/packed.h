/* packed.h: blocks of a device's memory in which weights lie packed, for whoever packs the same rows: weights are
 * packed once a model, whatever is made on it.
 *
 *     session A  ->  block 1 | q k v | gate up down | ..       made by A, kept until the last has let it go
 *     batch B    ->  block 1, and block 2 | v, in another type |
 *
 * Only rows of mapped files are offered, which nobody writes to: what a run trains lies elsewhere. */
#ifndef HN_BACKEND_PACKED_H
#define HN_BACKEND_PACKED_H

#include "backend/backend.h"

typedef struct hn_packed_block hn_packed_block;

/* Zeroed memory with one holder. */
hn_status hn_packed_block_new(hn_packed_block **out, hn_device *device, size_t bytes);
void *hn_packed_block_at(const hn_packed_block *block);
/* The last holder frees it. Takes NULL. */
void hn_packed_block_give(hn_packed_block *block);

/* In this block, at `at`, these rows lie in this type now. */
hn_status hn_packed_offer(hn_packed_block *block, const hn_type *type, const hn_plain_rows *from, void *at);
/* Where they lie on a device, with their block, held once more; NULL: nowhere. */
void *hn_packed_take(const hn_device *device, const hn_type *type, const hn_plain_rows *from,
                     hn_packed_block **block);

#endif
