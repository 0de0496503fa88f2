#include "tests/property/http_site.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_request(hn_str *to, const hn_http_request *r)
{
    hn_str_print(to, "%s\n%s\n%s\n", r->method, r->path, r->query);
    for (size_t i = 0; i < r->n_fields; i++)
        hn_str_print(to, "%s=%s\n", r->fields[i].name, r->fields[i].value);
    hn_str_print(to, "%zu:", r->body_bytes);
    hn_str_add_bytes(to, r->body, r->body_bytes);
}

static void echo(http_site *site, hn_http_call *call)
{
    hn_str text = hn_str_on(site->heap);
    write_request(&text, hn_http_request_of(call));
    hn_http_set_tag(call, "echo");
    if (text.status == HN_OK)
        hn_http_reply(call, 200, "text/plain", text.text, text.length);
    else
        hn_http_break(call);
    hn_str_free(&text);
}

static void stream(hn_http_call *call)
{
    const long n = strtol(hn_http_request_of(call)->query, NULL, 10);
    char event[64];
    hn_http_add_field(call, "X-Kind", "stream");
    hn_http_begin(call, 200, "text/event-stream");
    for (long i = 0; i < n; i++)
        hn_http_write(call, event, (size_t)snprintf(event, sizeof event, "data: %ld\n\n", i));
    hn_http_end(call);
}

/* What a reader who takes nothing lets wait. */
static void flood(hn_http_call *call)
{
    const long n = strtol(hn_http_request_of(call)->query, NULL, 10);
    char event[1024];
    memset(event, 'x', sizeof event);
    hn_http_begin(call, 200, "text/event-stream");
    for (long i = 0; i < n && !hn_http_is_gone(call); i++)
        hn_http_write(call, event, sizeof event);
    hn_http_end(call);
}

static void work(http_site *site, hn_http_call *call)
{
    if (!strcmp(hn_http_request_of(call)->path, "/stream"))
        stream(call);
    else if (!strcmp(hn_http_request_of(call)->path, "/flood"))
        flood(call);
    else
        echo(site, call);
}

static void run(void *context)
{
    http_site *site = context;
    hn_os_mutex_lock(&site->mutex);
    while (!site->is_ending || site->n_waiting) {
        if (!site->n_waiting) {
            hn_os_condition_wait(&site->work, &site->mutex);
            continue;
        }
        hn_http_call *call = site->waiting[--site->n_waiting];
        hn_os_mutex_unlock(&site->mutex);
        work(site, call);
        hn_os_mutex_lock(&site->mutex);
    }
    hn_os_mutex_unlock(&site->mutex);
}

static void put(http_site *site, hn_http_call *call, hn_http_call **list, int *n)
{
    hn_os_mutex_lock(&site->mutex);
    site->n_calls++;
    const bool has_room = *n < SITE_MOST_HELD;
    if (has_room)
        list[(*n)++] = call;
    hn_os_condition_wake(&site->work);
    hn_os_mutex_unlock(&site->mutex);
    if (!has_room)
        hn_http_reply(call, 503, NULL, "", 0);
}

static void on_call(void *context, hn_http_call *call)
{
    http_site *site = context;
    const char *path = hn_http_request_of(call)->path;
    atomic_fetch_add(&site->n_entered, 1);
    if (!strcmp(path, "/hold")) {
        if (site->ping)
            hn_http_ping_with(call, ": ping\n\n", 8, 1);
        hn_http_begin(call, 200, "text/event-stream");
        put(site, call, site->held, &site->n_held);
        return;
    }
    if (!strcmp(path, "/later") || !strcmp(path, "/stream") || !strcmp(path, "/flood")) {
        put(site, call, site->waiting, &site->n_waiting);
        return;
    }
    hn_os_mutex_lock(&site->mutex);
    site->n_calls++;
    hn_os_mutex_unlock(&site->mutex);
    if (!strcmp(path, "/silent")) {
        hn_http_end(call);
    } else if (!strcmp(path, "/broken")) {
        hn_http_begin(call, 200, "text/plain");
        hn_http_write(call, "half", 4);
        hn_http_break(call);
    } else {
        echo(site, call);
    }
}

static bool on_head(void *context, hn_http_call *call)
{
    const char *path = hn_http_request_of(call)->path;
    (void)context;
    if (!strcmp(path, "/wide"))
        hn_http_set_body_limit(call, SITE_EARLY_LIMIT);
    if (strcmp(path, "/early") != 0)
        return true;
    hn_http_reply(call, 401, "text/plain", "no", 2);
    return false;
}

static void on_done(void *context, const hn_http_done *done)
{
    http_site *site = context;
    hn_os_mutex_lock(&site->mutex);
    site->n_done++;
    site->n_gone += done->is_gone;
    site->last_status = done->status;
    site->last_bytes = done->bytes;
    snprintf(site->last_tag, sizeof site->last_tag, "%s", done->tag ? done->tag : "-");
    hn_os_mutex_unlock(&site->mutex);
}

hn_status site_open(http_site *site, hn_heap *heap, const hn_http_options *limits)
{
    hn_http_options options = *limits;
    *site = (http_site){ .heap = heap };
    options.heap = heap;
    options.on_call = on_call;
    options.on_head = on_head;
    options.on_done = on_done;
    options.context = site;
    hn_os_mutex_open(&site->mutex);
    hn_os_condition_open(&site->work);
    HN_REQUIRE(!hn_os_thread_start(&site->thread, run, site), HN_ERR_IO, "no thread");
    const hn_status status = hn_http_open(&site->http, &options);
    if (status != HN_OK)
        site_close(site);
    return status;
}

int site_held(http_site *site)
{
    hn_os_mutex_lock(&site->mutex);
    const int n = site->n_held;
    hn_os_mutex_unlock(&site->mutex);
    return n;
}

int site_gone(http_site *site)
{
    int n = 0;
    hn_os_mutex_lock(&site->mutex);
    for (int i = 0; i < site->n_held; i++)
        n += hn_http_is_gone(site->held[i]);
    hn_os_mutex_unlock(&site->mutex);
    return n;
}

void site_write(http_site *site, const char *bytes, size_t n)
{
    hn_os_mutex_lock(&site->mutex);
    const int n_held = site->n_held;
    hn_os_mutex_unlock(&site->mutex);
    for (int i = 0; i < n_held; i++)
        hn_http_write(site->held[i], bytes, n);
}

void site_release(http_site *site)
{
    hn_os_mutex_lock(&site->mutex);
    const int n = site->n_held;
    site->n_held = 0;
    hn_os_mutex_unlock(&site->mutex);
    for (int i = 0; i < n; i++)
        hn_http_end(site->held[i]);
}

void site_close(http_site *site)
{
    if (!site->heap)
        return;
    hn_os_mutex_lock(&site->mutex);
    site->is_ending = true;
    hn_os_condition_wake(&site->work);
    hn_os_mutex_unlock(&site->mutex);
    site_release(site);
    hn_os_thread_join(&site->thread);
    hn_http_close(site->http);
    hn_os_condition_close(&site->work);
    hn_os_mutex_close(&site->mutex);
    *site = (http_site){ 0 };
}
