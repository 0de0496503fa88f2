/* Any bytes as requests: refused with a status and a sentence, or requests without what nobody may read in two ways; the
 * same however the bytes are cut; nothing leaks. */
#include "server/http_parse.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static const hn_http_parse_limits limits = { .head_bytes = 2048, .target_bytes = 512, .fields = 16, .body_bytes = 1024 };

/* What was seen, as a hash of it: so two ways of cutting are compared. */
typedef struct seen {
    uint64_t hash;
    size_t n_requests, taken;
    int status;
} seen;

static void add(seen *s, const void *bytes, size_t n)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < n; i++)
        s->hash = (s->hash ^ b[i]) * UINT64_C(0x100000001b3);
    s->hash = (s->hash ^ 0x100) * UINT64_C(0x100000001b3);
}

static void check_text(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if ((*c < 0x20 && *c != '\t') || *c == 0x7f)
            abort();
}

static void check_path(const char *path)
{
    check_text(path);
    if ((path[0] != '/' && strcmp(path, "*") != 0) || strchr(path, '\\') || strstr(path, "/../") || strstr(path, "/./"))
        abort();
    const char *last = strrchr(path, '/');
    if (last && (!strcmp(last, "/..") || !strcmp(last, "/.")))
        abort();
}

static void check_request(const hn_http_parse *p, seen *s)
{
    const hn_http_request *r = &p->request;
    int n_hosts = 0, n_lengths = 0, n_codings = 0;
    check_path(r->path);
    check_text(r->query);
    if (r->n_fields > limits.fields || r->body_bytes > limits.body_bytes || r->body[r->body_bytes] ||
        strlen(r->query) > limits.target_bytes)
        abort();
    for (size_t i = 0; i < r->n_fields; i++) {
        const char *name = r->fields[i].name;
        check_text(r->fields[i].value);
        if (!*name || strpbrk(name, " \t:ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
            abort();
        n_hosts += !strcmp(name, "host");
        n_lengths += !strcmp(name, "content-length");
        n_codings += !strcmp(name, "transfer-encoding");
        add(s, name, strlen(name));
        add(s, r->fields[i].value, strlen(r->fields[i].value));
    }
    if (n_hosts > 1 || n_hosts < p->is_1_1 || n_lengths + n_codings > 1)
        abort();
    add(s, r->method, strlen(r->method));
    add(s, r->path, strlen(r->path));
    add(s, r->query, strlen(r->query));
    add(s, r->body, r->body_bytes);
    s->n_requests++;
}

/* Pieces of `step` bytes; 0: of sizes that the data itself gives. */
static seen parse_all(const char *data, size_t bytes, size_t step)
{
    hn_heap heap;
    hn_http_parse p;
    seen s = { .hash = UINT64_C(0xcbf29ce484222325) };
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 16;
    hn_http_parse_begin(&p, &heap, &limits);
    for (size_t at = 0, end = 0; at < bytes && p.stage != HN_HTTP_REFUSED;) {
        if (at == end) {
            const size_t piece = step ? step : 1 + (size_t)(uint8_t)data[at] % 23;
            end = bytes - at < piece ? bytes : at + piece;
        }
        at += hn_http_parse_take(&p, data + at, end - at);
        s.taken = at;
        if (p.stage == HN_HTTP_WHOLE) {
            check_request(&p, &s);
            hn_http_parse_free(&p);
            hn_http_parse_begin(&p, &heap, &limits);
        }
    }
    s.status = p.stage == HN_HTTP_REFUSED ? p.status : (int)p.stage;
    if (p.stage == HN_HTTP_REFUSED && (p.status < 400 || p.status > 599 || !p.reason || !*p.reason || p.keeps_alive))
        abort();
    hn_http_parse_free(&p);
    if (atomic_load(&heap.live_blocks))
        abort();
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const seen whole = parse_all((const char *)data, bytes, bytes), single = parse_all((const char *)data, bytes, 1),
               pieces = parse_all((const char *)data, bytes, 0);
    /* Where a limit is passed depends on how much came at once only in which bytes were taken before it was seen. */
    if (whole.status != single.status || whole.status != pieces.status || whole.hash != single.hash ||
        whole.hash != pieces.hash || whole.n_requests != single.n_requests || whole.n_requests != pieces.n_requests)
        abort();
    return 0;
}
