#include "tests/harness/http_client.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int http_connect(int port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool send_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        const ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static int send_request(int port, const char *method, const char *path, const char *fields, const char *body)
{
    char head[2048];
    const int fd = http_connect(port);
    if (fd < 0)
        return -1;
    const int n = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s%s", method, path, fields,
                           body ? "Content-Type: application/json\r\n" : "\r\n");
    bool is_sent = n > 0 && (size_t)n < sizeof head && send_all(fd, head, (size_t)n);
    if (is_sent && body) {
        const int m = snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", strlen(body));
        is_sent = send_all(fd, head, (size_t)m) && send_all(fd, body, strlen(body));
    }
    if (is_sent)
        return fd;
    close(fd);
    return -1;
}

/* Everything till the other side ends. */
static char *read_all(int fd, size_t *bytes)
{
    size_t room = 1 << 14, n = 0;
    char *text = malloc(room + 1);
    for (ssize_t got; text && (got = recv(fd, text + n, room - n, 0)) > 0;) {
        n += (size_t)got;
        if (n == room)
            text = realloc(text, (room *= 2) + 1);
    }
    if (text)
        text[n] = '\0';
    *bytes = n;
    return text;
}

/* Chunks in place; false: they break off. */
static bool join_chunks(char *body, size_t *bytes)
{
    size_t from = 0, to = 0;
    for (;;) {
        char *end;
        const char *line = memchr(body + from, '\n', *bytes - from);
        const size_t n = line ? strtoul(body + from, &end, 16) : 0;
        if (!line)
            break;
        from = (size_t)(line - body) + 1;
        if (!n || from + n > *bytes) {
            *bytes = to;
            body[to] = '\0';
            return !n;
        }
        memmove(body + to, body + from, n);
        to += n;
        from += n + 2;
        if (from > *bytes)
            break;
    }
    *bytes = to;
    body[to] = '\0';
    return false;
}

http_reply http_ask(int port, const char *method, const char *path, const char *fields, const char *body)
{
    http_reply r = { 0 };
    size_t bytes = 0;
    const int fd = send_request(port, method, path, fields, body);
    if (fd < 0)
        return r;
    char *text = read_all(fd, &bytes), *end = text ? strstr(text, "\r\n\r\n") : NULL;
    close(fd);
    if (!end || sscanf(text, "HTTP/1.1 %d", &r.status) != 1) {
        free(text);
        r.status = 0;
        return r;
    }
    *end = '\0';
    r.head = text;
    r.body_bytes = bytes - (size_t)(end + 4 - text);
    r.body = malloc(r.body_bytes + 1);
    memcpy(r.body, end + 4, r.body_bytes + 1);
    for (char *c = r.head; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    const char *length = strstr(r.head, "\ncontent-length:");
    if (strstr(r.head, "\ntransfer-encoding: chunked"))
        r.is_whole = join_chunks(r.body, &r.body_bytes);
    else
        r.is_whole = length && strtoul(strchr(length, ':') + 1, NULL, 10) == r.body_bytes;
    return r;
}

void http_leave_after(int port, const char *path, const char *body, size_t bytes)
{
    char text[1024];
    const int fd = send_request(port, "POST", path, "", body);
    if (fd < 0)
        return;
    for (size_t n = 0; n < bytes;) {
        const size_t most = bytes - n < sizeof text ? bytes - n : sizeof text;
        const ssize_t got = recv(fd, text, most, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
}

void http_reply_free(http_reply *r)
{
    free(r->head);
    free(r->body);
    *r = (http_reply){ 0 };
}

bool http_next_event(char **at, char **event)
{
    char *begin = strstr(*at, "data: ");
    char *end = begin ? strstr(begin, "\n\n") : NULL;
    if (!end)
        return false;
    *end = '\0';
    *event = begin + 6;
    *at = end + 2;
    return true;
}
