/* The server over real sockets: what arrives, however it is cut, is what was asked; what cannot be understood in one
 * way alone is refused and ends the connection; limits hold; who leaves is noticed; what is said arrives. */
#include "base/os/clock.h"
#include "base/str.h"
#include "tests/harness/check.h"
#include "tests/property/http_client.h"
#include "tests/property/http_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_heap heap;
static http_site site;
static int port;

static void open_site(const hn_http_options *limits)
{
    if (CHECK_OK(site_open(&site, &heap, limits)))
        port = hn_http_port(site.http);
}

/* Nothing is kept of all that was. */
static void close_site(void)
{
    site_close(&site);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
}

static void check_reply(http_client *client, int status, const char *body)
{
    http_reply r = client_reply(client, false, 5000);
    CHECK_INT(status, r.status);
    CHECK(r.is_whole);
    if (body)
        CHECK_TEXT(body, r.body);
    reply_free(&r);
}

/* ---- one request in every way to cut it ---- */

static const struct {
    const char *request, *echo;
} whole[] = {
    { "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n", "GET\n/echo\n\nhost=a\n0:" },
    { "\r\nGET /%61?b=%20c HTTP/1.1\r\nHost:\ta \r\nX-Y:  1 2\t\r\n\r\n", "GET\n/a\nb=%20c\nhost=a\nx-y=1 2\n0:" },
    { "POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345",
      "POST\n/later\n\nhost=a\ncontent-length=5\n5:12345" },
    { "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n00a\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
      "POST\n/p\n\nhost=a\ntransfer-encoding=chunked\n13:abc0123456789" },
    { "POST http://a:80/q?r HTTP/1.1\r\nHost: A:80\r\nContent-Length: 0\r\n\r\n",
      "POST\n/q\nr\nhost=A:80\ncontent-length=0\n0:" },
    { "GET /models/a%2Fb:c HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "GET\n/models/a/b:c\n\nhost=[::1]:8080\n0:" },
    { "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS\n*\n\nhost=a\n0:" },
};

static void check_cut(size_t i, size_t at, http_client *client)
{
    const size_t n = strlen(whole[i].request);
    client_say(client, whole[i].request, at);
    if (at % 7 == 3)
        pause_ms(1); /* so that some come apart */
    client_say(client, whole[i].request + at, n - at);
    http_reply r = client_reply(client, false, 5000);
    CHECK_THAT(r.status == 200 && r.body && !strcmp(r.body, whole[i].echo), "request %zu cut at %zu: %d %s", i, at, r.status,
               r.body ? r.body : "");
    reply_free(&r);
}

static void test_cuts(void)
{
    http_client client;
    check_group("cut at every byte");
    open_site(&(hn_http_options){ 0 });
    CHECK(client_open(&client, port));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        for (size_t at = 0; at <= strlen(whole[i].request); at++)
            check_cut(i, at, &client);
    client_close(&client);
    close_site();
}

/* All of them in one go, by pieces of every size: replies come in the order of requests. */
static void test_pipeline(void)
{
    char all[4096] = "";
    check_group("pipelines");
    open_site(&(hn_http_options){ 0 });
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s", whole[i].request);
    for (size_t piece = 1; piece < strlen(all) + 64; piece = piece * 2 + 1) {
        http_client client;
        CHECK(client_open(&client, port));
        for (size_t at = 0; at < strlen(all); at += piece)
            client_say(&client, all + at, strlen(all) - at < piece ? strlen(all) - at : piece);
        for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
            check_reply(&client, 200, whole[i].echo);
        client_close(&client);
    }
    close_site();
}

/* ---- refused ---- */

static const struct {
    int status;
    const char *request;
} refused[] = {
    { 400, "GET / HTTP/1.1\nHost: a\n\n" },
    { 400, "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\nHost: u@b\r\n\r\n" },
    { 400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n" },
    { 400, "GET /\r\n\r\n" },
    { 400, "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET /%0 HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET /%5c HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET /../a HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET /a/%2e%2e/b HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET /a/%2E HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET /a%2f..%2fb HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET a HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "GET /#x HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\na" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\na" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0b" "chunked\r\n\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n 1\r\na\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n;x\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a\nb\r\na\r\n0\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nT : v\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n" },
    { 413, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100000000000000\r\n" },
    { 413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n" },
    { 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" },
    { 411, "POST / HTTP/1.0\r\n\r\n" },
    { 415, "POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\na" },
    { 417, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\na" },
    { 501, "BREW / HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 501, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 501, "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n" },
    { 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
    { 505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n" },
};

/* Whatever follows is no request of anybody. */
static void check_refused(size_t i, size_t cut)
{
    static const char next[] = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    const size_t n = strlen(refused[i].request);
    http_client client;
    CHECK(client_open(&client, port));
    client_say(&client, refused[i].request, cut);
    client_say(&client, refused[i].request + cut, n - cut);
    client_say(&client, next, sizeof next - 1);
    http_reply r = client_reply(&client, false, 5000);
    CHECK_THAT(r.status == refused[i].status, "refused %zu: expected %d, found %d: %s", i, refused[i].status, r.status,
               refused[i].request);
    CHECK(r.body && !strncmp(r.body, "{\"error\":{\"message\":\"", 21) && strstr(r.head, "Connection: close"));
    reply_free(&r);
    hn_os_socket_end(client.socket);
    CHECK(client_sees_end(&client, 5000) && client.n == 0);
    client_close(&client);
}

static void test_refused(void)
{
    check_group("refused");
    open_site(&(hn_http_options){ 0 });
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        check_refused(i, 0);
        check_refused(i, strlen(refused[i].request) / 2);
    }
    CHECK_INT(0, site.n_calls);
    close_site();
}

/* ---- replies ---- */

static void test_replies(void)
{
    char value[64];
    http_client client;
    check_group("replies");
    open_site(&(hn_http_options){ 0 });
    CHECK(client_open(&client, port));
    client_say_text(&client, "GET /stream?1000 HTTP/1.1\r\nHost: a\r\n\r\nHEAD /echo HTTP/1.1\r\nHost: a\r\n\r\n"
                             "GET /silent HTTP/1.1\r\nHost: a\r\n\r\nGET /echo HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n");
    http_reply r = client_reply(&client, false, 5000);
    CHECK(r.status == 200 && r.is_whole && strstr(r.body, "data: 999\n\n") && reply_field(&r, "X-Kind", value, sizeof value));
    CHECK_TEXT("text/event-stream", reply_field(&r, "Content-Type", value, sizeof value));
    CHECK(reply_field(&r, "Date", value, sizeof value) && strlen(value) == 29);
    CHECK_INT(10890, (int64_t)r.body_bytes);
    reply_free(&r);
    r = client_reply(&client, true, 5000);
    CHECK(r.status == 200 && reply_field(&r, "Content-Length", value, sizeof value) && strcmp(value, "0") != 0);
    reply_free(&r);
    check_reply(&client, 500, NULL);
    check_reply(&client, 200, "GET\n/echo\n\nhost=a\nconnection=x, close\n0:");
    CHECK(client_sees_end(&client, 5000) && !client.n);
    client_close(&client);
    CHECK(client_open(&client, port));
    client_say_text(&client, "GET /broken HTTP/1.1\r\nHost: a\r\n\r\n");
    r = client_reply(&client, false, 5000);
    CHECK(!r.is_whole && client.is_ended);
    reply_free(&r);
    client_close(&client);
    close_site();
}

static void test_1_0(void)
{
    http_client client;
    check_group("HTTP/1.0");
    open_site(&(hn_http_options){ 0 });
    CHECK(client_open(&client, port));
    client_say_text(&client, "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    http_reply r = client_reply(&client, false, 5000);
    CHECK(r.status == 200 && strstr(r.head, "Connection: keep-alive"));
    reply_free(&r);
    client_say_text(&client, "GET /stream?3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    r = client_reply(&client, false, 5000);
    CHECK_TEXT("data: 0\n\ndata: 1\n\ndata: 2\n\n", r.body);
    CHECK(client.is_ended && !client.is_lost && !strstr(r.head, "chunked"));
    reply_free(&r);
    client_close(&client);
    CHECK(client_open(&client, port));
    client_say_text(&client, "GET /broken HTTP/1.0\r\n\r\n");
    CHECK(client_sees_end(&client, 5000) && client.is_lost); /* else it would be taken for the whole */
    client_close(&client);
    close_site();
}

static void test_expect(void)
{
    http_client client;
    check_group("Expect");
    open_site(&(hn_http_options){ .body_bytes = 100 });
    CHECK(client_open(&client, port));
    client_say_text(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
    check_reply(&client, 100, NULL);
    client_say_text(&client, "2");
    pause_ms(50); /* nothing is said twice */
    client_say_text(&client, "\r\nhi\r\n0\r\n\r\n");
    check_reply(&client, 200, "POST\n/echo\n\nhost=a\nexpect=100-continue\ntransfer-encoding=chunked\n2:hi");
    client_say_text(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n");
    check_reply(&client, 413, NULL);
    client_close(&client);
    CHECK(client_open(&client, port));
    client_say_text(&client, "POST /early HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    check_reply(&client, 401, "no");
    CHECK(client_sees_end(&client, 5000));
    client_close(&client);
    CHECK(client_open(&client, port));
    client_say_text(&client, "POST /wide HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n");
    check_reply(&client, 413, NULL);
    client_close(&client);
    close_site();
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    test_cuts();
    test_pipeline();
    test_refused();
    test_replies();
    test_1_0();
    test_expect();
    return check_close();
}
