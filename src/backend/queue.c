/* A ring: `n_put` and `n_done` only grow, and what lies between them is to be done. */
#include "backend/queue.h"

#include "base/os/process.h"
#include "base/os/threads.h"

#include <stdio.h>
#include <string.h>

enum { PLACES = 256 }; /* a step that goes to and fro sixty times; 10 KiB */

struct hn_queue {
    hn_device *device;
    hn_status (*calls)(hn_device *device, const hn_submission *stretch);
    hn_queued ring[PLACES];
    uint64_t n_put, n_done;
    bool is_closing;
    hn_status failed; /* the first, which stays */
    char why[1024];
    hn_os_mutex mutex;
    hn_os_condition moved;
    hn_os_thread thread;
    long made_by; /* its thread is in no other process */
};

static hn_status work(hn_queue *q, const hn_queued *w)
{
    switch (w->kind) {
    case HN_QUEUED_CALLS: return q->calls(q->device, &w->calls);
    case HN_QUEUED_FILL: memset(w->to, w->byte, w->bytes); break;
    case HN_QUEUED_MOVE: memmove(w->to, w->from, w->bytes); break;
    case HN_QUEUED_EVENT: w->until.device->backend->reach(&w->until); break;
    }
    return HN_OK;
}

static void note_failure(hn_queue *q, hn_status status)
{
    if (status == HN_OK || q->failed != HN_OK)
        return;
    q->failed = status;
    snprintf(q->why, sizeof q->why, "%s", hn_error_message());
}

static void queue_main(void *context)
{
    hn_queue *q = context;
    hn_os_mutex_lock(&q->mutex);
    for (;;) {
        while (q->n_done == q->n_put && !q->is_closing)
            hn_os_condition_wait(&q->moved, &q->mutex);
        if (q->n_done == q->n_put)
            break;
        const hn_queued *next = &q->ring[q->n_done % PLACES]; /* nobody writes there before it is done */
        hn_os_mutex_unlock(&q->mutex);
        const hn_status status = work(q, next);
        hn_os_mutex_lock(&q->mutex);
        note_failure(q, status);
        q->n_done++;
        hn_os_condition_wake_all(&q->moved);
    }
    hn_os_mutex_unlock(&q->mutex);
}

hn_status hn_queue_new(hn_queue **out, hn_device *device, hn_status (*calls)(hn_device *device, const hn_submission *stretch))
{
    *out = NULL;
    hn_queue *q = hn_alloc(device->heap, HN_TAG_DEVICE, sizeof *q);
    if (!q)
        return HN_ERR_MEMORY;
    q->device = device;
    q->calls = calls;
    q->made_by = hn_os_process_id();
    hn_os_mutex_open(&q->mutex);
    hn_os_condition_open(&q->moved);
    const int failure = hn_os_thread_start(&q->thread, queue_main, q);
    if (failure) {
        hn_os_condition_close(&q->moved);
        hn_os_mutex_close(&q->mutex);
        hn_free(device->heap, q);
        return hn_fail(HN_ERR_MEMORY, "%s: the system gave no thread for its queue (error %d)", device->name, failure);
    }
    *out = q;
    return HN_OK;
}

/* In a child of fork there is no thread to end. */
static void end_thread(hn_queue *q)
{
    hn_os_mutex_lock(&q->mutex);
    q->is_closing = true;
    hn_os_condition_wake_all(&q->moved);
    hn_os_mutex_unlock(&q->mutex);
    hn_os_thread_join(&q->thread);
    hn_os_condition_close(&q->moved);
    hn_os_mutex_close(&q->mutex);
}

void hn_queue_free(hn_queue *q)
{
    if (!q)
        return;
    if (q->made_by == hn_os_process_id())
        end_thread(q);
    hn_free(q->device->heap, q);
}

void hn_queue_put(hn_queue *q, const hn_queued *work)
{
    hn_os_mutex_lock(&q->mutex);
    while (q->n_put - q->n_done == PLACES)
        hn_os_condition_wait(&q->moved, &q->mutex);
    q->ring[q->n_put++ % PLACES] = *work;
    hn_os_condition_wake_all(&q->moved);
    hn_os_mutex_unlock(&q->mutex);
}

uint64_t hn_queue_put_so_far(hn_queue *q)
{
    hn_os_mutex_lock(&q->mutex);
    const uint64_t n = q->n_put;
    hn_os_mutex_unlock(&q->mutex);
    return n;
}

void hn_queue_reach(hn_queue *q, uint64_t number)
{
    hn_os_mutex_lock(&q->mutex);
    while (q->n_done < number)
        hn_os_condition_wait(&q->moved, &q->mutex);
    hn_os_mutex_unlock(&q->mutex);
}

hn_status hn_queue_wait(hn_queue *q)
{
    hn_os_mutex_lock(&q->mutex);
    const uint64_t number = q->n_put;
    while (q->n_done < number)
        hn_os_condition_wait(&q->moved, &q->mutex);
    const hn_status status = q->failed == HN_OK ? HN_OK : hn_fail(q->failed, "%s", q->why);
    hn_os_mutex_unlock(&q->mutex);
    return status;
}
