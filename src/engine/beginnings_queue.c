/* A list under a lock. Its first block stays in it while it is written, without the lock: the thread alone takes blocks out, so the
 * first is the same when it comes back. */
#include "engine/beginnings_queue.h"

#include <string.h>

static int64_t bytes_of(const hn_disk_waiting *w) { return (int64_t)(w->key_bytes + w->data_bytes); }

static void free_block(hn_heap *heap, hn_disk_waiting *w)
{
    hn_free(heap, w->key);
    hn_free(heap, w->data);
    hn_free(heap, w);
}

/* ---- the thread ---- */

static hn_disk_waiting *wait_for_one(hn_disk_queue *q)
{
    hn_os_mutex_lock(&q->lock);
    while (!q->first && !q->stops)
        hn_os_condition_wait(&q->comes, &q->lock);
    hn_disk_waiting *first = q->first;
    hn_os_mutex_unlock(&q->lock);
    return first;
}

static void take_out(hn_disk_queue *q, hn_disk_waiting *first)
{
    hn_os_mutex_lock(&q->lock);
    q->first = first->next;
    if (!q->first)
        q->last = NULL;
    q->bytes -= bytes_of(first);
    hn_os_condition_wake_all(&q->goes);
    hn_os_mutex_unlock(&q->lock);
    free_block(q->heap, first);
}

static void work(void *context)
{
    hn_disk_queue *q = context;
    for (hn_disk_waiting *first; (first = wait_for_one(q));) {
        q->write(q->context, first);
        take_out(q, first);
    }
}

hn_status hn_disk_queue_start(hn_disk_queue *q, hn_heap *heap, int64_t most, void (*write)(void *, const hn_disk_waiting *), void *context)
{
    *q = (hn_disk_queue){ .heap = heap, .most = most, .write = write, .context = context };
    hn_os_mutex_open(&q->lock);
    hn_os_condition_open(&q->comes);
    hn_os_condition_open(&q->goes);
    const int error = hn_os_thread_start(&q->thread, work, q);
    q->is_running = !error;
    if (!error)
        return HN_OK;
    hn_os_condition_close(&q->goes);
    hn_os_condition_close(&q->comes);
    hn_os_mutex_close(&q->lock);
    return hn_fail(HN_ERR_MEMORY, "a thread to write with: %s", strerror(error));
}

void hn_disk_queue_stop(hn_disk_queue *q)
{
    if (!q->is_running)
        return;
    hn_os_mutex_lock(&q->lock);
    q->stops = true;
    hn_os_condition_wake(&q->comes);
    hn_os_mutex_unlock(&q->lock);
    hn_os_thread_join(&q->thread);
    hn_os_condition_close(&q->goes);
    hn_os_condition_close(&q->comes);
    hn_os_mutex_close(&q->lock);
    q->is_running = false;
}

void hn_disk_queue_settle(hn_disk_queue *q)
{
    hn_os_mutex_lock(&q->lock);
    while (q->first)
        hn_os_condition_wait(&q->goes, &q->lock);
    hn_os_mutex_unlock(&q->lock);
}

/* ---- those who give and look ---- */

static bool fits(const hn_disk_queue *q, int64_t bytes) { return !q->first || (bytes <= q->most && q->bytes <= q->most - bytes); }

static bool add(hn_disk_queue *q, hn_disk_waiting *w, bool waits)
{
    hn_os_mutex_lock(&q->lock);
    while (waits && !fits(q, bytes_of(w)))
        hn_os_condition_wait(&q->goes, &q->lock);
    const bool has_room = fits(q, bytes_of(w));
    if (has_room) {
        if (q->last)
            q->last->next = w;
        else
            q->first = w;
        q->last = w;
        q->bytes += bytes_of(w);
        hn_os_condition_wake(&q->comes);
    }
    hn_os_mutex_unlock(&q->lock);
    return has_room;
}

hn_status hn_disk_queue_give(hn_disk_queue *q, const hn_disk_name *name, const void *key, size_t key_bytes, void *data, size_t data_bytes,
                             bool waits)
{
    hn_disk_waiting *w = hn_alloc(q->heap, HN_TAG_FILE, sizeof *w);
    void *own_key = hn_alloc(q->heap, HN_TAG_FILE, key_bytes);
    hn_status status = HN_ERR_MEMORY;
    if (w && own_key) {
        memcpy(own_key, key, key_bytes);
        *w = (hn_disk_waiting){ .name = *name, .key = own_key, .key_bytes = key_bytes, .data = data, .data_bytes = data_bytes };
        status = add(q, w, waits) ? HN_OK : HN_ERR_BUSY;
    }
    if (status != HN_OK) {
        hn_free(q->heap, own_key);
        hn_free(q->heap, w);
    }
    return status;
}

/* Of several with this name the last, which will be what the disk has. Under the lock. */
static const hn_disk_waiting *find(const hn_disk_queue *q, const hn_disk_name *name)
{
    const hn_disk_waiting *found = NULL;
    for (const hn_disk_waiting *w = q->first; w; w = w->next)
        if (!memcmp(&w->name, name, sizeof *name))
            found = w;
    return found;
}

bool hn_disk_queue_has(hn_disk_queue *q, const hn_disk_name *name, size_t data_bytes)
{
    hn_os_mutex_lock(&q->lock);
    const hn_disk_waiting *w = find(q, name);
    const bool has = w && w->data_bytes >= data_bytes;
    hn_os_mutex_unlock(&q->lock);
    return has;
}

hn_status hn_disk_queue_copy(hn_disk_queue *q, const hn_disk_name *name, const void *key, size_t key_bytes, void **data, size_t *data_bytes)
{
    hn_status status = HN_OK;
    *data = NULL;
    hn_os_mutex_lock(&q->lock);
    const hn_disk_waiting *w = find(q, name);
    if (w && w->key_bytes == key_bytes && !memcmp(w->key, key, key_bytes)) {
        *data = hn_alloc(q->heap, HN_TAG_FILE, w->data_bytes);
        status = *data ? HN_OK : HN_ERR_MEMORY;
        *data_bytes = w->data_bytes;
    }
    if (*data)
        memcpy(*data, w->data, *data_bytes);
    hn_os_mutex_unlock(&q->lock);
    return status;
}
