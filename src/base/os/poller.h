/* poller.h: one thread waits for many sockets, and for whoever rings. What fails gives false or -1, and errno.
 *
 * A socket is reported for as long as there is something to do with it, not once. Only hn_os_poller_ring is for
 * any thread; the rest is the waiting thread's. */
#ifndef HN_BASE_OS_POLLER_H
#define HN_BASE_OS_POLLER_H

#include "base/heap.h"
#include "base/os/sockets.h"

typedef struct hn_os_event {
    void *context;          /* of the socket */
    bool can_read;          /* bytes, an end or a failure: receiving says which */
    bool can_write, is_lost; /* lost: whatever was asked for */
} hn_os_event;

/* One place of the table that systems take which have no queue of their own. */
typedef struct hn_os_watched {
    hn_os_socket socket;
    void *context;
    bool read, write;
} hn_os_watched;

typedef struct hn_os_poller {
    intptr_t queue;
    hn_os_socket bell[2]; /* rung at 1, heard at 0 */
    hn_heap *heap;
    hn_os_watched *watched; /* by systems without a queue */
    void *polled;
    int n, room;
} hn_os_poller;

/* Stays where it is until it is closed; a closed one, all zeros or after a failure to open, may be closed. */
bool hn_os_poller_open(hn_os_poller *poller, hn_heap *heap);
void hn_os_poller_close(hn_os_poller *poller);

/* From here on `context` is reported when one of these can be done; neither: only if it is lost, which not every
 * system tells then. */
bool hn_os_poller_add(hn_os_poller *poller, hn_os_socket socket, void *context, bool read, bool write);
bool hn_os_poller_change(hn_os_poller *poller, hn_os_socket socket, void *context, bool read, bool write);
void hn_os_poller_remove(hn_os_poller *poller, hn_os_socket socket); /* before it is closed */

/* Events, at most `room`; 0 if somebody rang, or nothing was for so long (-1: however long). A socket may be told
 * of twice in one answer. */
int hn_os_poller_wait(hn_os_poller *poller, hn_os_event *events, int room, int milliseconds);
/* The wait that is, or else the next, comes to its end. */
void hn_os_poller_ring(hn_os_poller *poller);

#endif
