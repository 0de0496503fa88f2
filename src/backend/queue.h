/* queue.h: the queue of a device that is the host itself, where it stands beside devices with queues of their own: a thread that
 * does in turn what was put, so that the thread that puts it waits for nobody.
 *
 *     the host's thread   calls | far awaits | far's calls | await far | calls | wait
 *     the queue's                 calls ..                 [until far has come there] calls ..
 *
 * Nothing is allocated where work is put. Who finds the queue full waits until a place is free. */
#ifndef HN_BACKEND_QUEUE_H
#define HN_BACKEND_QUEUE_H

#include "backend/backend.h"

typedef struct hn_queue hn_queue;

typedef enum hn_queued_kind { HN_QUEUED_CALLS, HN_QUEUED_FILL, HN_QUEUED_MOVE, HN_QUEUED_EVENT } hn_queued_kind;

typedef struct hn_queued {
    hn_queued_kind kind;
    union {
        hn_submission calls;
        struct {
            void *to;
            const void *from; /* HN_QUEUED_MOVE */
            size_t bytes;
            int byte; /* HN_QUEUED_FILL */
        };
        hn_event until;
    };
} hn_queued;

/* `calls` makes a submission's, on the queue's thread: what it cannot do is told by hn_queue_wait from then on. */
hn_status hn_queue_new(hn_queue **out, hn_device *device, hn_status (*calls)(hn_device *device, const hn_submission *stretch));
/* When nothing is under way; takes NULL; in a child of fork too, which may not use it. */
void hn_queue_free(hn_queue *queue);
void hn_queue_put(hn_queue *queue, const hn_queued *work);
/* How much was put by now: what an event is numbered with. */
uint64_t hn_queue_put_so_far(hn_queue *queue);
void hn_queue_reach(hn_queue *queue, uint64_t number); /* until so much is done */
hn_status hn_queue_wait(hn_queue *queue);              /* until all that was put by now is done */

#endif
