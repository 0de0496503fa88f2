/* http_ask.h: one request to a server of hone's, and its reply: for commands about one that runs. */
#ifndef HN_CLI_HTTP_ASK_H
#define HN_CLI_HTTP_ASK_H

#include "base/str.h"

typedef struct hn_asked_server {
    hn_heap *heap;
    char host[80];
    int port;
    char secret[520]; /* "": none */
} hn_asked_server;

typedef struct hn_asking {
    const char *method, *path;
    const char *type; /* of the body; NULL: there is none */
    const char *body;
    size_t bytes;
} hn_asking;

/* "http://127.0.0.1:8080", "127.0.0.1:8080", "[::1]:8080", "localhost:8080": an address in numbers or localhost, as no name is
 * asked of anybody. key_file: a line, the secret; others may not read it; NULL: none. */
hn_status hn_asked_server_of(hn_asked_server *out, hn_heap *heap, const char *address, const char *key_file);
/* Waits. *reply is its body, *status that of HTTP. */
hn_status hn_http_ask(const hn_asked_server *server, const hn_asking *what, int *status, hn_str *reply);

#endif
