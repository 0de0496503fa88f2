/* What a server holds against those who send too much, too slowly or never, who read nothing, and who leave. */
#include "base/file.h"
#include "base/os/clock.h"
#include "tests/harness/check.h"
#include "tests/property/http_client.h"
#include "tests/property/http_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(_WIN32)
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#endif

enum { LIMIT_MS = 200, SOON_MS = 5000, MANY = 1000 };

static hn_heap heap;
static http_site site;
static int port;

static void open_site(const hn_http_options *limits)
{
    if (CHECK_OK(site_open(&site, &heap, limits)))
        port = hn_http_port(site.http);
}

static void close_site(void)
{
    site_close(&site);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
}

static bool comes_to(int (*count)(http_site *), int wanted)
{
    for (int i = 0; i < SOON_MS / 5 && count(&site) != wanted; i++)
        pause_ms(5);
    return count(&site) == wanted;
}

static int idle(http_site *s) { return hn_http_is_idle(s->http); }

static int n_done(http_site *s)
{
    hn_os_mutex_lock(&s->mutex);
    const int n = s->n_done;
    hn_os_mutex_unlock(&s->mutex);
    return n;
}

/* What these bytes are answered with, on a connection of their own; 0: nothing. */
static int answered(const char *bytes, size_t n)
{
    http_reply r = client_ask(port, bytes, n);
    const int status = r.status;
    reply_free(&r);
    return status;
}

static int answered_text(const char *text) { return answered(text, strlen(text)); }

/* ---- sizes: the largest that is taken, and one more ---- */

static int with_head(size_t bytes)
{
    char *text = calloc(1, bytes + 1);
    const size_t before = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    memset(text + before, 'x', bytes - before - 4);
    memcpy(text + bytes - 4, "\r\n\r\n", 4);
    const int status = answered(text, bytes);
    free(text);
    return status;
}

static int with_target(int bytes)
{
    char text[1024];
    snprintf(text, sizeof text, "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n", bytes - 1, 0);
    return answered_text(text);
}

static int with_fields(int n)
{
    char text[1024] = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 1; i < n; i++)
        strcat(text, "X: y\r\n");
    strcat(text, "\r\n");
    return answered_text(text);
}

static int with_body(int bytes)
{
    char text[1024];
    snprintf(text, sizeof text, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%0*d", bytes, bytes, 0);
    return answered_text(text);
}

static int with_chunks(int n, int bytes)
{
    char text[2048] = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < n; i++)
        sprintf(text + strlen(text), "%x\r\n%0*d\r\n", (unsigned)bytes, bytes, 0);
    strcat(text, "0\r\n\r\n");
    return answered_text(text);
}

static int with_extension(int bytes)
{
    char text[1024];
    snprintf(text, sizeof text, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;%0*d\r\na\r\n0\r\n\r\n", bytes, 0);
    return answered_text(text);
}

static int with_trailer(int bytes)
{
    char text[1024];
    snprintf(text, sizeof text, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX:%0*d\r\n\r\n", bytes, 0);
    return answered_text(text);
}

static void test_sizes(void)
{
    check_group("sizes");
    open_site(&(hn_http_options){ .head_bytes = 500, .target_bytes = 50, .fields = 10, .body_bytes = 100 });
    CHECK_INT(200, with_head(500));
    CHECK_INT(431, with_head(501));
    CHECK_INT(200, with_target(50));
    CHECK_INT(414, with_target(51));
    CHECK_INT(414, with_target(600));
    CHECK_INT(200, with_fields(10));
    CHECK_INT(431, with_fields(11));
    CHECK_INT(200, with_body(100));
    CHECK_INT(413, with_body(101));
    CHECK_INT(200, with_chunks(10, 10));
    CHECK_INT(413, with_chunks(11, 10));
    CHECK_INT(200, with_extension(256));
    CHECK_INT(400, with_extension(257));
    CHECK_INT(200, with_trailer(480));
    CHECK_INT(431, with_trailer(600));
    close_site();
}

/* Bodies that nobody has finished yet count, too. */
static void test_bodies(void)
{
    http_client one, two;
    static char half[60000];
    check_group("all bodies");
    open_site(&(hn_http_options){ .bodies_bytes = 150000 });
    memset(half, 'x', sizeof half);
    CHECK(client_open(&one, port) && client_open(&two, port));
    client_say_text(&one, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 120000\r\n\r\n");
    client_say(&one, half, sizeof half);
    client_say(&one, half, sizeof half - 1);
    pause_ms(50);
    client_say_text(&two, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 120000\r\n\r\n");
    client_say(&two, half, sizeof half);
    http_reply r = client_reply(&two, false, SOON_MS);
    CHECK_INT(503, r.status);
    reply_free(&r);
    client_say(&one, half, 1);
    r = client_reply(&one, false, SOON_MS);
    CHECK_INT(200, r.status);
    reply_free(&r);
    CHECK_INT(200, with_body(900)); /* what was held is given back */
    client_close(&one);
    client_close(&two);
    close_site();
}

static void test_connections(void)
{
    http_client clients[5];
    check_group("connections");
    open_site(&(hn_http_options){ .connections = 4 });
    for (int i = 0; i < 4; i++) {
        CHECK(client_open(&clients[i], port) && client_say_text(&clients[i], "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"));
        http_reply r = client_reply(&clients[i], false, SOON_MS);
        CHECK_INT(200, r.status);
        reply_free(&r);
    }
    CHECK(client_open(&clients[4], port));
    http_reply r = client_reply(&clients[4], false, SOON_MS);
    CHECK(r.status == 503 && strstr(r.body, "too many connections"));
    reply_free(&r);
    CHECK(client_sees_end(&clients[4], SOON_MS));
    for (int i = 0; i < 5; i++)
        client_close(&clients[i]);
    pause_ms(100);
    CHECK_INT(200, with_body(1));
    close_site();
}

/* ---- time ---- */

/* A byte now and then, till the answer comes or there is an end; `ms` is how long that took. */
static int trickle(const char *first, const char *then, size_t n, int every_ms, int64_t *ms)
{
    http_client client;
    http_reply r = { 0 };
    const int64_t begin = hn_clock_ns();
    CHECK(client_open(&client, port) && client_say_text(&client, first));
    for (size_t i = 0; i < n && !r.status && !client.is_ended; i++) {
        client_say(&client, then + i, 1);
        reply_free(&r);
        r = client_reply(&client, false, every_ms);
    }
    if (!r.status && !client.is_ended) {
        reply_free(&r);
        r = client_reply(&client, false, SOON_MS);
    }
    *ms = (hn_clock_ns() - begin) / 1000000;
    const int status = r.status;
    reply_free(&r);
    client_close(&client);
    return status;
}

static void test_slow_writers(void)
{
    static const char slow[] = "GET / HTTP/1.1\r\nHost: abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\r\n\r\n";
    static const char body[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n";
    static const char forty[] = "0123456789012345678901234567890123456789";
    int64_t ms;
    check_group("slow writers");
    open_site(&(hn_http_options){ .head_ms = LIMIT_MS, .body_ms = LIMIT_MS, .bytes_per_second = 4 });
    CHECK_INT(408, trickle("", slow, sizeof slow - 1, 10, &ms));
    CHECK_THAT(ms >= LIMIT_MS && ms < 10 * LIMIT_MS, "%d ms", (int)ms);
    CHECK_INT(408, trickle(body, forty, 3, 50, &ms));
    CHECK_THAT(ms >= 2 * LIMIT_MS && ms < 20 * LIMIT_MS, "%d ms", (int)ms);
    CHECK_INT(200, trickle(body, forty, 40, 15, &ms)); /* longer than that, and fast enough */
    CHECK_THAT(ms > 2 * LIMIT_MS, "%d ms", (int)ms);
    CHECK_INT(0, trickle("", "", 0, 10, &ms)); /* not a word */
    CHECK_THAT(ms >= LIMIT_MS && ms < 10 * LIMIT_MS, "%d ms", (int)ms);
    close_site();
}

static void test_idle(void)
{
    http_client client;
    check_group("idle");
    open_site(&(hn_http_options){ .idle_ms = LIMIT_MS });
    CHECK(client_open(&client, port) && client_say_text(&client, "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"));
    http_reply r = client_reply(&client, false, SOON_MS);
    const int64_t begin = hn_clock_ns();
    CHECK(r.status == 200 && client_sees_end(&client, SOON_MS));
    CHECK_THAT((hn_clock_ns() - begin) / 1000000 >= LIMIT_MS - 20, "%d ms", (int)((hn_clock_ns() - begin) / 1000000));
    reply_free(&r);
    client_close(&client);
    close_site();
}

/* One who takes nothing is left, and nobody else waits for it. */
static void test_slow_readers(void)
{
    enum { LARGE = 30000000 };
    http_client stream, reply;
    check_group("slow readers");
    open_site(&(hn_http_options){ .waiting_bytes = 100000, .write_ms = LIMIT_MS, .bytes_per_second = 1 << 30 });
    CHECK(client_open(&stream, port) && client_open(&reply, port));
    client_say_text(&stream, "GET /flood?100000 HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(comes_to(n_done, 1));
    CHECK_INT(1, site.n_gone);
    CHECK_THAT(atomic_load(&heap.peak_bytes) < 4000000, "%lld bytes were held", (long long)atomic_load(&heap.peak_bytes));
    char *large = calloc(1, LARGE);
    const size_t n = (size_t)sprintf(large, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", LARGE - 1000);
    client_say(&reply, large, n + LARGE - 1000);
    free(large);
    CHECK_INT(200, with_body(5));
    CHECK(comes_to(n_done, 3));
    CHECK_INT(2, site.n_gone);
    http_reply r = client_reply(&reply, false, 1000);
    CHECK(!r.is_whole);
    reply_free(&r);
    r = client_reply(&stream, false, 1000);
    CHECK(!r.is_whole);
    reply_free(&r);
    client_close(&stream);
    client_close(&reply);
    close_site();
}

/* The same stream, read: all of it comes, though more went through than may wait. */
static void test_fast_reader(void)
{
    http_client client;
    check_group("a reader");
    open_site(&(hn_http_options){ .waiting_bytes = 16000000 });
    CHECK(client_open(&client, port) && client_say_text(&client, "GET /flood?5000 HTTP/1.1\r\nHost: a\r\n\r\n"));
    http_reply r = client_reply(&client, false, 20000);
    CHECK(r.is_whole && r.body_bytes == 5000 * 1024);
    reply_free(&r);
    client_close(&client);
    close_site();
}

/* ---- leaving ---- */

static void hold(http_client *clients, int n)
{
    int n_open = 0;
    for (int i = 0; i < n; i++)
        n_open += client_open(&clients[i], port) && client_say_text(&clients[i], "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK_INT(n, n_open);
    CHECK(comes_to(site_held, n));
}

static void test_leaving(void)
{
    http_client clients[50];
    check_group("leaving");
    open_site(&(hn_http_options){ 0 });
    hold(clients, 50);
    CHECK_INT(0, site_gone(&site));
    const int64_t begin = hn_clock_ns();
    for (int i = 0; i < 25; i++)
        client_close(&clients[i]);
    CHECK(comes_to(site_gone, 25));
    CHECK_THAT(hn_clock_ns() - begin < 1000000000, "seen after %lld ms", (long long)(hn_clock_ns() - begin) / 1000000);
    hn_os_socket_reset(clients[25].socket);
    clients[25].socket = HN_OS_NO_SOCKET;
    CHECK(comes_to(site_gone, 26));
    site_write(&site, "data: x\n\n", 9); /* to those who are gone it is nothing */
    site_release(&site);
    CHECK(comes_to(idle, 1));
    for (int i = 26; i < 50; i++) {
        http_reply r = client_reply(&clients[i], false, SOON_MS);
        CHECK(r.is_whole && !strcmp(r.body, "data: x\n\n"));
        reply_free(&r);
    }
    for (int i = 25; i < 50; i++)
        client_close(&clients[i]);
    CHECK_INT(26, site.n_gone);
    close_site();
}

/* One who has only ended its side still gets what was under way; its handler is told that nobody may be there. */
static void test_half_open(void)
{
    http_client client;
    check_group("half open");
    open_site(&(hn_http_options){ 0 });
    CHECK(client_open(&client, port));
    client_say_text(&client, "GET /echo HTTP/1.1\r\nHost: a\r\n\r\nGET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET /hal");
    hn_os_socket_end(client.socket);
    http_reply r = client_reply(&client, false, SOON_MS);
    CHECK_INT(200, r.status);
    reply_free(&r);
    CHECK(comes_to(site_held, 1) && comes_to(site_gone, 1));
    site_write(&site, "late", 4);
    site_release(&site);
    r = client_reply(&client, false, SOON_MS);
    CHECK(r.is_whole && !strcmp(r.body, "late"));
    reply_free(&r);
    CHECK(client_sees_end(&client, SOON_MS));
    client_close(&client);
    close_site();
}

static void test_pings(void)
{
    http_client client;
    check_group("pings");
    open_site(&(hn_http_options){ 0 });
    site.ping = true;
    hold(&client, 1);
    for (int i = 0; i < 300 && !(client.n && strstr(client.bytes, "8\r\n: ping\n\n\r\n")); i++)
        client_receive(&client, 10);
    CHECK(client.n && strstr(client.bytes, "8\r\n: ping\n\n\r\n"));
    site_release(&site);
    http_reply r = client_reply(&client, false, SOON_MS);
    CHECK(r.is_whole && r.body && strstr(r.body, ": ping\n\n"));
    reply_free(&r);
    client_close(&client);
    close_site();
}

static void test_drain(void)
{
    http_client held, quiet, half, late;
    check_group("draining");
    open_site(&(hn_http_options){ 0 });
    hold(&held, 1);
    CHECK(client_open(&quiet, port) && client_open(&half, port));
    client_say_text(&half, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12");
    pause_ms(50);
    CHECK(!hn_http_is_idle(site.http));
    hn_http_drain(site.http);
    CHECK(client_sees_end(&quiet, SOON_MS));
    http_reply r = client_reply(&half, false, SOON_MS);
    CHECK(r.status == 503 && client_sees_end(&half, SOON_MS));
    reply_free(&r);
    const bool is_let_in = client_open(&late, port) && client_say_text(&late, "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
    r = client_reply(&late, false, 200);
    CHECK(!is_let_in || !r.status);
    reply_free(&r);
    CHECK(!hn_http_is_idle(site.http));
    site_write(&site, "last", 4);
    site_release(&site);
    r = client_reply(&held, false, SOON_MS);
    CHECK(r.is_whole && !strcmp(r.body, "last") && client_sees_end(&held, SOON_MS));
    reply_free(&r);
    CHECK(comes_to(idle, 1));
    client_close(&held);
    client_close(&quiet);
    client_close(&half);
    client_close(&late);
    close_site();
}

/* ---- a process that is stopped ---- */

#if !defined(_WIN32)
/* By a child, in a moment, for five times what anybody has here. */
static pid_t be_stopped_soon(void)
{
    const pid_t self = getpid(), child = fork();
    if (child == 0) {
        nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
        kill(self, SIGSTOP);
        nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
        kill(self, SIGCONT);
        _exit(0);
    }
    return child;
}

static void see_off(pid_t child) { CHECK(child > 0 && waitpid(child, NULL, 0) == child); }

/* One who is quiet, one in a head, one in a body, one between two requests: none of them had the time in which nobody ran. */
static void test_stopped(void)
{
    static const char whole[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", post[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab";
    static const struct {
        const char *before, *after;
    } all[] = { { "", whole }, { "GET / HT", whole + 8 }, { post, "cd" }, { whole, whole } };
    enum { N = sizeof all / sizeof *all };
    http_client clients[N];
    check_group("stopped");
    open_site(&(hn_http_options){ .head_ms = LIMIT_MS, .body_ms = LIMIT_MS, .idle_ms = LIMIT_MS });
    for (int i = 0; i < N; i++) {
        CHECK(client_open(&clients[i], port) && client_say_text(&clients[i], all[i].before));
        if (all[i].before == whole) {
            http_reply r = client_reply(&clients[i], false, SOON_MS);
            CHECK_INT(200, r.status);
            reply_free(&r);
        }
    }
    see_off(be_stopped_soon());
    pause_ms(LIMIT_MS / 4); /* what would be seen of them is seen */
    for (int i = 0; i < N; i++) {
        CHECK(client_say_text(&clients[i], all[i].after));
        http_reply r = client_reply(&clients[i], false, SOON_MS);
        CHECK_THAT(r.status == 200, "%d: status %d after \"%s\"", i, r.status, all[i].before);
        reply_free(&r);
        client_close(&clients[i]);
    }
    close_site();
}

/* Nor is it time in which a test has waited for an answer. */
static void test_patience(void)
{
    http_client quiet;
    check_group("patience");
    open_site(&(hn_http_options){ 0 });
    CHECK(client_open(&quiet, port));
    const int64_t begin = hn_clock_ns();
    const pid_t child = be_stopped_soon();
    CHECK(!client_sees_end(&quiet, 600));
    CHECK_THAT(hn_clock_ns() - begin > INT64_C(1250000000), "it waited %.3f s, stopped for one of them", (double)(hn_clock_ns() - begin) * 1e-9);
    see_off(child);
    client_close(&quiet);
    close_site();
}
#endif

/* ---- a thousand ---- */

static bool has_descriptors(void)
{
#if defined(_WIN32)
    return true;
#else
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return false;
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= 2 * MANY + 64;
#endif
}

static void test_many_streams(void)
{
    static http_client clients[MANY];
    check_group("a thousand streams");
    if (!has_descriptors()) {
        check_skip("a thousand streams", "this process may not have the descriptors");
        return;
    }
    open_site(&(hn_http_options){ 0 });
    const int64_t before = atomic_load(&heap.live_bytes);
    hold(clients, MANY);
    const int64_t each = (atomic_load(&heap.live_bytes) - before) / MANY;
    printf("%d idle streams: %lld bytes each, %lld KiB in all\n", MANY, (long long)each, (long long)(each * MANY / 1024));
    CHECK_THAT(each < 20000, "%lld bytes a stream", (long long)each);
    site_write(&site, "data: 1\n\n", 9);
    site_release(&site);
    int n_whole = 0;
    for (int i = 0; i < MANY; i++) {
        http_reply r = client_reply(&clients[i], false, SOON_MS);
        n_whole += r.is_whole && !strcmp(r.body, "data: 1\n\n");
        reply_free(&r);
        client_close(&clients[i]);
    }
    CHECK_INT(MANY, n_whole);
    close_site();
}

/* ---- what is written about it ---- */

/* 32768 as "32,768". */
static void with_commas(long long n, char text[32])
{
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%lld", n);
    int to = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text[to++] = ',';
        text[to++] = digits[i];
    }
    text[to] = 0;
}

/* docs/http.md has each limit with its default. */
static void test_page(void)
{
    static const struct {
        const char *name, *what;
        long long otherwise;
    } limits[] = {
#define HN_HTTP_LIMIT(field, otherwise, name, what) { name, what, otherwise },
        HN_HTTP_LIMITS(HN_HTTP_LIMIT)
#undef HN_HTTP_LIMIT
    };
    void *text = NULL;
    size_t bytes = 0;
    check_group("docs/http.md");
    if (!CHECK_OK(hn_file_read(&heap, HN_SOURCE_DIR "/docs/http.md", 1 << 20, &text, &bytes)))
        return;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char number[32], row[512];
        with_commas(limits[i].otherwise, number);
        snprintf(row, sizeof row, "| `--%s` | %s | %s |\n", limits[i].name, number, limits[i].what);
        CHECK_THAT(strstr(text, row) != NULL, "expected the row %s", row);
    }
    hn_free(&heap, text);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    test_page();
    test_sizes();
    test_bodies();
    test_connections();
    test_slow_writers();
    test_idle();
    test_slow_readers();
    test_fast_reader();
    test_leaving();
    test_half_open();
    test_pings();
    test_drain();
#if !defined(_WIN32)
    test_stopped();
    test_patience();
#endif
    test_many_streams();
    return check_close();
}
