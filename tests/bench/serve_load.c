/* Asks a server over the loopback, from one thread, on so many connections of which each asks again when it has its
 * answer, and tells how many it answers and how long that takes; and what share of a processor the asking itself took.
 *
 *     build/tests/bench/serve_load --port 8080 --path /v1/chat/completions --body FILE [--key SECRET]
 *                                  [--connections N] [--seconds N]
 *     build/tests/bench/serve_load --own                     a server in this process, that says 13 bytes
 */
#include "base/file.h"
#include "base/os/clock.h"
#include "base/os/poller.h"
#include "server/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONNECTIONS = 4096, ROOM = 65536, EVENTS = 64 };

typedef struct asker {
    hn_os_socket socket;
    size_t sent;
    int64_t begin_ns, first_ns;
    size_t n, left;
    bool has_head, is_chunked, has_length;
    char tail[5];
    char head[8192]; /* of the reply: so much of it as `n` says */
} asker;

typedef struct times {
    double *at; /* ms */
    size_t n, room;
} times;

typedef struct load {
    const char *request;
    size_t bytes;
    int port;
    hn_os_poller poller;
    asker *askers;
    times whole, first;
    uint64_t n_bytes, n_lost, n_other; /* other: of a status that is not 200 */
    int last_status;
} load;

static char request[1 << 22];

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return otherwise;
}

static void add(times *t, double ms)
{
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 65536;
        t->at = realloc(t->at, t->room * sizeof *t->at);
        if (!t->at)
            exit(1);
    }
    t->at[t->n++] = ms;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double part(const times *t, double share)
{
    if (!t->n)
        return 0;
    const size_t at = (size_t)(share * (double)t->n);
    return t->at[at < t->n ? at : t->n - 1];
}

/* ---- asking ---- */

static bool ask(load *l, asker *a)
{
    const ptrdiff_t n = hn_os_send(a->socket, l->request + a->sent, l->bytes - a->sent);
    if (n > 0)
        a->sent += (size_t)n;
    return n != HN_OS_LOST;
}

static void begin(load *l, asker *a)
{
    const hn_os_socket socket = a->socket;
    memset(a, 0, offsetof(asker, head));
    a->socket = socket;
    a->begin_ns = hn_clock_ns();
    if (!ask(l, a))
        l->n_lost++;
    hn_os_poller_change(&l->poller, a->socket, a, true, a->sent < l->bytes);
}

static bool connect_again(load *l, asker *a)
{
    if (a->socket != HN_OS_NO_SOCKET) {
        hn_os_poller_remove(&l->poller, a->socket);
        hn_os_socket_close(a->socket);
    }
    a->socket = hn_os_connect("127.0.0.1", l->port);
    return a->socket != HN_OS_NO_SOCKET && hn_os_poller_add(&l->poller, a->socket, a, true, true);
}

/* ---- answers ---- */

static void read_head(load *l, asker *a)
{
    a->head[a->n] = 0;
    const char *end = strstr(a->head, "\r\n\r\n"), *length = strstr(a->head, "\r\nContent-Length: ");
    if (!end)
        return;
    a->has_head = true;
    a->first_ns = hn_clock_ns();
    a->is_chunked = strstr(a->head, "\r\nTransfer-Encoding: chunked") != NULL;
    a->has_length = length && length < end;
    a->left = a->has_length ? strtoull(length + 18, NULL, 10) : 0;
    l->last_status = (int)strtol(a->head + 9, NULL, 10);
    l->n_other += l->last_status != 200;
}

/* Whether these bytes of a body were its last. A chunked one is over with an empty chunk; events of a model do not hold its
 * five bytes. */
static bool is_last(asker *a, const char *bytes, size_t n)
{
    if (a->has_length) {
        a->left -= n < a->left ? n : a->left;
        return !a->left;
    }
    for (size_t i = n > 5 ? n - 5 : 0; i < n; i++) {
        memmove(a->tail, a->tail + 1, 4);
        a->tail[4] = bytes[i];
    }
    return a->is_chunked && !memcmp(a->tail, "0\r\n\r\n", 5);
}

static bool take(load *l, asker *a, const char *bytes, size_t n)
{
    size_t at = 0;
    while (at < n && !a->has_head && a->n + 1 < sizeof a->head) {
        a->head[a->n++] = bytes[at++];
        if (a->n >= 4 && a->head[a->n - 1] == '\n' && a->head[a->n - 3] == '\n')
            read_head(l, a);
    }
    return a->has_head && is_last(a, bytes + at, n - at);
}

static void receive(load *l, asker *a)
{
    static char bytes[ROOM];
    const ptrdiff_t n = hn_os_receive(a->socket, bytes, sizeof bytes);
    if (n == HN_OS_LATER)
        return;
    if (n <= 0) {
        l->n_lost++;
        if (connect_again(l, a))
            begin(l, a);
        return;
    }
    l->n_bytes += (uint64_t)n;
    if (!take(l, a, bytes, (size_t)n))
        return;
    add(&l->whole, (double)(hn_clock_ns() - a->begin_ns) * 1e-6);
    add(&l->first, (double)(a->first_ns - a->begin_ns) * 1e-6);
    begin(l, a);
}

static void run(load *l, int n_connections, double seconds)
{
    hn_os_event events[EVENTS];
    for (int i = 0; i < n_connections; i++) {
        l->askers[i].socket = HN_OS_NO_SOCKET;
        if (!connect_again(l, &l->askers[i]))
            exit(1);
        begin(l, &l->askers[i]);
    }
    const int64_t start = hn_clock_ns(), end = start + (int64_t)(seconds * 1e9), used = hn_clock_thread_ns();
    while (hn_clock_ns() < end) {
        const int n = hn_os_poller_wait(&l->poller, events, EVENTS, 100);
        for (int i = 0; i < n; i++) {
            asker *a = events[i].context;
            if (events[i].can_write && a->sent < l->bytes) {
                ask(l, a);
                hn_os_poller_change(&l->poller, a->socket, a, true, a->sent < l->bytes);
            }
            if (events[i].can_read || events[i].is_lost)
                receive(l, a);
        }
    }
    const double took = (double)(hn_clock_ns() - start) * 1e-9, mine = (double)(hn_clock_thread_ns() - used) * 1e-9;
    qsort(l->whole.at, l->whole.n, sizeof *l->whole.at, by_size);
    qsort(l->first.at, l->first.n, sizeof *l->first.at, by_size);
    printf("%d connections, %.1f s: %.0f requests/s, %.2f MB/s\n", n_connections, took, (double)l->whole.n / took,
           (double)l->n_bytes / took * 1e-6);
    printf("whole reply ms: p50 %.3f  p90 %.3f  p99 %.3f  most %.3f\n", part(&l->whole, .5), part(&l->whole, .9),
           part(&l->whole, .99), part(&l->whole, 1));
    printf("its head ms:    p50 %.3f  p90 %.3f  p99 %.3f  most %.3f\n", part(&l->first, .5), part(&l->first, .9),
           part(&l->first, .99), part(&l->first, 1));
    printf("lost %llu, not 200 %llu (the last %d); the asking took %.0f %% of a processor\n", (unsigned long long)l->n_lost,
           (unsigned long long)l->n_other, l->last_status, 100 * mine / took);
}

/* ---- what is asked ---- */

static size_t write_request(hn_heap *heap, int argc, char **argv)
{
    const char *path = option(argc, argv, "--path", "/"), *file = option(argc, argv, "--body", NULL);
    const char *key = option(argc, argv, "--key", NULL);
    void *body = NULL;
    size_t bytes = 0;
    if (file && hn_file_read(heap, file, sizeof request / 2, &body, &bytes) != HN_OK) {
        fprintf(stderr, "%s\n", hn_error_message());
        exit(1);
    }
    size_t n = (size_t)snprintf(request, sizeof request / 2, "%s %s HTTP/1.1\r\nHost: localhost\r\n", body ? "POST" : "GET", path);
    if (key)
        n += (size_t)snprintf(request + n, 1024, "Authorization: Bearer %s\r\n", key);
    if (body)
        n += (size_t)snprintf(request + n, 1024, "Content-Type: application/json\r\nContent-Length: %zu\r\n", bytes);
    n += (size_t)snprintf(request + n, 8, "\r\n");
    if (bytes)
        memcpy(request + n, body, bytes);
    hn_free(heap, body);
    return n + bytes;
}

static void answer(void *context, hn_http_call *call)
{
    (void)context;
    hn_http_reply(call, 200, "text/plain", "Hello, world\n", 13);
}

int main(int argc, char **argv)
{
    hn_heap heap;
    hn_http *own = NULL;
    load l = { .port = (int)strtol(option(argc, argv, "--port", "8080"), NULL, 10), .request = request };
    const int n = (int)strtol(option(argc, argv, "--connections", "16"), NULL, 10);
    hn_heap_init(&heap, NULL);
    if (argc > 1 && !strcmp(argv[1], "--own")) {
        if (hn_http_open(&own, &(hn_http_options){ .heap = &heap, .on_call = answer }) != HN_OK)
            return 1;
        l.port = hn_http_port(own);
    }
    l.bytes = write_request(&heap, argc, argv);
    l.askers = calloc(MOST_CONNECTIONS, sizeof *l.askers);
    if (!l.askers || n < 1 || n > MOST_CONNECTIONS || !hn_os_poller_open(&l.poller, &heap))
        return 1;
    run(&l, n, strtod(option(argc, argv, "--seconds", "5"), NULL));
    for (int i = 0; i < n; i++)
        hn_os_socket_close(l.askers[i].socket);
    hn_os_poller_close(&l.poller);
    hn_http_close(own);
    free(l.whole.at);
    free(l.first.at);
    free(l.askers);
    return l.whole.n ? 0 : 1;
}
