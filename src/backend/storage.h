/* storage.h: the memory of a graph's leaves, shared by all programs of that graph.
 *
 * A leaf is either bound to memory of the caller's, which must outlive the storage, or made here,
 * zeroed, on the leaf's device. Constants need neither. */
#ifndef HN_BACKEND_STORAGE_H
#define HN_BACKEND_STORAGE_H

#include "backend/backend.h"

typedef struct hn_storage hn_storage;

hn_status hn_storage_new(hn_storage **out, const hn_graph *g, int n_devices,
                         hn_device *const *devices);
void hn_storage_free(hn_storage *storage);

/* Binds the caller's memory, contiguous and in the leaf's layout, of at least the leaf's bytes (or
 * fewer, for smaller extents). */
hn_status hn_storage_bind(hn_storage *storage, const hn_leaf *leaf, void *data);
/* Makes memory, unless the leaf has some. */
hn_status hn_storage_make(hn_storage *storage, const hn_leaf *leaf);
/* Makes memory and fills it with the leaf's layout of plain rows, which nobody needs afterwards. */
hn_status hn_storage_pack(hn_storage *storage, const hn_leaf *leaf, const hn_plain_rows *from);
/* Makes memory for every weight, state and accumulator that has none; the first time the graph's guard is
 * asked before. */
hn_status hn_storage_make_all(hn_storage *storage);
/* Fills every accumulator with zeros: the start of a step. */
hn_status hn_storage_zero_sums(hn_storage *storage);

/* NULL if the leaf has no memory yet. */
void *hn_storage_data(const hn_storage *storage, const hn_leaf *leaf);
/* Changes when any address changes. */
uint64_t hn_storage_generation(const hn_storage *storage);

#endif
