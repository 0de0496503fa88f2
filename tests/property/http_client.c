#include "tests/property/http_client.h"

#include "base/os/clock.h"
#include "base/os/poller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pause_ms(int milliseconds)
{
    hn_heap heap;
    hn_os_poller none;
    hn_heap_init(&heap, NULL);
    if (hn_os_poller_open(&none, &heap)) {
        hn_os_event event;
        hn_os_poller_wait(&none, &event, 1, milliseconds);
    }
    hn_os_poller_close(&none);
}

/* How much longer is waited for something: time in which this process ran. A turn that took longer than one does was spent without
 * a processor, or stopped, as the server was that lives in it. */
typedef struct patience {
    int64_t left_ns, seen_ns;
} patience;

static patience patience_of(int milliseconds) { return (patience){ (int64_t)milliseconds * 1000000, hn_clock_ns() }; }

static bool lasts(patience *p)
{
    enum { TURN_MS = 200 };
    const int64_t now = hn_clock_ns(), took = now - p->seen_ns, most = (int64_t)TURN_MS * 1000000;
    p->left_ns -= took < most ? took : most;
    p->seen_ns = now;
    return p->left_ns > 0;
}

/* Whether it was said to be lost: a system may tell that but once, and receiving then finds an end (Wine 8). */
static bool wait_until(const http_client *client, bool read, bool write, int milliseconds)
{
    hn_heap heap;
    hn_os_poller one;
    hn_os_event event = { 0 };
    hn_heap_init(&heap, NULL);
    if (hn_os_poller_open(&one, &heap) && hn_os_poller_add(&one, client->socket, &event, read, write))
        hn_os_poller_wait(&one, &event, 1, milliseconds);
    hn_os_poller_close(&one);
    return event.is_lost;
}

bool client_open(http_client *client, int port)
{
    *client = (http_client){ .socket = hn_os_connect("127.0.0.1", port) };
    return client->socket != HN_OS_NO_SOCKET;
}

void client_close(http_client *client)
{
    hn_os_socket_close(client->socket);
    free(client->bytes);
    *client = (http_client){ .socket = HN_OS_NO_SOCKET, .is_ended = true };
}

bool client_say(http_client *client, const char *bytes, size_t n)
{
    patience waits = patience_of(5000);
    for (size_t at = 0; at < n;) {
        const ptrdiff_t sent = hn_os_send(client->socket, bytes + at, n - at);
        if (sent == HN_OS_LOST || !lasts(&waits))
            return false;
        if (sent > 0)
            at += (size_t)sent;
        else
            wait_until(client, false, true, 100);
    }
    return true;
}

bool client_say_text(http_client *client, const char *text) { return client_say(client, text, strlen(text)); }

void client_receive(http_client *client, int milliseconds)
{
    if (client->is_ended)
        return;
    if (client->room - client->n < 65537) {
        client->room = client->n + 131072;
        client->bytes = realloc(client->bytes, client->room);
    }
    ptrdiff_t n = hn_os_receive(client->socket, client->bytes + client->n, 65536);
    if (n == HN_OS_LATER && milliseconds > 0) {
        const bool is_lost = wait_until(client, true, false, milliseconds);
        n = hn_os_receive(client->socket, client->bytes + client->n, 65536);
        n = n == 0 && is_lost ? HN_OS_LOST : n;
    }
    client->is_lost = n == HN_OS_LOST;
    client->is_ended = n == 0 || n == HN_OS_LOST;
    client->n += n > 0 ? (size_t)n : 0;
    client->bytes[client->n] = 0;
}

bool client_sees_end(http_client *client, int milliseconds)
{
    patience waits = patience_of(milliseconds);
    while (!client->is_ended && lasts(&waits))
        client_receive(client, 50);
    return client->is_ended;
}

const char *reply_field(const http_reply *reply, const char *name, char *value, size_t room)
{
    char line[128];
    snprintf(line, sizeof line, "\r\n%s: ", name);
    const char *at = strstr(reply->head, line);
    if (!at)
        return NULL;
    at += strlen(line);
    snprintf(value, room, "%.*s", (int)strcspn(at, "\r"), at);
    return value;
}

/* Bytes of the chunks at `from` if they are all there; 0: not yet. They are put together in `body` where it is given. */
static size_t chunks(const char *from, size_t n, char *body, size_t *body_bytes)
{
    size_t at = 0;
    *body_bytes = 0;
    for (;;) {
        char *end;
        const size_t size = strtoull(from + at, &end, 16);
        if (at >= n || end == from + at || (size_t)(end - from) + 2 + size + 2 > n)
            return 0;
        at = (size_t)(end - from) + 2;
        if (body)
            memcpy(body + *body_bytes, from + at, size);
        *body_bytes += size;
        at += size + 2;
        if (!size)
            return at;
    }
}

/* Whether there is all of a reply in what came; how many bytes it takes. */
static size_t cut_reply(const http_client *c, http_reply *r, bool is_head)
{
    char length[32];
    const char *end = c->n ? strstr(c->bytes, "\r\n\r\n") : NULL;
    if (!end)
        return 0;
    const size_t head = (size_t)(end - c->bytes) + 4;
    snprintf(r->head, sizeof r->head, "%.*s", (int)head, c->bytes);
    r->status = (int)strtol(r->head + 9, NULL, 10);
    free(r->body);
    r->body = calloc(1, c->n - head + 1);
    if (is_head || r->status < 200 || r->status == 204 || r->status == 304) {
        r->is_whole = true;
        return head;
    }
    if (reply_field(r, "Transfer-Encoding", length, sizeof length)) {
        const size_t n = chunks(c->bytes + head, c->n - head, r->body, &r->body_bytes);
        r->is_whole = n > 0;
        return n ? head + n : 0;
    }
    const bool has_length = reply_field(r, "Content-Length", length, sizeof length) != NULL;
    const size_t n = has_length ? strtoull(length, NULL, 10) : c->n - head;
    if (c->n - head < n || (!has_length && !c->is_ended))
        return 0;
    memcpy(r->body, c->bytes + head, n);
    r->body_bytes = n;
    r->is_whole = true;
    return head + n;
}

http_reply client_reply(http_client *client, bool is_head, int milliseconds)
{
    http_reply reply = { 0 };
    patience waits = patience_of(milliseconds);
    size_t n = 0;
    while (!(n = cut_reply(client, &reply, is_head)) && !client->is_ended && lasts(&waits))
        client_receive(client, 20);
    if (!n)
        n = cut_reply(client, &reply, is_head);
    if (!n)
        return reply;
    memmove(client->bytes, client->bytes + n, client->n - n + 1);
    client->n -= n;
    return reply;
}

void reply_free(http_reply *reply)
{
    free(reply->body);
    reply->body = NULL;
}

http_reply client_ask(int port, const char *request, size_t n)
{
    http_client client;
    http_reply reply = { 0 };
    if (client_open(&client, port) && client_say(&client, request, n))
        reply = client_reply(&client, false, 5000);
    client_close(&client);
    return reply;
}
