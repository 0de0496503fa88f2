/* sockets.h: streams between machines (TCP), none of which waits. An address is one in numbers, of either
 * version, or "localhost", which is 127.0.0.1: no name is ever asked of anybody. What fails gives HN_OS_NO_SOCKET,
 * HN_OS_LOST or false, and errno says why. */
#ifndef HN_BASE_OS_SOCKETS_H
#define HN_BASE_OS_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef intptr_t hn_os_socket;

#define HN_OS_NO_SOCKET ((hn_os_socket)-1)
enum { HN_OS_LATER = -1, HN_OS_LOST = -2 }; /* nothing can be had now; nothing ever again */

/* Before the first socket; again is nothing. */
bool hn_os_sockets_begin(void);

bool hn_os_is_address(const char *host);  /* that hn_os_listen takes */
bool hn_os_is_loopback(const char *host); /* an address that no other machine reaches */

/* Port 0: any that is free; *bound is the one it got. */
hn_os_socket hn_os_listen(const char *host, int port, int *bound);
/* The next that waits. EAGAIN: nobody; EMFILE: somebody, and no descriptor is left for them. */
hn_os_socket hn_os_accept(hn_os_socket listening);
/* On its way, or there already: it can be written to when it is. */
hn_os_socket hn_os_connect(const char *host, int port);

/* Bytes done, at most those asked for, HN_OS_LATER or HN_OS_LOST; of receiving 0: the peer has sent its last. */
ptrdiff_t hn_os_receive(hn_os_socket socket, void *to, size_t bytes);
ptrdiff_t hn_os_send(hn_os_socket socket, const void *from, size_t bytes);

void hn_os_socket_end(hn_os_socket socket);   /* nothing more will be sent, which the peer is told */
void hn_os_socket_close(hn_os_socket socket); /* takes none */
void hn_os_socket_reset(hn_os_socket socket); /* closes it so that the peer cannot take it for an end */

#endif
