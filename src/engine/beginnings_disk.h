/* beginnings_disk.h: beginnings that left memory, each a file of a folder; the inside of hn_lm_disk.
 *
 *     FOLDER/lock
 *     FOLDER/3f9a...c1.block      named by the SHA-256 of its key
 *
 *     "hnblocks" | version | bytes of key | bytes of data | key | data | SHA-256 of all before
 *
 * The key says in full what the data is of: whose it is, model, adapters, numerics, type of cache, layout, and all ids to the block's end.
 * A file is used only if its last 32 bytes are the digest of the others and its key is, byte for byte, the one that was looked for; any
 * other is removed, told by name, and counted. So nothing is lost but time if a file was cut, changed, or made by another.
 *
 * The folder is one process's at a time. The list of its files is in memory, the oldest first: one that was read or asked for
 * is young again, until the process ends; after that by the file's date. Used by as many threads as like: what is in the list is
 * changed under a lock, and files are read and written without it, written by a thread of the disk's own. */
#ifndef HN_ENGINE_BEGINNINGS_DISK_H
#define HN_ENGINE_BEGINNINGS_DISK_H

#include "base/sha256.h"
#include "engine/engine.h"
#include "hone/scheduler.h"

typedef struct hn_disk_name {
    uint8_t digest[32];
} hn_disk_name;

/* Whether a file of this name is there, with data of at least so many bytes; it is young again. */
bool hn_disk_has(hn_lm_disk *disk, const hn_disk_name *name, size_t data_bytes);

/* `key` is lines of a word and what it is, a NUL, and ids. The file's data is *data, to be freed with hn_free, or NULL: there is no
 * file, or none that may be used. Only the lack of memory fails. */
hn_status hn_disk_read(hn_lm_disk *disk, const hn_disk_name *name, const void *key, size_t key_bytes, void **data, size_t *data_bytes);
/* To be written, by the disk's own thread, in the place of what has this name; the oldest go, so that all have room. `data`, of the
 * engine's heap, is the disk's from then on. If too much waits already it is not kept, and counted, unless it `waits`. One that cannot
 * be written is told, and is no failure; the lack of memory is. */
hn_status hn_disk_give(hn_lm_disk *disk, const hn_disk_name *name, const void *key, size_t key_bytes, void *data, size_t data_bytes, bool waits);
/* Until all that was given is written. */
void hn_disk_settle(hn_lm_disk *disk);

/* The failure that was last on this thread, to who opened it. */
void hn_disk_tell(const hn_lm_disk *disk);

#endif
