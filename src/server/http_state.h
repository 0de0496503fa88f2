/* http_state.h: a server from inside: who touches what.
 *
 *     handler's thread               mutex                     server's thread
 *     hn_http_write --- said ------> call->said --- swap ----> connection->sending ---> the system
 *                  \-- ring ------------------------ news ---> hn_http_connection_flush
 *
 * A call is the handler's until it has ended; the server's thread hears of that as of all that is said, by the list of
 * news, and frees the call then, or when all of it is sent. A connection is the server's thread's alone. */
#ifndef HN_SERVER_HTTP_STATE_H
#define HN_SERVER_HTTP_STATE_H

#include "base/os/poller.h"
#include "base/os/threads.h"
#include "base/str.h"
#include "server/http.h"
#include "server/http_parse.h"

#include <stdatomic.h>

enum { HN_HTTP_SCRATCH = 65536, HN_HTTP_TAG = 64, HN_HTTP_SURPLUS = 64, HN_HTTP_ROOM_HEAD = 400 };

/* What is said where there is no memory to say it with. */
#define HN_HTTP_NO_ROOM                                                                                                \
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 81\r\n"                   \
    "Connection: close\r\n\r\n{\"error\":{\"message\":\"there is no memory for this request\",\"type\":"             \
    "\"server_error\"}}"

typedef struct hn_http_buffer {
    char *bytes;
    size_t n, room, sent;
} hn_http_buffer;

/* Room for n more; false: there is no memory, and it is as before. */
bool hn_http_buffer_room(hn_http_buffer *buffer, hn_heap *heap, size_t n);
void hn_http_buffer_add(hn_http_buffer *buffer, const void *bytes, size_t n); /* for which there is room */
void hn_http_buffer_free(hn_http_buffer *buffer, hn_heap *heap);

typedef enum hn_http_trouble {
    HN_HTTP_NO_TROUBLE,
    HN_HTTP_NO_MEMORY, /* of the reply, part is missing */
    HN_HTTP_OVERRUN,   /* more waits than may */
    HN_HTTP_BROKEN     /* by the handler */
} hn_http_trouble;

struct hn_http_call {
    hn_http *http;
    hn_http_parse parse; /* its request */
    char tag[HN_HTTP_TAG];
    _Atomic bool is_gone;
    _Atomic size_t n_waiting; /* bytes said, not sent */

    /* the server's thread's */
    struct hn_http_connection *connection; /* NULL: it is lost */
    bool is_over; /* that it has ended was heard */
    int64_t began_ns;
    uint64_t n_sent;
    size_t body_counted; /* in http->bodies */

    /* the handler's thread's */
    hn_str fields;

    /* under the mutex */
    hn_http_buffer said;
    hn_str kept; /* all of its reply's body, where texts are kept */
    hn_http_trouble trouble;
    bool has_begun, has_ended, is_in_news, closes, is_chunked, has_no_body;
    int status;
    int64_t said_ns, ping_ns;
    hn_http_buffer ping;
    hn_http_call *next; /* in the news */
};

typedef enum hn_http_phase {
    HN_HTTP_OPEN,
    HN_HTTP_LAST,     /* what waits is sent, then */
    HN_HTTP_LINGERING /* what still comes is thrown away, so that the client reads before it is cut off */
} hn_http_phase;

typedef struct hn_http_connection {
    hn_http *http;
    hn_os_socket socket;
    hn_http_phase phase;
    hn_http_parse parse; /* of the next request, while it has no call */
    hn_http_call *call;
    bool is_handed; /* the call is the handler's: what comes now waits in `held` */
    bool has_ended; /* the client has sent its last */
    bool is_dead;
    bool watches_read, watches_write;
    hn_http_buffer held, sending;
    int64_t began_ns;   /* the connection, the request that comes, or the end of the one before */
    int64_t waits_ns;   /* what is sent began to wait; 0: nothing waits */
    uint64_t n_taken;   /* of it, by the client since */
    bool had_request;
    struct hn_http_connection *next, *before;
} hn_http_connection;

struct hn_http {
    hn_heap *heap;
    hn_http_options options;
    hn_http_parse_limits limits;
    int port;
    hn_os_socket listening;
    hn_os_poller poller;
    hn_os_thread thread;
    hn_os_mutex mutex;
    _Atomic bool is_rung, is_draining, is_stopping;
    _Atomic int64_t n_calls;

    /* under the mutex */
    hn_http_call *news, **news_end;
    int64_t date_second;
    char date[32];

    /* the server's thread's */
    hn_http_connection *connections, *dead;
    int64_t n_connections, bodies;
    int64_t now_ns, look_ns, next_look_ns, accept_ns; /* accept_ns: when to try again; 0: the listener is watched */
    bool has_drained;
    char *scratch;
};

/* ---- http_call.c ---- */
hn_http_call *hn_http_call_new(hn_http *http, hn_http_parse *parse); /* takes what is in `parse`; NULL: no memory */
void hn_http_call_free(hn_http_call *call);
bool hn_http_keeps_text(const hn_http_call *call); /* its body, and its reply's */
bool hn_http_call_ping(hn_http_call *call, int64_t now_ns); /* under no lock: says one if it is time */
void hn_http_enter(const hn_http *http); /* this thread is the server's from here on */
const char *hn_http_date(hn_http *http); /* under the mutex */

/* ---- http_connection.c: all on the server's thread ---- */
hn_http_connection *hn_http_connection_new(hn_http *http, hn_os_socket socket); /* NULL: no memory; the socket is not taken */
void hn_http_connection_on(hn_http_connection *c, const hn_os_event *event);
void hn_http_connection_flush(hn_http_connection *c);
void hn_http_connection_refuse(hn_http_connection *c, int status, const char *reason);
void hn_http_connection_look(hn_http_connection *c); /* at its limits of time */
void hn_http_connection_close(hn_http_connection *c); /* at once, whatever waits; it is buried later */
void hn_http_call_over(hn_http_call *call); /* one whose connection is lost */

#endif
