/* The server's thread: it waits for sockets and for news, and looks at the limits of time now and then. */
#include "server/http.h"

#include "base/os/clock.h"
#include "server/http_state.h"

#include <errno.h>
#include <string.h>

enum {
    EVENTS = 64,
    MOST_LOOK_MS = 250, /* how late a limit of time may be seen, or an eighth of the shortest */
    LEAST_LOOK_MS = 5,
    HELD_UP_MS = 250, /* so much later than it was to wake, it was not let run */
    ACCEPT_AGAIN_MS = 100
};

/* Of any limit: what times and sums can be computed with. */
#define MOST_LIMIT (INT64_C(1) << 40)

static const char too_many[] = "too many connections are open here already";

/* ---- connections ---- */

static void pause_accepting(hn_http *http)
{
    hn_os_poller_change(&http->poller, http->listening, http, false, false);
    http->accept_ns = http->now_ns + (int64_t)ACCEPT_AGAIN_MS * 1000000;
}

/* One beyond the limit is told so, as long as there are not too many of those. */
static void admit(hn_http *http, hn_os_socket socket)
{
    const int64_t most = http->options.connections;
    hn_http_connection *c = http->n_connections < most + HN_HTTP_SURPLUS ? hn_http_connection_new(http, socket) : NULL;
    if (!c) {
        hn_os_send(socket, HN_HTTP_NO_ROOM, sizeof HN_HTTP_NO_ROOM - 1);
        hn_os_socket_close(socket);
    } else if (http->n_connections > most) {
        hn_http_connection_refuse(c, 503, too_many);
    }
}

static void accept_all(hn_http *http)
{
    for (int i = 0; i < EVENTS; i++) {
        const hn_os_socket socket = hn_os_accept(http->listening);
        if (socket == HN_OS_NO_SOCKET && errno == EMFILE)
            pause_accepting(http); /* who waits is still there when another has left */
        if (socket == HN_OS_NO_SOCKET)
            return;
        admit(http, socket);
    }
}

static void bury(hn_http *http)
{
    while (http->dead) {
        hn_http_connection *c = http->dead;
        http->dead = c->next;
        hn_free(http->heap, c);
    }
}

/* ---- news ---- */

static hn_http_call *next_news(hn_http *http, bool *is_over)
{
    hn_os_mutex_lock(&http->mutex);
    hn_http_call *call = http->news;
    if (call) {
        http->news = call->next;
        if (!http->news)
            http->news_end = &http->news;
        call->is_in_news = false;
        *is_over = call->has_ended;
    }
    hn_os_mutex_unlock(&http->mutex);
    return call;
}

static void take_news(hn_http *http)
{
    bool is_over = false;
    atomic_store(&http->is_rung, false);
    for (hn_http_call *call; (call = next_news(http, &is_over)) != NULL;) {
        call->is_over = is_over;
        if (call->connection)
            hn_http_connection_flush(call->connection);
        else if (is_over)
            hn_http_call_over(call);
    }
}

/* ---- time ---- */

static void look(hn_http *http)
{
    for (hn_http_connection *c = http->connections, *next; c; c = next) {
        next = c->next;
        hn_http_connection_look(c);
    }
    if (http->accept_ns && http->now_ns >= http->accept_ns && http->listening != HN_OS_NO_SOCKET) {
        http->accept_ns = 0;
        hn_os_poller_change(&http->poller, http->listening, http, true, false);
    }
    http->next_look_ns = http->now_ns + http->look_ns;
}

static int time_to_wait(const hn_http *http)
{
    if (!http->connections && !http->accept_ns)
        return -1;
    const int64_t left = (http->next_look_ns - hn_clock_ns() + 999999) / 1000000;
    return left < 0 ? 0 : (int)left;
}

/* While this process was stopped, or had no processor, nobody could be heard: that time is no client's. */
static void forgive(hn_http *http, int64_t late_ns)
{
    for (hn_http_connection *c = http->connections; c; c = c->next) {
        c->began_ns += late_ns;
        c->waits_ns += c->waits_ns ? late_ns : 0;
    }
}

/* Waits, then tells the time; how many events there are. */
static int wait_for_events(hn_http *http, hn_os_event events[EVENTS])
{
    const int asked_ms = time_to_wait(http);
    const int n = hn_os_poller_wait(&http->poller, events, EVENTS, asked_ms);
    const int64_t now = hn_clock_ns(), late_ns = now - http->now_ns - (int64_t)asked_ms * 1000000;
    if (asked_ms >= 0 && late_ns > (int64_t)HELD_UP_MS * 1000000)
        forgive(http, late_ns);
    http->now_ns = now;
    return n;
}

/* Who asks nothing is left, who is in the middle of asking is told, who waits for a reply gets it. */
static void drain(hn_http *http)
{
    http->has_drained = true;
    hn_os_poller_remove(&http->poller, http->listening);
    hn_os_socket_close(http->listening);
    http->listening = HN_OS_NO_SOCKET;
    for (hn_http_connection *c = http->connections, *next; c; c = next) {
        next = c->next;
        if (c->is_handed || c->phase != HN_HTTP_OPEN)
            continue;
        if (!c->call && c->parse.stage == HN_HTTP_NOTHING)
            hn_http_connection_close(c);
        else
            hn_http_connection_refuse(c, 503, "the server is coming to its end");
    }
}

static void serve(void *context)
{
    hn_http *http = context;
    hn_os_event events[EVENTS];
    hn_http_enter(http);
    while (!atomic_load(&http->is_stopping)) {
        const int n = wait_for_events(http, events);
        for (int i = 0; i < n; i++) {
            if (events[i].context == http)
                accept_all(http);
            else
                hn_http_connection_on(events[i].context, &events[i]);
        }
        take_news(http);
        if (atomic_load(&http->is_draining) && !http->has_drained)
            drain(http);
        if (http->now_ns >= http->next_look_ns)
            look(http);
        bury(http);
    }
}

/* ---- opening ---- */

static hn_status resolve(hn_http_options *o)
{
#define HN_HTTP_LIMIT(field, otherwise, name, what)                                                                    \
    HN_REQUIRE(o->field >= 0 && o->field <= MOST_LIMIT, HN_ERR_ARGUMENT, name ": expected 1 to %lld, found %lld",      \
               (long long)MOST_LIMIT, (long long)o->field);                                                            \
    o->field = o->field ? o->field : otherwise;
    HN_HTTP_LIMITS(HN_HTTP_LIMIT)
#undef HN_HTTP_LIMIT
    o->host = o->host ? o->host : "127.0.0.1";
    HN_REQUIRE(hn_os_is_address(o->host), HN_ERR_ARGUMENT, "host: expected an address in numbers or localhost, found %s",
               o->host);
    HN_REQUIRE(o->port >= 0 && o->port < 65536, HN_ERR_ARGUMENT, "port: expected 0 to 65535, found %d", o->port);
    return HN_OK;
}

static int64_t look_every(const hn_http_options *o)
{
    int64_t least = o->head_ms < o->body_ms ? o->head_ms : o->body_ms;
    least = least < o->idle_ms ? least : o->idle_ms;
    least = (least < o->write_ms ? least : o->write_ms) / 8;
    least = least < LEAST_LOOK_MS ? LEAST_LOOK_MS : least > MOST_LOOK_MS ? MOST_LOOK_MS : least;
    return least * 1000000;
}

static hn_status fill(hn_http *http, const hn_http_options *options)
{
    hn_http_options *o = &http->options;
    *o = *options;
    HN_TRY(resolve(o));
    http->limits = (hn_http_parse_limits){ .head_bytes = (size_t)o->head_bytes, .target_bytes = (size_t)o->target_bytes,
                                           .fields = (size_t)o->fields, .body_bytes = (size_t)o->body_bytes };
    http->look_ns = look_every(o);
    http->now_ns = hn_clock_ns();
    http->scratch = hn_alloc(http->heap, HN_TAG_TEXT, HN_HTTP_SCRATCH);
    return http->scratch ? HN_OK : HN_ERR_MEMORY;
}

static hn_status begin(hn_http *http, const hn_http_options *options)
{
    HN_TRY(fill(http, options));
    const hn_http_options *o = &http->options;
    HN_REQUIRE(hn_os_sockets_begin(), HN_ERR_IO, "there are no sockets here");
    http->listening = hn_os_listen(o->host, o->port, &http->port);
    HN_REQUIRE(http->listening != HN_OS_NO_SOCKET, HN_ERR_IO, "%s port %d cannot be listened on: %s", o->host, o->port,
               strerror(errno));
    HN_REQUIRE(hn_os_poller_open(&http->poller, http->heap) &&
                   hn_os_poller_add(&http->poller, http->listening, http, true, false),
               HN_ERR_IO, "%s port %d: sockets cannot be waited for: %s", o->host, http->port, strerror(errno));
    const int failure = hn_os_thread_start(&http->thread, serve, http);
    HN_REQUIRE(!failure, HN_ERR_IO, "%s port %d: no thread for the server: %s", o->host, http->port, strerror(failure));
    return HN_OK;
}

static void release(hn_http *http)
{
    hn_os_socket_close(http->listening);
    hn_os_poller_close(&http->poller);
    hn_os_mutex_close(&http->mutex);
    hn_free(http->heap, http->scratch);
    hn_free(http->heap, http);
}

hn_status hn_http_open(hn_http **out, const hn_http_options *options)
{
    *out = NULL;
    HN_REQUIRE(options && options->heap && options->on_call, HN_ERR_ARGUMENT, "a server needs a heap and a handler");
    hn_http *http = hn_alloc(options->heap, HN_TAG_TEXT, sizeof *http);
    if (!http)
        return HN_ERR_MEMORY;
    http->heap = options->heap;
    http->listening = HN_OS_NO_SOCKET;
    http->news_end = &http->news;
    hn_os_mutex_open(&http->mutex);
    const hn_status status = begin(http, options);
    if (status != HN_OK) {
        release(http);
        return status;
    }
    *out = http;
    return HN_OK;
}

int hn_http_port(const hn_http *http) { return http->port; }

void hn_http_drain(hn_http *http)
{
    atomic_store(&http->is_draining, true);
    hn_os_poller_ring(&http->poller);
}

bool hn_http_is_idle(const hn_http *http) { return atomic_load(&http->n_calls) == 0; }

void hn_http_close(hn_http *http)
{
    if (!http)
        return;
    atomic_store(&http->is_stopping, true);
    hn_os_poller_ring(&http->poller);
    hn_os_thread_join(&http->thread);
    hn_http_enter(http); /* what the thread did is done here now, and rings nobody */
    take_news(http);
    while (http->connections)
        hn_http_connection_close(http->connections);
    take_news(http);
    bury(http);
    hn_http_enter(NULL);
    release(http);
}
