/* Who a request may come from, and what is written about it. */
#include "server/guard.h"
#include "server/http_parse.h"
#include "server/log.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

static hn_heap heap;

/* What the guard says of a request with these lines: 0, or the status that it is refused with. */
static int judge(const hn_guard *guard, const char *first, const char *lines)
{
    char text[1024];
    hn_http_parse parse;
    hn_refusal refusal = { 0 };
    const hn_http_parse_limits limits = { 8192, 8192, 100, 8192 };
    const int n = snprintf(text, sizeof text, "%s HTTP/1.1\r\n%s\r\n", first, lines);
    hn_http_parse_begin(&parse, &heap, &limits);
    hn_http_parse_take(&parse, text, (size_t)n);
    if (!CHECK_THAT(parse.stage == HN_HTTP_BODY || parse.stage == HN_HTTP_WHOLE, "%s is refused: %s", text,
                    parse.reason ? parse.reason : ""))
        return -1;
    const bool is_in = hn_guard_admits(guard, &parse.request, &refusal);
    CHECK(is_in ? !refusal.status : refusal.message && *refusal.message);
    hn_http_parse_free(&parse);
    return is_in ? 0 : refusal.status;
}

static const char *const names[] = { "box.local" }, *const origins[] = { "https://app.example" };
static const char *const forms[] = { "/v1/files" };

static const hn_guard at_home = { .host = "127.0.0.1", .hosts = names, .n_hosts = 1, .origins = origins, .n_origins = 1,
                                  .form_paths = forms, .n_form_paths = 1 };

static void test_host(void)
{
    hn_guard g = at_home;
    CHECK_INT(0, judge(&g, "GET /", "Host: 127.0.0.1:8080\r\n"));
    CHECK_INT(0, judge(&g, "GET /", "Host: LocalHost\r\n"));
    CHECK_INT(0, judge(&g, "GET /", "Host: [::1]:8080\r\n"));
    CHECK_INT(0, judge(&g, "GET /", "Host: box.local:9\r\n"));
    CHECK_INT(421, judge(&g, "GET /", "Host: evil.example:8080\r\n"));
    CHECK_INT(421, judge(&g, "GET /", "Host: 127.0.0.1.evil.example\r\n"));
    CHECK_INT(421, judge(&g, "GET /", "Host: localhost.evil.example\r\n"));
    CHECK_INT(421, judge(&g, "GET /", "Host: 192.168.0.1\r\n"));
    g.host = "192.168.0.7";
    CHECK_INT(0, judge(&g, "GET /", "Host: 192.168.0.7:1\r\n"));
    CHECK_INT(421, judge(&g, "GET /", "Host: 192.168.0.8:1\r\n"));
    g.host = "0.0.0.0";
    CHECK_INT(0, judge(&g, "GET /", "Host: 192.168.0.8:1\r\n"));
    CHECK_INT(421, judge(&g, "GET /", "Host: evil.example\r\n"));
    g.has_keys = true;
    CHECK_INT(0, judge(&g, "GET /", "Host: evil.example\r\n"));
}

static void test_origin(void)
{
    hn_guard g = at_home;
    CHECK_INT(0, judge(&g, "GET /", "Host: localhost:8080\r\nOrigin: http://localhost:8080\r\n"));
    CHECK_INT(0, judge(&g, "GET /", "Host: localhost:8080\r\nOrigin: https://app.example\r\n"));
    CHECK_INT(403, judge(&g, "GET /", "Host: localhost:8080\r\nOrigin: http://localhost:8081\r\n"));
    CHECK_INT(403, judge(&g, "GET /", "Host: localhost:8080\r\nOrigin: http://localhost\r\n"));
    CHECK_INT(403, judge(&g, "GET /", "Host: localhost:8080\r\nOrigin: http://evil.example\r\n"));
    CHECK_INT(403, judge(&g, "GET /", "Host: localhost:8080\r\nOrigin: null\r\n"));
    CHECK_INT(403, judge(&g, "GET /", "Host: localhost:8080\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"));
    CHECK_INT(0, judge(&g, "GET /", "Host: localhost:8080\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"));
    CHECK_INT(0, judge(&g, "GET /", "Host: localhost:8080\r\nSec-Fetch-Site: same-origin\r\n"));
    g.has_keys = true;
    CHECK_INT(403, judge(&g, "GET /", "Host: localhost:8080\r\nOrigin: http://evil.example\r\n"));
}

static void test_type(void)
{
    const hn_guard g = at_home;
    CHECK_INT(0, judge(&g, "POST /v1/x", "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"));
    CHECK_INT(0, judge(&g, "POST /v1/x", "Host: localhost\r\nContent-Type: Application/JSON; charset=utf-8\r\nContent-Length: 2\r\n"));
    CHECK_INT(0, judge(&g, "POST /v1/x", "Host: localhost\r\n"));
    CHECK_INT(0, judge(&g, "GET /v1/x", "Host: localhost\r\nContent-Type: text/plain\r\n"));
    CHECK_INT(415, judge(&g, "POST /v1/x", "Host: localhost\r\nContent-Length: 2\r\n"));
    CHECK_INT(415, judge(&g, "POST /v1/x", "Host: localhost\r\nContent-Type: text/plain\r\n"));
    CHECK_INT(415, judge(&g, "POST /v1/x", "Host: localhost\r\nContent-Type: application/jsonx\r\nContent-Length: 2\r\n"));
    CHECK_INT(415, judge(&g, "POST /v1/x", "Host: localhost\r\nContent-Type: text/plain; application/json\r\nContent-Length: 2\r\n"));
    CHECK_INT(415, judge(&g, "POST /v1/x", "Host: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n"));
    CHECK_INT(415, judge(&g, "POST /v1/x", "Host: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 2\r\n"));
    CHECK_INT(0, judge(&g, "POST /v1/files", "Host: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 2\r\n"));
    CHECK_INT(415, judge(&g, "POST /v1/files", "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"));
    CHECK_INT(415, judge(&g, "GET /v1/x", "Host: localhost\r\nContent-Length: 2\r\n"));
}

static void test_log(void)
{
    hn_http_done done = { .method = "POST", .path = "/a b%\n\xc3\xa9\"", .tag = "alice", .status = 200, .bytes = 12, .ns = 1999999 };
    hn_str line = hn_str_on(&heap);
    hn_log_line(&line, false, &done, 1700000000);
    CHECK_TEXT("2023-11-14T22:13:20Z POST /a%20b%25%0a%c3%a9\" 200 1 ms 12 bytes alice\n", line.text);
    hn_str_clear(&line);
    done.tag = NULL;
    done.is_gone = true;
    hn_log_line(&line, false, &done, 0);
    CHECK_TEXT("1970-01-01T00:00:00Z POST /a%20b%25%0a%c3%a9\" 200 1 ms 12 bytes - gone\n", line.text);
    hn_str_clear(&line);
    hn_log_line(&line, true, &done, 0);
    CHECK_TEXT("{\"time\":\"1970-01-01T00:00:00Z\",\"method\":\"POST\",\"path\":\"/a b%\\n\xc3\xa9\\\"\",\"status\":200,\"ms\":1,"
               "\"bytes\":12,\"key\":null,\"gone\":true}\n", line.text);
    hn_str_clear(&line);
    done.asked = (hn_span){ "{\"a\"\n:\xff}", 8 };
    done.said = (hn_span){ "b\0c", 3 };
    hn_log_line(&line, true, &done, 0);
    CHECK_TEXT("true,\"asked\":\"{\\\"a\\\"\\n:\\ufffd}\",\"said\":\"b\\u0000c\"}\n", strstr(line.text, "true,"));
    done.lacks_texts = true;
    hn_log_line(&line, true, &done, 0);
    CHECK_INT(HN_ERR_MEMORY, line.status); /* told as missing, not as less than was said */
    hn_str_free(&line);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    test_host();
    test_origin();
    test_type();
    test_log();
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
