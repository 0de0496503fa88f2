/* Three questions in this order: is the Host ours, is the Origin, is the body of a kind that no form of a page can
 * send. Pages of other origins are answered only if they were named. */
#include "server/guard.h"

#include "base/ascii.h"
#include "base/os/sockets.h"
#include "server/http_parse.h"

#include <stdio.h>
#include <string.h>

enum { MOST_HOST = 256 };

static bool refuse(hn_refusal *out, int status, const char *message)
{
    *out = (hn_refusal){ .status = status, .message = message };
    return false;
}

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hn_ascii_same(word, list[i]))
            return true;
    return false;
}

/* ---- Host ---- */

/* Without its port and the brackets of an address. False: it is too long to be one of ours. */
static bool host_of(const char *field, char host[MOST_HOST])
{
    const bool is_six = field[0] == '[';
    const char *from = field + is_six;
    const size_t n = strcspn(from, is_six ? "]" : ":");
    if (n >= MOST_HOST)
        return false;
    memcpy(host, from, n);
    host[n] = 0;
    return true;
}

/* An address in numbers belongs to nobody's page, so one that listens on all takes any. */
static bool is_ours(const hn_guard *g, const char *field)
{
    char host[MOST_HOST];
    if (!host_of(field, host))
        return false;
    const bool is_any = !strcmp(g->host, "0.0.0.0") || !strcmp(g->host, "::");
    if (hn_ascii_same(host, "localhost") || hn_ascii_same(host, g->host) || is_one_of(host, g->hosts, g->n_hosts))
        return true;
    if (is_any)
        return hn_os_is_address(host);
    return hn_os_is_loopback(g->host) && hn_os_is_loopback(host);
}

/* ---- Origin ---- */

/* The page is this server's own: its origin is the host that it asks. */
static bool is_own(const char *origin, const char *host)
{
    if (!host)
        return false;
    if (hn_ascii_same_n(origin, "http://", 7))
        return hn_ascii_same(origin + 7, host);
    return hn_ascii_same_n(origin, "https://", 8) && hn_ascii_same(origin + 8, host); /* behind a proxy */
}

static bool check_origin(const hn_guard *g, const hn_http_request *r, hn_refusal *out)
{
    const char *origin = hn_http_find_field(r, "origin"), *site = hn_http_find_field(r, "sec-fetch-site");
    const char *mode = hn_http_find_field(r, "sec-fetch-mode");
    if (origin && !is_own(origin, hn_http_find_field(r, "host")) && !is_one_of(origin, g->origins, g->n_origins))
        return refuse(out, 403, "a page of another origin asks: name it with --allow-origin");
    if (!origin && !g->has_keys && site && hn_ascii_same(site, "cross-site") && !(mode && hn_ascii_same(mode, "navigate")))
        return refuse(out, 403, "a page of another site asks");
    return true;
}

/* ---- bodies ---- */

/* "application/json; charset=utf-8" is application/json. */
static bool is_type(const char *field, const char *type)
{
    const size_t n = strlen(type), length = field ? strcspn(field, "; \t") : 0;
    return n == length && hn_ascii_same_n(field, type, n);
}

static bool check_type(const hn_guard *g, const hn_http_request *r, hn_refusal *out)
{
    const char *length = hn_http_find_field(r, "content-length"), *type = hn_http_find_field(r, "content-type");
    const bool has_body = hn_http_find_field(r, "transfer-encoding") || (length && strspn(length, "0") != strlen(length));
    if (!has_body && (!type || !strcmp(r->method, "GET") || !strcmp(r->method, "HEAD")))
        return true;
    for (size_t i = 0; i < g->n_form_paths; i++)
        if (!strcmp(r->path, g->form_paths[i]))
            return is_type(type, "multipart/form-data") || refuse(out, 415, "expected a Content-Type of multipart/form-data");
    return is_type(type, "application/json") || refuse(out, 415, "expected a Content-Type of application/json");
}

bool hn_guard_admits(const hn_guard *g, const hn_http_request *r, hn_refusal *out)
{
    const char *host = hn_http_find_field(r, "host");
    if (!g->has_keys && !(host && is_ours(g, host)))
        return refuse(out, 421, "the Host is no name of this server: name it with --allow-host");
    return check_origin(g, r, out) && check_type(g, r, out);
}

/* ---- pages of other origins ---- */

static const char *shared_with(const hn_guard *g, const hn_http_call *call)
{
    const char *origin = hn_http_field_of(call, "origin");
    return origin && is_one_of(origin, g->origins, g->n_origins) ? origin : NULL;
}

void hn_guard_share(const hn_guard *g, hn_http_call *call)
{
    const char *origin = shared_with(g, call);
    if (!origin)
        return;
    hn_http_add_field(call, "Access-Control-Allow-Origin", origin);
    hn_http_add_field(call, "Vary", "Origin");
}

bool hn_guard_preflight(const hn_guard *g, hn_http_call *call)
{
    if (strcmp(hn_http_request_of(call)->method, "OPTIONS") != 0 || !shared_with(g, call) ||
        !hn_http_field_of(call, "access-control-request-method"))
        return false;
    hn_guard_share(g, call);
    hn_http_add_field(call, "Access-Control-Allow-Methods", "GET, POST, DELETE");
    /* Clients in pages send fields of their own, as x-stainless-lang; "*" is all but authorization. */
    hn_http_add_field(call, "Access-Control-Allow-Headers", "*, authorization, content-type, x-api-key");
    hn_http_add_field(call, "Access-Control-Max-Age", "600");
    hn_http_reply(call, 204, NULL, "", 0);
    return true;
}
