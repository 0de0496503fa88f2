/* storage.h: the memory of a graph's leaves, shared by all programs of that graph.
 *
 *     made     zeroed memory on the leaf's device (graph/place.h), gone with the storage
 *     bound    the caller's, in the host's memory, which outlives the storage. A device that has the host's
 *              memory uses it in place; any other has a copy of it, one for all storages that bind the same
 *              memory (resident.h), in which its programs go on
 *
 * What programs make of a leaf is had by hn_storage_read, after all that was submitted. Constants need
 * neither. */
#ifndef HN_BACKEND_STORAGE_H
#define HN_BACKEND_STORAGE_H

#include "backend/backend.h"

typedef struct hn_storage hn_storage;

/* `devices`: one at least has the host's memory. */
hn_status hn_storage_new(hn_storage **out, const hn_graph *g, int n_devices,
                         hn_device *const *devices);
void hn_storage_free(hn_storage *storage);

/* Contiguous and in the leaf's layout: of the leaf's bytes, or fewer where extents may be smaller; a run
 * that needs more is refused. What only the host writes (inputs, numbers of a step) is read at each run;
 * of other leaves, what the memory holds when it is bound; a device with memory of its own gets its copy when memory is
 * made, or at once if it has been. */
hn_status hn_storage_bind(hn_storage *storage, const hn_leaf *leaf, const void *data, size_t bytes);
/* Makes memory, unless the leaf has some. */
hn_status hn_storage_make(hn_storage *storage, const hn_leaf *leaf);
/* Before memory is made: takes the memory in which another storage has packed these rows of a mapped file, if one
 * did. */
void hn_storage_share(hn_storage *storage, const hn_leaf *leaf, const hn_plain_rows *from);
/* Makes memory and fills it with the leaf's layout of plain rows, which nobody needs afterwards; of what is shared
 * nothing has to be done. */
hn_status hn_storage_pack(hn_storage *storage, const hn_leaf *leaf, const hn_plain_rows *from);
/* Makes memory for every weight, state and accumulator that has none; the first time the graph's guard is
 * asked before. */
hn_status hn_storage_make_all(hn_storage *storage);
/* Fills every accumulator with zeros: the start of a step. */
hn_status hn_storage_zero_sums(hn_storage *storage);

/* Whether it is bound or made. */
bool hn_storage_has(const hn_storage *storage, const hn_leaf *leaf);

/* What a leaf takes where it lies, made or not. */
typedef struct hn_leaf_bytes {
    hn_device *device;
    size_t bytes;
    size_t held;      /* of these, what is there already, by this storage or another; pages of files are not */
    bool is_in_place; /* the host's own memory, as it was bound */
} hn_leaf_bytes;
hn_leaf_bytes hn_storage_measure(const hn_storage *storage, const hn_leaf *leaf);
/* Bytes [at, at + bytes) of a leaf that has memory. */
hn_status hn_storage_write(hn_storage *storage, const hn_leaf *leaf, size_t at, const void *from,
                           size_t bytes);
hn_status hn_storage_read(const hn_storage *storage, const hn_leaf *leaf, size_t at, void *to,
                          size_t bytes);

/* Bytes of a leaf from one place in it to another that does not overlap, on its device. */
hn_status hn_storage_move(hn_storage *storage, const hn_leaf *leaf, size_t to, size_t from, size_t bytes);

/* ---- for programs ---- */

/* An address of `device`, the leaf's or one that keeps a copy of it, or NULL, and the bytes that are there. */
void *hn_storage_address(const hn_storage *storage, const hn_leaf *leaf, const hn_device *device, size_t *bytes);
/* A weight is to be on another device too: mapped rows where that is the host, else memory that hn_storage_refresh
 * fills. */
hn_status hn_storage_keep(hn_storage *storage, const hn_leaf *leaf, hn_device *device);
/* Before a run: makes every copy that is kept equal to its weight, which it is already unless that was written or
 * lies in memory where others update it. */
hn_status hn_storage_refresh(hn_storage *storage);
/* Changes when any address changes. */
uint64_t hn_storage_generation(const hn_storage *storage);

#endif
