/* http_client.h: one end of a connection over the loopback, as tests need it: it says any bytes in any pieces, and
 * takes replies apart itself, by other means than the server does. Not for several threads. */
#ifndef TESTS_PROPERTY_HTTP_CLIENT_H
#define TESTS_PROPERTY_HTTP_CLIENT_H

#include "base/heap.h"
#include "base/os/sockets.h"

typedef struct http_client {
    hn_os_socket socket;
    bool is_ended; /* the server has sent its last, or the connection is gone */
    bool is_lost;  /* gone, not ended */
    char *bytes;   /* what came and was not taken yet */
    size_t n, room;
} http_client;

typedef struct http_reply {
    int status; /* 0: none came in time */
    char head[4096];
    char *body; /* ends in NUL; chunks put together */
    size_t body_bytes;
    bool is_whole; /* with its end */
} http_reply;

void pause_ms(int milliseconds);

bool client_open(http_client *client, int port);
void client_close(http_client *client);
/* False if it could not all be sent in five seconds. */
bool client_say(http_client *client, const char *bytes, size_t n);
bool client_say_text(http_client *client, const char *text);
/* Takes what is there, waiting so long for something. */
void client_receive(http_client *client, int milliseconds);
bool client_sees_end(http_client *client, int milliseconds); /* nothing more comes, and it has been told so */

/* The next reply, interim ones (100) too. To be freed by reply_free whatever came. is_head: it has no body. */
http_reply client_reply(http_client *client, bool is_head, int milliseconds);
void reply_free(http_reply *reply);
/* The value of a field, as it stands in the head; NULL: none. */
const char *reply_field(const http_reply *reply, const char *name, char *value, size_t room);

/* One request on a connection of its own, and its reply. */
http_reply client_ask(int port, const char *request, size_t n);

#endif
