/* http_client.h: requests to a server on the loopback, as simple as can be: what a test needs of a client. */
#ifndef TESTS_HARNESS_HTTP_CLIENT_H
#define TESTS_HARNESS_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct http_reply {
    int status;       /* 0: the connection ended before there was one */
    char *head, *body; /* of malloc, each ended by a NUL; the head in lower case, chunks put together */
    size_t body_bytes;
    bool is_whole; /* all of it came */
} http_reply;

/* -1: nobody listens. */
int http_connect(int port);
/* A request on a connection of its own; `fields` are lines ended by \r\n, or "". */
http_reply http_ask(int port, const char *method, const char *path, const char *fields, const char *body);
/* Sends it and leaves when `bytes` bytes of the reply have come. */
void http_leave_after(int port, const char *path, const char *body, size_t bytes);
void http_reply_free(http_reply *reply);

/* Events "data: ..." of a stream, one after the other, without what is around them; false after the last. *at begins as
 * reply->body, and what it finds is ended by a NUL in place. */
bool http_next_event(char **at, char **event);

#endif
