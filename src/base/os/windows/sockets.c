/* As posix/sockets.c, over Winsock, whose errors are not errno's. It must be begun once. */
#include <winsock2.h>
#include <ws2tcpip.h>

#include "base/os/sockets.h"

#include "base/os/windows/wide.h"

#include <errno.h>
#include <string.h>

typedef union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} address;

bool hn_os_sockets_begin(void)
{
    WSADATA about; /* counted by the system, and given back at the process's end */
    return WSAStartup(MAKEWORD(2, 2), &about) == 0;
}

/* errno from the system's last error of sockets. */
static void keep_errno(void)
{
    switch (WSAGetLastError()) {
    case WSAEWOULDBLOCK: errno = EAGAIN; break;
    case WSAEMFILE:
    case WSAENOBUFS: errno = EMFILE; break;
    case WSAEADDRINUSE: errno = EADDRINUSE; break;
    case WSAEADDRNOTAVAIL: errno = EADDRNOTAVAIL; break;
    case WSAEACCES: errno = EACCES; break;
    case WSAEINVAL: errno = EINVAL; break;
    default: errno = EIO;
    }
}

/* Its length, 0 if `host` is none. */
static int address_of(const char *host, int port, address *out)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &out->four.sin_addr) == 1) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons((u_short)port);
        return sizeof out->four;
    }
    if (inet_pton(AF_INET6, host, &out->six.sin6_addr) == 1) {
        out->six.sin6_family = AF_INET6;
        out->six.sin6_port = htons((u_short)port);
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

static void set(SOCKET socket, int level, int option, DWORD value)
{
    setsockopt(socket, level, option, (const char *)&value, sizeof value);
}

static bool prepare(SOCKET socket)
{
    u_long never_waits = 1;
    if (ioctlsocket(socket, (long)FIONBIO, &never_waits) != 0)
        return false;
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    return true;
}

static hn_os_socket fail(SOCKET socket)
{
    keep_errno();
    if (socket != INVALID_SOCKET)
        closesocket(socket);
    return HN_OS_NO_SOCKET;
}

static SOCKET new_socket(const address *a)
{
    return WSASocketW(a->any.sa_family, SOCK_STREAM, 0, NULL, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
}

/* SO_EXCLUSIVEADDRUSE: without it another program may take the port from under us. */
hn_os_socket hn_os_listen(const char *host, int port, int *bound)
{
    address a;
    int bytes = address_of(host, port, &a);
    if (!bytes)
        return HN_OS_NO_SOCKET;
    const SOCKET s = new_socket(&a);
    if (s == INVALID_SOCKET || !prepare(s))
        return fail(s);
    set(s, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1);
    if (bind(s, &a.any, bytes) != 0 || listen(s, SOMAXCONN) != 0 || getsockname(s, &a.any, &bytes) != 0)
        return fail(s);
    *bound = ntohs(a.any.sa_family == AF_INET ? a.four.sin_port : a.six.sin6_port);
    return (hn_os_socket)s;
}

hn_os_socket hn_os_accept(hn_os_socket listening)
{
    const SOCKET s = accept((SOCKET)listening, NULL, NULL);
    if (s == INVALID_SOCKET) {
        keep_errno();
        errno = errno == EMFILE ? EMFILE : EAGAIN; /* one that has gone again is nobody */
        return HN_OS_NO_SOCKET;
    }
    SetHandleInformation((HANDLE)s, HANDLE_FLAG_INHERIT, 0);
    return prepare(s) ? (hn_os_socket)s : fail(s);
}

hn_os_socket hn_os_connect(const char *host, int port)
{
    address a;
    const int bytes = address_of(host, port, &a);
    if (!bytes)
        return HN_OS_NO_SOCKET;
    const SOCKET s = new_socket(&a);
    if (s == INVALID_SOCKET || !prepare(s) ||
        (connect(s, &a.any, bytes) != 0 && WSAGetLastError() != WSAEWOULDBLOCK))
        return fail(s);
    return (hn_os_socket)s;
}

static ptrdiff_t done(int n)
{
    if (n >= 0)
        return n;
    const int why = WSAGetLastError();
    return why == WSAEWOULDBLOCK || why == WSAEINTR || why == WSAENOTCONN ? HN_OS_LATER : HN_OS_LOST;
}

static int at_most(size_t bytes) { return bytes > 1 << 30 ? 1 << 30 : (int)bytes; }

ptrdiff_t hn_os_receive(hn_os_socket socket, void *to, size_t bytes)
{
    return done(recv((SOCKET)socket, to, at_most(bytes), 0));
}

ptrdiff_t hn_os_send(hn_os_socket socket, const void *from, size_t bytes)
{
    return done(send((SOCKET)socket, from, at_most(bytes), 0));
}

void hn_os_socket_end(hn_os_socket socket) { shutdown((SOCKET)socket, SD_SEND); }

void hn_os_socket_close(hn_os_socket socket)
{
    if (socket != HN_OS_NO_SOCKET)
        closesocket((SOCKET)socket);
}

void hn_os_socket_reset(hn_os_socket socket)
{
    const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
    setsockopt((SOCKET)socket, SOL_SOCKET, SO_LINGER, (const char *)&at_once, sizeof at_once);
    closesocket((SOCKET)socket);
}
