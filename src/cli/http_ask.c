/* A client as small as what it asks for: one request a connection, a reply of a told length, no redirects, no TLS.
 * A secret is read only from a file that nobody else can read, and never from a command line, where others would
 * see it. */
#include "cli/http_ask.h"

#include "base/ascii.h"
#include "base/file.h"
#include "base/os/files.h"
#include "base/os/poller.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where it is ---- */

static hn_status read_secret(hn_asked_server *out, const char *path)
{
    hn_os_file about;
    void *text;
    size_t bytes;
    HN_REQUIRE(!hn_os_about(path, &about) || !about.is_open_to_others, HN_ERR_ARGUMENT,
               "%s: others may read it: expected permissions of its owner alone (chmod 600)", path);
    HN_TRY(hn_file_read(out->heap, path, 4096, &text, &bytes));
    const size_t n = strcspn(text, "\r\n");
    const bool is_well = n && n < sizeof out->secret && strspn((char *)text + n, "\r\n") == bytes - n;
    if (is_well)
        memcpy(out->secret, text, n);
    for (size_t i = 0; i < n && is_well; i++)
        out->secret[0] = out->secret[i] > ' ' && out->secret[i] < 0x7f ? out->secret[0] : 0;
    memset(text, 0, bytes);
    hn_free(out->heap, text);
    HN_REQUIRE(out->secret[0], HN_ERR_FORMAT, "%s: expected a line with the secret of a key", path);
    return HN_OK;
}

hn_status hn_asked_server_of(hn_asked_server *out, hn_heap *heap, const char *address, const char *key_file)
{
    *out = (hn_asked_server){ .heap = heap };
    HN_REQUIRE(strncmp(address, "https://", 8) != 0, HN_ERR_UNSUPPORTED,
               "--server %s: TLS is not spoken here: ask the server itself, or through a tunnel", address);
    const char *host = address + (strncmp(address, "http://", 7) ? 0 : 7);
    const bool is_six = host[0] == '[';
    const size_t n = strcspn(host + is_six, is_six ? "]" : ":");
    const char *after = host + is_six + n + (is_six && host[is_six + n] ? 1 : 0);
    char *end;
    const long port = after[0] == ':' ? strtol(after + 1, &end, 10) : 0;
    HN_REQUIRE(n && n < sizeof out->host && after[0] == ':' && port > 0 && port < 65536 && (!*end || !strcmp(end, "/")), HN_ERR_ARGUMENT,
               "--server %s: expected ADDRESS:PORT, the address in numbers or localhost", address);
    memcpy(out->host, host + is_six, n);
    out->port = (int)port;
    HN_REQUIRE(hn_os_is_address(out->host), HN_ERR_ARGUMENT, "--server %s: expected an address in numbers, or localhost", address);
    return key_file ? read_secret(out, key_file) : HN_OK;
}

/* ---- to it and back ---- */

typedef struct line {
    hn_os_poller poller;
    hn_os_socket socket;
} line;

static hn_status lost(const hn_asked_server *s, const char *what)
{
    return hn_fail(HN_ERR_IO, "%s:%d: %s: is `hone serve` there?", s->host, s->port, what);
}

static hn_status await(const hn_asked_server *s, line *l)
{
    enum { PATIENCE_MS = 600000 }; /* large files are read, and runs planned, before there is a reply */
    hn_os_event event;
    return hn_os_poller_wait(&l->poller, &event, 1, PATIENCE_MS) > 0 ? HN_OK : lost(s, "no word for ten minutes");
}

static hn_status send_all(const hn_asked_server *s, line *l, const char *bytes, size_t n)
{
    while (n) {
        const ptrdiff_t sent = hn_os_send(l->socket, bytes, n);
        if (sent == HN_OS_LATER) {
            HN_TRY(await(s, l));
            continue;
        }
        if (sent <= 0)
            return lost(s, strerror(errno));
        bytes += sent;
        n -= (size_t)sent;
    }
    return HN_OK;
}

static hn_status send_head(const hn_asked_server *s, line *l, const hn_asking *a)
{
    hn_str head = hn_str_on(s->heap);
    const bool is_six = strchr(s->host, ':') != NULL;
    hn_str_print(&head, "%s %s HTTP/1.1\r\nHost: %s%s%s:%d\r\nConnection: close\r\n", a->method, a->path, is_six ? "[" : "", s->host,
                 is_six ? "]" : "", s->port);
    if (s->secret[0])
        hn_str_print(&head, "Authorization: Bearer %s\r\n", s->secret);
    if (a->type)
        hn_str_print(&head, "Content-Type: %s\r\n", a->type);
    hn_str_print(&head, "Content-Length: %zu\r\n\r\n", a->bytes);
    hn_status status = hn_str_status(&head);
    if (status == HN_OK)
        status = send_all(s, l, head.text, head.length);
    hn_str_free(&head);
    return status;
}

static hn_status receive_all(const hn_asked_server *s, line *l, hn_str *out)
{
    char bytes[16384];
    for (;;) {
        const ptrdiff_t n = hn_os_receive(l->socket, bytes, sizeof bytes);
        if (n == HN_OS_LATER)
            HN_TRY(await(s, l));
        else if (n < 0)
            return lost(s, strerror(errno));
        else if (!n)
            return hn_str_status(out);
        else
            hn_str_add_bytes(out, bytes, (size_t)n);
    }
}

static const char *find_field(const char *head, const char *end, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strstr(head, "\r\n"); at && at < end; at = strstr(at + 2, "\r\n"))
        if (hn_ascii_same_n(at + 2, name, n) && at[2 + n] == ':')
            return at + 3 + n + strspn(at + 3 + n, " ");
    return NULL;
}

/* Its head goes; a body of another length than was told is none. */
static hn_status take_apart(const hn_asked_server *s, hn_str *whole, int *status, hn_str *reply)
{
    const char *end = strstr(whole->text, "\r\n\r\n");
    if (strncmp(whole->text, "HTTP/1.1 ", 9) != 0 || !end)
        return lost(s, "it answers, but not in HTTP");
    *status = (int)strtol(whole->text + 9, NULL, 10);
    const char *length = find_field(whole->text, end, "content-length");
    const size_t n = whole->length - (size_t)(end + 4 - whole->text);
    if (!length || strtoull(length, NULL, 10) != n)
        return lost(s, "its reply broke off");
    hn_str_clear(reply);
    hn_str_add_bytes(reply, end + 4, n);
    return hn_str_status(reply);
}

static hn_status ask(const hn_asked_server *s, line *l, const hn_asking *a, int *status, hn_str *reply)
{
    hn_str whole = hn_str_on(s->heap);
    if (!hn_os_poller_add(&l->poller, l->socket, NULL, false, true))
        return lost(s, strerror(errno));
    hn_status found = await(s, l);
    if (found == HN_OK)
        found = send_head(s, l, a);
    if (found == HN_OK && a->bytes)
        found = send_all(s, l, a->body, a->bytes);
    if (found == HN_OK && !hn_os_poller_change(&l->poller, l->socket, NULL, true, false))
        found = lost(s, strerror(errno));
    if (found == HN_OK)
        found = receive_all(s, l, &whole);
    if (found == HN_OK)
        found = take_apart(s, &whole, status, reply);
    hn_os_poller_remove(&l->poller, l->socket);
    hn_str_free(&whole);
    return found;
}

hn_status hn_http_ask(const hn_asked_server *s, const hn_asking *a, int *status, hn_str *reply)
{
    line l = { .socket = HN_OS_NO_SOCKET };
    if (!hn_os_sockets_begin() || !hn_os_poller_open(&l.poller, s->heap)) {
        hn_os_poller_close(&l.poller);
        return lost(s, strerror(errno));
    }
    l.socket = hn_os_connect(s->host, s->port);
    const hn_status found = l.socket == HN_OS_NO_SOCKET ? lost(s, strerror(errno)) : ask(s, &l, a, status, reply);
    hn_os_socket_close(l.socket);
    hn_os_poller_close(&l.poller);
    return found;
}
