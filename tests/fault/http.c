/* A running server that is refused memory, at every allocation in turn, or descriptors: whoever is affected is told or cut
 * off, never given half a reply that looks like a whole one; the others are served, and so is everybody afterwards. */
#include "tests/harness/check.h"
#include "tests/property/http_client.h"
#include "tests/property/http_site.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SOON_MS = 5000, MOST_ALLOCATIONS = 400 };

static hn_heap heap;
static http_site site;
static int port;

static const char post[] = "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
static const char post_echo[] = "POST\n/p\n\nhost=a\ntransfer-encoding=chunked\n5:abcde";
static const char stream[] = "GET /stream?3000 HTTP/1.1\r\nHost: a\r\n\r\n";
static const char expect[] = "POST /p HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";

static int n_told, n_cut, n_served;

/* A reply is the right one, whole; or 503; or not whole, and then nothing follows. */
static void judge(http_client *client, const char *body, size_t body_bytes)
{
    http_reply r = client_reply(client, false, SOON_MS);
    if (r.is_whole && r.status == 200) {
        CHECK(body ? !strcmp(r.body, body) : r.body_bytes == body_bytes);
        n_served++;
    } else if (r.is_whole && r.status == 503) {
        CHECK(strstr(r.body, "\"type\":\"server_error\"") != NULL);
        n_told++;
    } else if (r.status != 100) {
        CHECK_THAT(client->is_ended && !r.is_whole, "status %d, whole %d", r.status, r.is_whole);
        CHECK(!client->n || !strstr(client->bytes + 1, "HTTP/1.1 503")); /* nothing is said into a reply */
        n_cut++;
    }
    reply_free(&r);
}

static void converse(void)
{
    http_client a, b;
    if (!CHECK(client_open(&a, port) && client_open(&b, port)))
        return;
    client_say(&a, post, sizeof post - 1);
    client_say(&a, stream, sizeof stream - 1);
    client_say(&b, expect, sizeof expect - 1);
    judge(&a, post_echo, 0);
    judge(&a, NULL, 34890);
    judge(&b, NULL, 0);
    if (client_say_text(&b, "hi"))
        judge(&b, "POST\n/p\n\nhost=a\nexpect=100-continue\ncontent-length=2\n2:hi", 0);
    client_close(&a);
    client_close(&b);
}

static void test_memory(void)
{
    int64_t i = 1;
    bool is_reached = true;
    for (; is_reached && i < MOST_ALLOCATIONS; i++) {
        if (!CHECK_OK(site_open(&site, &heap, &(hn_http_options){ 0 })))
            return;
        port = hn_http_port(site.http);
        atomic_store(&heap.fail_at, atomic_load(&heap.n_calls) + i);
        converse();
        is_reached = atomic_load(&heap.n_calls) >= atomic_load(&heap.fail_at);
        atomic_store(&heap.fail_at, 0);
        const int before = n_served;
        converse();
        CHECK_THAT(n_served == before + 3, "after allocation %d was refused: %d of 3 served", (int)i, n_served - before);
        site_close(&site);
        CHECK_INT(0, atomic_load(&heap.live_blocks));
    }
    CHECK_THAT(i > 20 && i < MOST_ALLOCATIONS, "%d allocations", (int)i);
    CHECK_THAT(n_told > 5 && n_cut > 0, "%d were told, %d cut off", n_told, n_cut);
}

static void test_opening(void)
{
    const int64_t before = atomic_load(&heap.n_calls);
    CHECK_OK(site_open(&site, &heap, &(hn_http_options){ 0 }));
    const int64_t n = atomic_load(&heap.n_calls) - before;
    const int taken = hn_http_port(site.http);
    hn_http *second = NULL;
    CHECK_FAILS(site_open(&(http_site){ 0 }, &heap, &(hn_http_options){ .port = taken }), HN_ERR_IO, "cannot be listened on");
    site_close(&site);
    for (int64_t i = 1; i <= n; i++) {
        atomic_store(&heap.fail_at, atomic_load(&heap.n_calls) + i);
        CHECK_INT(HN_ERR_MEMORY, site_open(&site, &heap, &(hn_http_options){ 0 }));
    }
    atomic_store(&heap.fail_at, 0);
    static const hn_http_options wrong[] = { { .host = "example.com" }, { .port = 65536 }, { .port = -1 }, { .fields = -1 },
                                             { .idle_ms = INT64_MAX },
                                             { .host = "127.0.0.1 " } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(site_open(&site, &heap, &wrong[i]), HN_ERR_ARGUMENT, "expected");
    CHECK_FAILS(hn_http_open(&second, &(hn_http_options){ 0 }), HN_ERR_ARGUMENT, "a heap and a handler");
    CHECK(!second);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
}

/* ---- descriptors ---- */

static double processor_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static void rest(long milliseconds) { nanosleep(&(struct timespec){ milliseconds / 1000, milliseconds % 1000 * 1000000 }, NULL); }

static int n_answered(http_client *clients, int n)
{
    int answered = 0;
    for (int i = 0; i < n; i++) {
        char bytes[4096];
        if (clients[i].socket != HN_OS_NO_SOCKET)
            answered += hn_os_receive(clients[i].socket, bytes, sizeof bytes) > 0;
    }
    return answered;
}

/* So many are answered soon, and for a while nobody else. */
static void check_answered(http_client *clients, int n, int expected)
{
    int answered = 0;
    for (int waits = 0; waits < SOON_MS / 10 && answered < expected; waits++, rest(10))
        answered += n_answered(clients, n);
    rest(200);
    CHECK_INT(expected, answered + n_answered(clients, n));
}

/* More connect than there are descriptors for: those wait, cost nothing, and come in when others leave. The server stands in the
 * handler of a first one while descriptors are given out: else it takes those that the clients' ends are to have. */
static void test_descriptors(void)
{
    enum { N = 12, ROOM = 5 };
    static const char ask[] = "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n";
    http_client first, clients[N - ROOM];
    struct rlimit before, few;
    int own[N], n_open = 0;
    CHECK_OK(site_open(&site, &heap, &(hn_http_options){ .idle_ms = 600000 }));
    port = hn_http_port(site.http);
    getrlimit(RLIMIT_NOFILE, &before);
    hn_os_mutex_lock(&site.mutex);
    CHECK(client_open(&first, port) && client_say_text(&first, ask));
    for (int waits = 0; waits < SOON_MS / 10 && !atomic_load(&site.n_entered); waits++)
        rest(10);
    CHECK_INT(1, atomic_load(&site.n_entered));
    for (int i = 0; i < N; i++)
        own[i] = dup(0);
    few = before;
    few.rlim_cur = (rlim_t)own[N - 1] + 1;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int i = 0; i < N; i++) { /* ROOM are left for the other ends */
        close(own[i]);
        if (i >= ROOM && CHECK(client_open(&clients[n_open], port)))
            n_open++;
    }
    hn_os_mutex_unlock(&site.mutex);
    for (int i = 0; i < n_open; i++)
        CHECK(client_say_text(&clients[i], ask));
    check_answered(clients, n_open, ROOM);
    const double used = processor_seconds();
    rest(500);
    CHECK_THAT(processor_seconds() - used < 0.2, "%d ms of the processor while there is nothing to do",
               (int)((processor_seconds() - used) * 1000));
    for (int i = 0; i < n_open - ROOM; i++) { /* those who were let in leave */
        hn_os_socket_close(clients[i].socket);
        clients[i].socket = HN_OS_NO_SOCKET;
    }
    check_answered(clients, n_open, n_open - ROOM);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    for (int i = 0; i < n_open; i++)
        client_close(&clients[i]);
    client_close(&first);
    site_close(&site);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    test_opening();
    test_memory();
    test_descriptors();
    return check_close();
}
