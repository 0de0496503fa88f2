/* WSAPoll over a table. There is no pipe that it takes: the bell is a socket connected to another over the
 * loopback, whose peer is asked for its port before it is believed. */
#include <winsock2.h>

#include "base/os/poller.h"

#include "base/os/windows/wide.h"

#include <errno.h>
#include <string.h>

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
    hn_os_socket_close(p->bell[0]);
    hn_os_socket_close(p->bell[1]);
    hn_free(p->heap, p->watched);
    hn_free(p->heap, p->polled);
    *p = (hn_os_poller){ 0 };
}

/* Somebody else on this machine may have been faster. */
static bool is_from(hn_os_socket accepted, hn_os_socket caller)
{
    struct sockaddr_in peer, own;
    int a = sizeof peer, b = sizeof own;
    return getpeername((SOCKET)accepted, (struct sockaddr *)&peer, &a) == 0 &&
           getsockname((SOCKET)caller, (struct sockaddr *)&own, &b) == 0 && peer.sin_port == own.sin_port;
}

static bool wait_for(hn_os_socket socket)
{
    WSAPOLLFD one = { .fd = (SOCKET)socket, .events = POLLRDNORM };
    return WSAPoll(&one, 1, 5000) == 1;
}

static bool make_bell(hn_os_poller *p)
{
    int port = 0;
    const hn_os_socket listening = hn_os_listen("127.0.0.1", 0, &port);
    if (listening == HN_OS_NO_SOCKET)
        return false;
    p->bell[1] = hn_os_connect("127.0.0.1", port);
    for (int i = 0; i < 16 && p->bell[1] != HN_OS_NO_SOCKET && wait_for(listening); i++) {
        p->bell[0] = hn_os_accept(listening);
        if (p->bell[0] != HN_OS_NO_SOCKET && is_from(p->bell[0], p->bell[1]))
            break;
        hn_os_socket_close(p->bell[0]);
        p->bell[0] = HN_OS_NO_SOCKET;
    }
    hn_os_socket_close(listening);
    errno = EIO;
    return p->bell[0] != HN_OS_NO_SOCKET;
}

bool hn_os_poller_open(hn_os_poller *p, hn_heap *heap)
{
    *p = (hn_os_poller){ .heap = heap, .bell = { HN_OS_NO_SOCKET, HN_OS_NO_SOCKET } };
    if (!make_bell(p) || !hn_os_poller_add(p, p->bell[0], p, true, false))
        return closed(p);
    return true;
}

void hn_os_poller_ring(hn_os_poller *p) { send((SOCKET)p->bell[1], "", 1, 0); }

static void hear(const hn_os_poller *p)
{
    char rings[64];
    while (recv((SOCKET)p->bell[0], rings, sizeof rings, 0) == (int)sizeof rings)
        continue;
}

static bool make_room(hn_os_poller *p)
{
    if (p->n < p->room)
        return true;
    const size_t room = p->room ? 2 * (size_t)p->room : 64;
    hn_os_watched *watched = hn_realloc_array(p->heap, HN_TAG_TEXT, p->watched, room, sizeof *watched);
    if (watched)
        p->watched = watched;
    void *polled = hn_realloc_array(p->heap, HN_TAG_TEXT, p->polled, room, sizeof(WSAPOLLFD));
    if (polled)
        p->polled = polled;
    errno = ENOMEM;
    if (!watched || !polled)
        return false;
    p->room = (int)room;
    return true;
}

static hn_os_watched *find(const hn_os_poller *p, hn_os_socket socket)
{
    for (int i = 0; i < p->n; i++)
        if (p->watched[i].socket == socket)
            return &p->watched[i];
    return NULL;
}

bool hn_os_poller_add(hn_os_poller *p, hn_os_socket socket, void *context, bool read, bool write)
{
    if (!make_room(p))
        return false;
    p->watched[p->n++] = (hn_os_watched){ .socket = socket, .context = context, .read = read, .write = write };
    return true;
}

bool hn_os_poller_change(hn_os_poller *p, hn_os_socket socket, void *context, bool read, bool write)
{
    hn_os_watched *w = find(p, socket);
    errno = ENOENT;
    if (!w)
        return false;
    *w = (hn_os_watched){ .socket = socket, .context = context, .read = read, .write = write };
    return true;
}

void hn_os_poller_remove(hn_os_poller *p, hn_os_socket socket)
{
    hn_os_watched *w = find(p, socket);
    if (w)
        *w = p->watched[--p->n];
}

int hn_os_poller_wait(hn_os_poller *p, hn_os_event *events, int room, int milliseconds)
{
    WSAPOLLFD *polled = p->polled;
    for (int i = 0; i < p->n; i++) {
        const hn_os_watched *w = &p->watched[i];
        const int asked = (w->read ? POLLRDNORM : 0) | (w->write ? POLLWRNORM : 0);
        polled[i] = (WSAPOLLFD){ .fd = (SOCKET)w->socket, .events = (SHORT)asked };
    }
    const int n = WSAPoll(polled, (ULONG)p->n, milliseconds);
    if (n < 0)
        return -1;
    int n_events = 0;
    for (int i = 0; i < p->n && n_events < room; i++) {
        const SHORT is = polled[i].revents;
        if (is && p->watched[i].context == p)
            hear(p);
        else if (is)
            events[n_events++] = (hn_os_event){ .context = p->watched[i].context,
                                                .can_read = (is & (POLLRDNORM | POLLHUP)) != 0 && p->watched[i].read,
                                                .can_write = (is & POLLWRNORM) != 0,
                                                .is_lost = (is & (POLLERR | POLLNVAL)) != 0 };
    }
    return n_events;
}
