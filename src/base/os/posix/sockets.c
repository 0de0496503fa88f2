/* TCP by the system's sockets. Errors become the few that callers tell apart: none of this side's numbers is free,
 * later, lost. */
#define _GNU_SOURCE 1 /* accept4 */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "base/os/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} address;

bool hn_os_sockets_begin(void) { return true; }

/* Its length, 0 if `host` is none. */
static socklen_t address_of(const char *host, int port, address *out)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &out->four.sin_addr) == 1) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons((uint16_t)port);
        return sizeof out->four;
    }
    if (inet_pton(AF_INET6, host, &out->six.sin6_addr) == 1) {
        out->six.sin6_family = AF_INET6;
        out->six.sin6_port = htons((uint16_t)port);
        return sizeof out->six;
    }
    errno = EINVAL;
    return 0;
}

bool hn_os_is_address(const char *host)
{
    address a;
    return address_of(host, 0, &a) != 0;
}

bool hn_os_is_loopback(const char *host)
{
    address a;
    if (!address_of(host, 0, &a))
        return false;
    if (a.any.sa_family == AF_INET)
        return ntohl(a.four.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a.six.sin6_addr);
}

static void set(int socket, int level, int option, int value)
{
    setsockopt(socket, level, option, &value, sizeof value);
}

/* No child inherits it, none waits, and what is written goes at once. A peer that has vanished without a word is
 * found after a minute. */
static bool prepare(int socket)
{
    const int flags = fcntl(socket, F_GETFL);
    if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(socket, F_SETFD, FD_CLOEXEC) < 0)
        return false;
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
#if defined(TCP_KEEPIDLE)
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
#endif
#if defined(SO_NOSIGPIPE)
    set(socket, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    return true;
}

static hn_os_socket fail(int socket)
{
    const int why = errno;
    if (socket >= 0)
        close(socket);
    errno = why;
    return HN_OS_NO_SOCKET;
}

/* SO_REUSEADDR: a server that begins again is not kept from its port by connections of the one before. */
hn_os_socket hn_os_listen(const char *host, int port, int *bound)
{
    address a;
    socklen_t bytes = address_of(host, port, &a);
    if (!bytes)
        return HN_OS_NO_SOCKET;
    const int s = socket(a.any.sa_family, SOCK_STREAM, 0);
    if (s < 0 || !prepare(s))
        return fail(s);
    set(s, SOL_SOCKET, SO_REUSEADDR, 1);
    if (bind(s, &a.any, bytes) != 0 || listen(s, SOMAXCONN) != 0 || getsockname(s, &a.any, &bytes) != 0)
        return fail(s);
    *bound = ntohs(a.any.sa_family == AF_INET ? a.four.sin_port : a.six.sin6_port);
    return s;
}

hn_os_socket hn_os_accept(hn_os_socket listening)
{
    const int s = accept((int)listening, NULL, NULL);
    if (s < 0) {
        if (errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            errno = EMFILE;
        else if (errno != EMFILE)
            errno = EAGAIN; /* one that has gone again is nobody */
        return HN_OS_NO_SOCKET;
    }
    return prepare(s) ? s : fail(s);
}

hn_os_socket hn_os_connect(const char *host, int port)
{
    address a;
    const socklen_t bytes = address_of(host, port, &a);
    if (!bytes)
        return HN_OS_NO_SOCKET;
    const int s = socket(a.any.sa_family, SOCK_STREAM, 0);
    if (s < 0 || !prepare(s) || (connect(s, &a.any, bytes) != 0 && errno != EINPROGRESS))
        return fail(s);
    return s;
}

static ptrdiff_t done(ssize_t n)
{
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN ? HN_OS_LATER : HN_OS_LOST;
}

ptrdiff_t hn_os_receive(hn_os_socket socket, void *to, size_t bytes) { return done(recv((int)socket, to, bytes, 0)); }

ptrdiff_t hn_os_send(hn_os_socket socket, const void *from, size_t bytes)
{
#if defined(MSG_NOSIGNAL)
    return done(send((int)socket, from, bytes, MSG_NOSIGNAL));
#else
    return done(send((int)socket, from, bytes, 0));
#endif
}

void hn_os_socket_end(hn_os_socket socket) { shutdown((int)socket, SHUT_WR); }

void hn_os_socket_close(hn_os_socket socket)
{
    if (socket != HN_OS_NO_SOCKET)
        close((int)socket);
}

void hn_os_socket_reset(hn_os_socket socket)
{
    const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
    setsockopt((int)socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close((int)socket);
}
