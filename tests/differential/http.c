/* Bytes that are committed, with what llhttp (the parser of Node.js, strict) and this server make of them: the verdict is
 * what stands there, and where the two differ there is a reason. tools/reference/http_llhttp.js compares
 * them on as many more as one has time for:
 *
 *     build/tests/differential/http --lines    requests in hexadecimal digits on standard input, a verdict a line
 */
#include "base/file.h"
#include "base/json.h"
#include "server/http_parse.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 65536 };

static hn_heap heap;

static size_t unhex(const char *text, char *bytes)
{
    size_t n = 0;
    for (; text[0] && text[1] && n < MOST_BYTES; text += 2) {
        const char two[3] = { text[0], text[1], 0 };
        bytes[n++] = (char)strtol(two, NULL, 16);
    }
    return n;
}

static void add_hex(hn_str *to, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hn_str_print(to, "%02x", (unsigned)(unsigned char)bytes[i]);
}

/* METHOD path fields=values body, all but the method in hexadecimal digits. */
static void add_request(hn_str *to, const hn_http_request *r)
{
    hn_str_print(to, "%s ", r->method);
    add_hex(to, r->path, strlen(r->path));
    if (*r->query) {
        add_hex(to, "?", 1);
        add_hex(to, r->query, strlen(r->query));
    }
    hn_str_add(to, " ");
    for (size_t i = 0; i < r->n_fields; i++) {
        add_hex(to, r->fields[i].name, strlen(r->fields[i].name));
        hn_str_add(to, "=");
        add_hex(to, r->fields[i].value, strlen(r->fields[i].value));
        hn_str_add(to, ",");
    }
    hn_str_add(to, " ");
    add_hex(to, r->body, r->body_bytes);
    hn_str_add(to, "; ");
}

/* Requests, then how it ended: "end" between two, "more" in the middle of one, "closed" after one that was the last, or
 * "refused" with a status. */
static void judge(const char *bytes, size_t n, hn_str *verdict, const char **reason)
{
    const hn_http_parse_limits limits = { .head_bytes = 32768, .target_bytes = 8192, .fields = 100, .body_bytes = 1 << 20 };
    hn_http_parse p;
    hn_http_parse_begin(&p, &heap, &limits);
    bool is_closed = false;
    *reason = "";
    for (size_t at = 0; at < n && !is_closed && p.stage != HN_HTTP_REFUSED;) {
        at += hn_http_parse_take(&p, bytes + at, n - at);
        if (p.stage == HN_HTTP_WHOLE) {
            add_request(verdict, &p.request);
            is_closed = !p.keeps_alive;
            hn_http_parse_free(&p);
            hn_http_parse_begin(&p, &heap, &limits);
        }
    }
    if (p.stage == HN_HTTP_REFUSED) {
        hn_str_print(verdict, "refused %d", p.status);
        *reason = p.reason;
    } else {
        hn_str_add(verdict, is_closed                                                              ? "closed"
                            : p.stage == HN_HTTP_NOTHING || (p.stage == HN_HTTP_HEAD && !p.head_bytes) ? "end"
                                                                                                       : "more");
    }
    hn_http_parse_free(&p);
}

static int answer_lines(void)
{
    static char line[2 * MOST_BYTES + 4], bytes[MOST_BYTES];
    while (fgets(line, sizeof line, stdin)) {
        const char *reason;
        hn_str verdict = hn_str_on(&heap);
        line[strcspn(line, "\r\n")] = 0;
        judge(bytes, unhex(line, bytes), &verdict, &reason);
        printf("%s\t%s\n", verdict.text, reason);
        hn_str_free(&verdict);
    }
    return 0;
}

static const char *text_of(const hn_json *value, const char *key)
{
    const char *text = "";
    CHECK_OK(hn_json_want_string(hn_json_get(value, key), key, &text));
    return text;
}

/* Fields: "bytes" in hexadecimal digits, "hone" and "llhttp", verdicts, "why" they differ. */
static void check_case(const hn_json *c, size_t i)
{
    static char bytes[MOST_BYTES];
    const char *reason, *hone = text_of(c, "hone"), *llhttp = text_of(c, "llhttp");
    hn_str verdict = hn_str_on(&heap);
    judge(bytes, unhex(text_of(c, "bytes"), bytes), &verdict, &reason);
    CHECK_THAT(!strcmp(verdict.text, hone), "case %zu (%s): expected %s, found %s", i, text_of(c, "bytes"), hone, verdict.text);
    CHECK_THAT(!strcmp(hone, llhttp) || *text_of(c, "why"), "case %zu differs from llhttp's without a reason", i);
    hn_str_free(&verdict);
}

int main(int argc, char **argv)
{
    hn_heap_init(&heap, NULL);
    if (argc == 2 && !strcmp(argv[1], "--lines"))
        return answer_lines();
    check_open(argc, argv);
    void *text = NULL;
    size_t bytes = 0, n = 0;
    hn_json_text *json = NULL;
    if (CHECK_OK(hn_file_read(&heap, HN_SOURCE_DIR "/tests/differential/http/llhttp.json", 1 << 24, &text, &bytes)) &&
        CHECK_OK(hn_json_read(&heap, "llhttp.json", text, bytes, &json)))
        for (const hn_json *c; (c = hn_json_at(hn_json_get(hn_json_root(json), "cases"), n)) != NULL; n++)
            check_case(c, n);
    CHECK_THAT(n >= 100, "%zu cases", n);
    hn_json_free(json);
    hn_free(&heap, text);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
