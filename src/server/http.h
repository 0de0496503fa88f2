/* http.h: requests over HTTP/1.1, each handed over whole, and their replies, from any thread.
 *
 * A server has one thread of its own, which takes requests apart, hands them over one after the other on each
 * connection, and sends what others have said. It understands no path: who serves does. */
#ifndef HN_SERVER_HTTP_H
#define HN_SERVER_HTTP_H

#include "base/file.h"
#include "base/str.h"

typedef struct hn_http hn_http;           /* a server: listening sockets, connections, one thread */
typedef struct hn_http_call hn_http_call; /* one request and its reply */

typedef struct hn_http_field {
    const char *name, *value; /* the name in lower case, the value without blanks around it */
} hn_http_field;

typedef struct hn_http_request {
    const char *method, *path, *query; /* path decoded, UTF-8 and without a query; query raw, "" if there is none */
    const hn_http_field *fields;
    size_t n_fields;
    const char *body; /* ends in NUL; chunked bodies are put together; "" if there is none */
    size_t body_bytes;
} hn_http_request;

/* What was done about a request, when nothing more can be: for a log. */
typedef struct hn_http_done {
    const char *method, *path; /* "-" of what was no request */
    const char *tag;           /* as hn_http_set_tag has it, or NULL */
    int status;                /* 0: the client left before there was one */
    bool is_gone;              /* the client left, or was left, before it had all of it */
    uint64_t bytes;            /* of the reply, head and all, that were sent */
    int64_t ns;                /* from the request's first byte on */
    hn_span asked, said;       /* with `keeps_texts`: a body of JSON, and what was replied to it, but for pings; NULL: none */
    bool lacks_texts;          /* there was no memory to keep all that was said */
} hn_http_done;

/* Every limit: its field, what it is unless given, what it is an option's name for, and what it limits. */
#define HN_HTTP_LIMITS(X)                                                                                              \
    X(connections, 1024, "connections", "that are open at a time; one more is told 503")                               \
    X(head_bytes, 32768, "head-bytes", "of a request's first line and fields, and of a chunked body's trailer: 431")   \
    X(target_bytes, 8192, "target-bytes", "of what a request's first line asks for: 414")                              \
    X(fields, 100, "fields", "of a request: 431")                                                                      \
    X(body_bytes, 33554432, "body-bytes", "of a request's body: 413")                                                  \
    X(bodies_bytes, 536870912, "bodies-bytes", "of all requests' bodies that are held at a time: 503")                 \
    X(waiting_bytes, 4194304, "waiting-bytes", "of a stream that wait for a slow reader, which is then left")          \
    X(head_ms, 20000, "head-ms", "for a request's head, from the connection or the head's first byte on: 408")         \
    X(body_ms, 20000, "body-ms", "for a body, and a second more for every so many bytes that came: 408")               \
    X(idle_ms, 75000, "idle-ms", "between two requests of a connection")                                               \
    X(write_ms, 30000, "write-ms", "for a reader to take what waits, and a second more for every so many bytes taken") \
    X(bytes_per_second, 1024, "bytes-per-second", "that a slow body and a slow reader come to at least")

/* Zero is the default, of limits too. */
typedef struct hn_http_options {
    hn_heap *heap;    /* must be given; outlives the server */
    const char *host; /* an address in numbers or "localhost"; NULL: "127.0.0.1" */
    int port;         /* 0: any that is free */
#define HN_HTTP_LIMIT(field, otherwise, name, what) int64_t field;
    HN_HTTP_LIMITS(HN_HTTP_LIMIT)
#undef HN_HTTP_LIMIT
    /* All of these are called on the server's thread, and return at once. */
    /* A request is there. The call is the handler's, on whichever thread, until hn_http_end or hn_http_reply. */
    void (*on_call)(void *context, hn_http_call *call);
    /* Its head is there, its body not yet ("", 0): false if the call has been replied to and nothing of the body is
     * wanted. NULL: all are wanted. */
    bool (*on_head)(void *context, hn_http_call *call);
    void (*on_done)(void *context, const hn_http_done *done); /* or NULL */
    bool keeps_texts; /* until on_done, which is told them */
    /* Adds JSON to `out`, which has room for 1 KiB and a little more: why the server itself refuses a request, as far as that
     * could be read. NULL: as OpenAI says it. */
    void (*on_refusal)(void *context, const hn_http_request *request, int status, const char *reason, hn_str *out);
    void *context;
} hn_http_options;

/* Listens when it returns; serves from a thread of its own. */
hn_status hn_http_open(hn_http **out, const hn_http_options *options);
int hn_http_port(const hn_http *http);
/* Takes no new connection and no new request; calls that are open go on. Any thread; not from a handler of signals. */
void hn_http_drain(hn_http *http);
bool hn_http_is_idle(const hn_http *http); /* no call is open, and all that was said has been sent. Any thread */
/* Every call must have been ended; what was not sent by then is lost. Takes NULL. Not on the server's thread. */
void hn_http_close(hn_http *http);

/* ---- a call ---- */

const hn_http_request *hn_http_request_of(const hn_http_call *call); /* lives until hn_http_end */
const char *hn_http_field_of(const hn_http_call *call, const char *name); /* NULL: none; in lower case */
/* Its client has left, or ended its side, which is taken for leaving, or reads too slowly: polled by whoever works
 * for it. What is said to it all the same goes nowhere, or to one who only ended its side. Any thread. */
bool hn_http_is_gone(const hn_http_call *call);
/* On the server's thread, from on_head: another limit for this body alone. */
void hn_http_set_body_limit(hn_http_call *call, int64_t bytes);
/* For the log; copied up to 64 bytes. */
void hn_http_set_tag(hn_http_call *call, const char *tag);

/* One thread at a time for each call; none blocks, none can fail: a client that has no room is gone, and so is one
 * for whose reply there is no memory (it is told 503, or the stream breaks off). */

/* Room for a reply of so many bytes and what was added to its head: hn_http_reply does not lack memory then. False: there is none. */
bool hn_http_reserve(hn_http_call *call, size_t bytes);
/* Whole, and ends the call. type: of the body, or NULL. */
void hn_http_reply(hn_http_call *call, int status, const char *type, const char *body, size_t bytes);
/* Before the reply begins. Neither has control characters: such a field is left out. */
void hn_http_add_field(hn_http_call *call, const char *name, const char *value);
void hn_http_begin(hn_http_call *call, int status, const char *type); /* a stream: chunked; to HTTP/1.0 until its end */
void hn_http_write(hn_http_call *call, const char *bytes, size_t n);  /* a whole event: pings come between writes */
void hn_http_end(hn_http_call *call); /* of a call without a reply: 500 */
/* Ends it so that the client sees that it is not whole. */
void hn_http_break(hn_http_call *call);
/* Sent in a stream when nothing was for so long; 0 bytes: none. Copied. */
void hn_http_ping_with(hn_http_call *call, const char *bytes, size_t n, int every_seconds);

const char *hn_http_status_words(int status); /* "Not Found" */

#endif
