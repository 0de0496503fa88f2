/* epoll on Linux, kqueue elsewhere. The bell is an eventfd or a pipe; what lies in it is one ring, however
 * many there were. */
#define _GNU_SOURCE 1 /* pipe2 is not everywhere, eventfd is Linux's */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "base/os/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#else
#include <sys/event.h>
#include <sys/types.h>
#endif

enum { MOST_AT_ONCE = 64 };

static bool closed(hn_os_poller *p)
{
    const int why = errno;
    hn_os_poller_close(p);
    errno = why;
    return false;
}

void hn_os_poller_close(hn_os_poller *p)
{
    if (!p->heap)
        return;
    for (int i = 0; i < 2; i++)
        if (p->bell[i] >= 0 && (i == 0 || p->bell[1] != p->bell[0]))
            close((int)p->bell[i]);
    if (p->queue >= 0)
        close((int)p->queue);
    *p = (hn_os_poller){ 0 };
}

void hn_os_poller_ring(hn_os_poller *p)
{
    const uint64_t one = 1;
    const int before = errno;
    const ssize_t ignored = write((int)p->bell[1], &one, sizeof one); /* full: it rings already */
    (void)ignored;
    errno = before;
}

static void hear(const hn_os_poller *p)
{
    uint64_t rings[8];
    while (read((int)p->bell[0], rings, sizeof rings) == (ssize_t)sizeof rings)
        continue;
}

#if defined(__linux__)

bool hn_os_poller_open(hn_os_poller *p, hn_heap *heap)
{
    *p = (hn_os_poller){ .heap = heap, .queue = -1, .bell = { -1, -1 } };
    p->queue = epoll_create1(EPOLL_CLOEXEC);
    if (p->queue < 0)
        return closed(p);
    p->bell[0] = p->bell[1] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->bell[0] < 0 || !hn_os_poller_add(p, p->bell[0], p, true, false))
        return closed(p);
    return true;
}

static bool control(const hn_os_poller *p, int what, hn_os_socket socket, void *context, bool read, bool write)
{
    struct epoll_event e = { .events = (read ? EPOLLIN : 0u) | (write ? EPOLLOUT : 0u), .data.ptr = context };
    return epoll_ctl((int)p->queue, what, (int)socket, &e) == 0;
}

bool hn_os_poller_add(hn_os_poller *p, hn_os_socket socket, void *context, bool read, bool write)
{
    return control(p, EPOLL_CTL_ADD, socket, context, read, write);
}

bool hn_os_poller_change(hn_os_poller *p, hn_os_socket socket, void *context, bool read, bool write)
{
    return control(p, EPOLL_CTL_MOD, socket, context, read, write);
}

void hn_os_poller_remove(hn_os_poller *p, hn_os_socket socket) { control(p, EPOLL_CTL_DEL, socket, NULL, false, false); }

int hn_os_poller_wait(hn_os_poller *p, hn_os_event *events, int room, int milliseconds)
{
    struct epoll_event found[MOST_AT_ONCE];
    const int n = epoll_wait((int)p->queue, found, room < MOST_AT_ONCE ? room : MOST_AT_ONCE, milliseconds);
    if (n < 0)
        return errno == EINTR ? 0 : -1;
    int n_events = 0;
    for (int i = 0; i < n; i++) {
        const uint32_t is = found[i].events;
        if (found[i].data.ptr == p)
            hear(p);
        else
            events[n_events++] = (hn_os_event){ .context = found[i].data.ptr, .can_read = (is & EPOLLIN) != 0,
                                                .can_write = (is & EPOLLOUT) != 0,
                                                .is_lost = (is & (EPOLLERR | EPOLLHUP)) != 0 };
    }
    return n_events;
}

#else

static bool is_ours(int end) { return fcntl(end, F_SETFL, O_NONBLOCK) == 0 && fcntl(end, F_SETFD, FD_CLOEXEC) == 0; }

bool hn_os_poller_open(hn_os_poller *p, hn_heap *heap)
{
    int ends[2] = { -1, -1 };
    *p = (hn_os_poller){ .heap = heap, .queue = -1, .bell = { -1, -1 } };
    p->queue = kqueue();
    if (p->queue < 0 || pipe(ends) != 0)
        return closed(p);
    p->bell[0] = ends[0], p->bell[1] = ends[1];
    if (!is_ours(ends[0]) || !is_ours(ends[1]) || !hn_os_poller_add(p, p->bell[0], p, true, false))
        return closed(p);
    return true;
}

/* A filter is there, and asleep or awake. */
static bool control(const hn_os_poller *p, hn_os_socket socket, void *context, bool read, bool write)
{
    struct kevent changes[2];
    EV_SET(&changes[0], (uintptr_t)socket, EVFILT_READ, EV_ADD | (read ? EV_ENABLE : EV_DISABLE), 0, 0, context);
    EV_SET(&changes[1], (uintptr_t)socket, EVFILT_WRITE, EV_ADD | (write ? EV_ENABLE : EV_DISABLE), 0, 0, context);
    return kevent((int)p->queue, changes, 2, NULL, 0, NULL) == 0;
}

bool hn_os_poller_add(hn_os_poller *p, hn_os_socket socket, void *context, bool read, bool write)
{
    if (context != p)
        return control(p, socket, context, read, write);
    struct kevent change; /* the end of a pipe that is read cannot be written to */
    EV_SET(&change, (uintptr_t)socket, EVFILT_READ, EV_ADD, 0, 0, context);
    return kevent((int)p->queue, &change, 1, NULL, 0, NULL) == 0;
}

bool hn_os_poller_change(hn_os_poller *p, hn_os_socket socket, void *context, bool read, bool write)
{
    return control(p, socket, context, read, write);
}

void hn_os_poller_remove(hn_os_poller *p, hn_os_socket socket)
{
    struct kevent changes[2];
    EV_SET(&changes[0], (uintptr_t)socket, EVFILT_READ, EV_DELETE, 0, 0, NULL);
    EV_SET(&changes[1], (uintptr_t)socket, EVFILT_WRITE, EV_DELETE, 0, 0, NULL);
    for (int i = 0; i < 2; i++)
        kevent((int)p->queue, &changes[i], 1, NULL, 0, NULL);
}

int hn_os_poller_wait(hn_os_poller *p, hn_os_event *events, int room, int milliseconds)
{
    struct kevent found[MOST_AT_ONCE];
    const struct timespec limit = { .tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000 };
    const int n = kevent((int)p->queue, NULL, 0, found, room < MOST_AT_ONCE ? room : MOST_AT_ONCE,
                         milliseconds < 0 ? NULL : &limit);
    if (n < 0)
        return errno == EINTR ? 0 : -1;
    int n_events = 0;
    for (int i = 0; i < n; i++) {
        const bool is_end = (found[i].flags & EV_EOF) != 0;
        if (found[i].udata == p)
            hear(p);
        else
            events[n_events++] = (hn_os_event){
                .context = found[i].udata,
                .can_read = found[i].filter == EVFILT_READ,
                .can_write = found[i].filter == EVFILT_WRITE && !is_end,
                .is_lost = is_end && (found[i].fflags != 0 || found[i].filter == EVFILT_WRITE),
            };
    }
    return n_events;
}

#endif
