/* beginnings_queue.h: blocks that wait to be written, and the thread that writes them.
 *
 * Who computes gives a block away and goes on: a disk may take as long as it likes. What waits is bounded in bytes, since a disk that is
 * slower than what leaves memory would otherwise have all of it; one block fits whatever its size. A block is found here until it has
 * been written, so that at no moment it is neither here nor on the disk. */
#ifndef HN_ENGINE_BEGINNINGS_QUEUE_H
#define HN_ENGINE_BEGINNINGS_QUEUE_H

#include "base/heap.h"
#include "base/os/threads.h"
#include "engine/beginnings_disk.h"

typedef struct hn_disk_waiting {
    struct hn_disk_waiting *next;
    hn_disk_name name;
    void *key, *data;
    size_t key_bytes, data_bytes;
} hn_disk_waiting;

typedef struct hn_disk_queue {
    hn_heap *heap;
    void (*write)(void *context, const hn_disk_waiting *block);
    void *context;
    int64_t most; /* bytes */
    hn_os_thread thread;
    bool is_running;
    hn_os_mutex lock; /* of these: */
    hn_os_condition comes, goes;
    hn_disk_waiting *first, *last; /* the first may be being written */
    int64_t bytes;
    bool stops;
} hn_disk_queue;

hn_status hn_disk_queue_start(hn_disk_queue *queue, hn_heap *heap, int64_t most, void (*write)(void *context, const hn_disk_waiting *block),
                              void *context);
/* All that waits is written first. Takes a zeroed one. */
void hn_disk_queue_stop(hn_disk_queue *queue);

/* `data` is the queue's if it is taken; the key is copied. HN_ERR_BUSY: there is no room, unless it `waits` for some. */
hn_status hn_disk_queue_give(hn_disk_queue *queue, const hn_disk_name *name, const void *key, size_t key_bytes, void *data, size_t data_bytes,
                             bool waits);
bool hn_disk_queue_has(hn_disk_queue *queue, const hn_disk_name *name, size_t data_bytes);
/* A copy of what waits under this name, with this key; NULL: there is none. */
hn_status hn_disk_queue_copy(hn_disk_queue *queue, const hn_disk_name *name, const void *key, size_t key_bytes, void **data,
                             size_t *data_bytes);
/* Until nothing waits. */
void hn_disk_queue_settle(hn_disk_queue *queue);

#endif
