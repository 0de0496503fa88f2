/* One connection: bytes come, are made a request of, and what is said to it is sent. One request is answered after
 * the other; what the client sends meanwhile waits, and no more of it is read than a head may have. */
#include "server/http_state.h"

#include "base/json.h"
#include "base/os/clock.h"

#include <errno.h>
#include <string.h>

enum { LINGER_MS = 1000, MOST_KEPT = 4096 };

/* ---- what is waited for ---- */

static void watch(hn_http_connection *c)
{
    const bool is_full = c->is_handed && c->held.n - c->held.sent >= c->http->limits.head_bytes;
    const bool read = !c->has_ended && !is_full && c->phase != HN_HTTP_LAST, write = c->waits_ns != 0;
    if (c->is_dead || (read == c->watches_read && write == c->watches_write))
        return;
    if (!hn_os_poller_change(&c->http->poller, c->socket, c, read, write)) {
        hn_http_connection_close(c);
        return;
    }
    c->watches_read = read;
    c->watches_write = write;
}

hn_http_connection *hn_http_connection_new(hn_http *http, hn_os_socket socket)
{
    hn_http_connection *c = hn_alloc(http->heap, HN_TAG_TEXT, sizeof *c);
    if (!c)
        return NULL;
    *c = (hn_http_connection){ .http = http, .socket = socket, .began_ns = http->now_ns, .watches_read = true };
    if (!hn_os_poller_add(&http->poller, socket, c, true, false)) {
        hn_free(http->heap, c);
        return NULL;
    }
    hn_http_parse_begin(&c->parse, http->heap, &http->limits);
    c->next = http->connections;
    if (c->next)
        c->next->before = c;
    http->connections = c;
    http->n_connections++;
    return c;
}

/* ---- ends ---- */

static void note(const hn_http *http, hn_http_done *done, const hn_http_request *r, int64_t began_ns)
{
    done->method = r->method;
    done->path = r->path;
    done->ns = hn_clock_ns() - began_ns;
    if (http->options.on_done)
        http->options.on_done(http->options.context, done);
}

void hn_http_call_over(hn_http_call *call)
{
    const hn_http_request *r = &call->parse.request;
    hn_http_done done = { .tag = call->tag[0] ? call->tag : NULL, .status = call->status, .is_gone = atomic_load(&call->is_gone),
                          .bytes = call->n_sent };
    if (hn_http_keeps_text(call)) {
        done.asked = (hn_span){ r->body, r->body_bytes };
        done.said = (hn_span){ call->kept.length ? call->kept.text : "", call->kept.length };
        done.lacks_texts = call->kept.status != HN_OK;
    }
    note(call->http, &done, r, call->began_ns);
    hn_http_call_free(call);
}

/* The call outlives its connection until its handler has ended it. */
static void part(hn_http_connection *c)
{
    hn_http_call *call = c->call;
    c->call = NULL;
    if (!call)
        return;
    call->connection = NULL;
    atomic_store(&call->is_gone, true);
    hn_os_mutex_lock(&c->http->mutex); /* what is said to nobody is not kept */
    call->trouble = call->trouble ? call->trouble : HN_HTTP_BROKEN;
    hn_os_mutex_unlock(&c->http->mutex);
    if (!c->is_handed)
        hn_http_call_free(call);
    else if (call->is_over)
        hn_http_call_over(call);
    c->is_handed = false;
}

void hn_http_connection_close(hn_http_connection *c)
{
    hn_http *http = c->http;
    if (c->is_dead)
        return;
    c->is_dead = true;
    part(c);
    hn_os_poller_remove(&http->poller, c->socket);
    if (c->waits_ns)
        hn_os_socket_reset(c->socket);
    else
        hn_os_socket_close(c->socket);
    hn_http_parse_free(&c->parse);
    hn_http_buffer_free(&c->held, http->heap);
    hn_http_buffer_free(&c->sending, http->heap);
    if (c->before)
        c->before->next = c->next;
    else
        http->connections = c->next;
    if (c->next)
        c->next->before = c->before;
    http->n_connections--;
    c->next = http->dead; /* events of this round may still name it */
    http->dead = c;
}

/* A client that is cut off while it sends may never read what it was told. */
static void linger(hn_http_connection *c)
{
    if (c->has_ended) {
        hn_http_connection_close(c);
        return;
    }
    hn_os_socket_end(c->socket);
    c->phase = HN_HTTP_LINGERING;
    c->began_ns = c->http->now_ns;
    watch(c);
}

/* ---- sending ---- */

static void begin_to_wait(hn_http_connection *c)
{
    if (!c->waits_ns) {
        c->waits_ns = c->http->now_ns;
        c->n_taken = 0;
    }
}

/* What was said goes to what is sent, and back comes the buffer that was. */
static hn_http_trouble fetch(hn_http_connection *c)
{
    hn_http_call *call = c->call;
    if (!call || !c->is_handed)
        return HN_HTTP_NO_TROUBLE;
    hn_os_mutex_lock(&c->http->mutex);
    const hn_http_buffer empty = c->sending;
    const hn_http_trouble trouble = call->trouble;
    if (!trouble) {
        c->sending = call->said;
        call->said = empty;
        c->sending.sent = 0;
    }
    hn_os_mutex_unlock(&c->http->mutex);
    return trouble;
}

/* False: the connection is closed. */
static bool send_some(hn_http_connection *c)
{
    hn_http_buffer *b = &c->sending;
    const ptrdiff_t n = hn_os_send(c->socket, b->bytes + b->sent, b->n - b->sent);
    if (n == HN_OS_LOST) {
        hn_http_connection_close(c);
        return false;
    }
    begin_to_wait(c);
    if (n == HN_OS_LATER)
        return true;
    b->sent += (size_t)n;
    c->n_taken += (uint64_t)n;
    if (c->call && c->is_handed) {
        c->call->n_sent += (uint64_t)n;
        atomic_fetch_sub(&c->call->n_waiting, (size_t)n);
    }
    return true;
}

static void say_refusal(int status, const char *reason, hn_str *out)
{
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "error");
    hn_json_begin_object(&w);
    hn_json_key(&w, "message");
    hn_json_add_string(&w, reason);
    hn_json_key(&w, "type");
    hn_json_add_string(&w, status < 500 ? "invalid_request_error" : "server_error");
    hn_json_end_object(&w);
    hn_json_end_object(&w);
}

/* An answer of the server's own, whole, of which nothing else has been sent; without memory it goes as far as it goes. */
static void answer(hn_http_connection *c, int status, const char *reason)
{
    enum { BODY = 1200, HEAD = 400 };
    const hn_http_request *r = c->call ? &c->call->parse.request : &c->parse.request;
    char room[BODY], text[HEAD + BODY];
    hn_str body = hn_str_within(room, sizeof room), all = hn_str_within(text, sizeof text);
    if (c->http->options.on_refusal)
        c->http->options.on_refusal(c->http->options.context, r, status, reason, &body);
    else
        say_refusal(status, reason, &body);
    hn_os_mutex_lock(&c->http->mutex);
    hn_str_print(&all, "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                       "Connection: close\r\n\r\n%s",
                 status, hn_http_status_words(status), hn_http_date(c->http), body.length, body.text);
    hn_os_mutex_unlock(&c->http->mutex);
    if (hn_http_buffer_room(&c->sending, c->http->heap, all.length))
        hn_http_buffer_add(&c->sending, all.text, all.length);
    else
        hn_os_send(c->socket, all.text, all.length);
}

/* Nothing more of this client is understood: what is wrong is said, and that was the last. */
void hn_http_connection_refuse(hn_http_connection *c, int status, const char *reason)
{
    const hn_http_parse *parse = c->call ? &c->call->parse : &c->parse;
    answer(c, status, reason);
    hn_http_done done = { .status = status, .bytes = c->sending.n };
    note(c->http, &done, &parse->request, c->began_ns);
    if (c->call)
        hn_http_call_free(c->call);
    c->call = NULL;
    c->phase = HN_HTTP_LAST;
    hn_http_connection_flush(c);
}

/* Of a reply that cannot be finished: 503 if nothing of it was sent, or an end that no client takes for one. */
static void give_up(hn_http_connection *c, hn_http_trouble trouble)
{
    if (trouble != HN_HTTP_NO_MEMORY || c->call->n_sent) {
        c->waits_ns = c->http->now_ns; /* closed with a reset */
        hn_http_connection_close(c);
        return;
    }
    c->sending.n = c->sending.sent = 0;
    answer(c, 503, "there is no memory for this reply");
    part(c);
    if (c->sending.n)
        hn_os_send(c->socket, c->sending.bytes, c->sending.n);
    c->sending.n = 0;
    linger(c);
}

static void take_held(hn_http_connection *c);

/* All of a call's reply is sent. */
static void finish(hn_http_connection *c)
{
    hn_http_call *call = c->call;
    const bool closes = call->closes || atomic_load(&c->http->is_draining);
    call->connection = NULL;
    c->call = NULL;
    c->is_handed = false;
    hn_http_call_over(call);
    if (c->sending.room > MOST_KEPT)
        hn_http_buffer_free(&c->sending, c->http->heap);
    if (closes) {
        linger(c);
        return;
    }
    c->began_ns = c->http->now_ns;
    c->had_request = true;
    hn_http_parse_begin(&c->parse, c->http->heap, &c->http->limits);
    take_held(c);
}

/* Sends what waits, until it is all gone or the client takes no more. */
void hn_http_connection_flush(hn_http_connection *c)
{
    while (!c->is_dead) {
        if (c->sending.sent == c->sending.n) {
            c->sending.sent = c->sending.n = 0;
            const hn_http_trouble trouble = fetch(c);
            if (trouble) {
                give_up(c, trouble);
                return;
            }
            if (!c->sending.n)
                break;
        }
        const size_t before = c->sending.sent;
        if (!send_some(c))
            return;
        if (c->sending.sent == before) {
            watch(c);
            return;
        }
    }
    if (c->is_dead)
        return;
    c->waits_ns = 0;
    if (c->phase == HN_HTTP_LAST)
        linger(c);
    else if (c->call && c->is_handed && c->call->is_over)
        finish(c);
    else
        watch(c);
}

/* ---- requests ---- */

/* The head is there. False: nothing more is taken of this connection for now. */
static bool make_call(hn_http_connection *c)
{
    hn_http *http = c->http;
    const bool has_body = c->parse.stage == HN_HTTP_BODY;
    hn_http_call *call = hn_http_call_new(http, &c->parse);
    if (!call) {
        hn_http_connection_refuse(c, 503, "there is no memory for the request");
        return false;
    }
    c->call = call;
    call->connection = c;
    call->began_ns = c->began_ns;
    call->closes = call->closes || has_body; /* if it is refused now, its body will never be read */
    c->is_handed = true;
    if (http->options.on_head && !http->options.on_head(http->options.context, call))
        return false;
    c->is_handed = false;
    call->closes = !call->parse.keeps_alive;
    if (!hn_http_parse_admit(&call->parse)) {
        hn_http_connection_refuse(c, call->parse.status, call->parse.reason);
        return false;
    }
    return true;
}

static bool go_on_with_body(hn_http_connection *c)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (!c->call->parse.wants_continue)
        return true;
    c->call->parse.wants_continue = false;
    if (!hn_http_buffer_room(&c->sending, c->http->heap, sizeof go_on)) {
        hn_http_connection_refuse(c, 503, "there is no memory for the request");
        return false;
    }
    hn_http_buffer_add(&c->sending, go_on, sizeof go_on - 1);
    hn_http_connection_flush(c);
    return !c->is_dead;
}

/* Of all that are held: what this one's body has grown by. */
static bool count_body(hn_http_connection *c)
{
    hn_http_call *call = c->call;
    c->http->bodies += (int64_t)(call->parse.body_room - call->body_counted);
    call->body_counted = call->parse.body_room;
    if (c->http->bodies <= c->http->options.bodies_bytes)
        return true;
    hn_http_connection_refuse(c, 503, "too many bytes of requests are held here already");
    return false;
}

static void hand_over(hn_http_connection *c)
{
    c->is_handed = true;
    if (c->has_ended)
        atomic_store(&c->call->is_gone, true);
    c->http->options.on_call(c->http->options.context, c->call);
}

/* After bytes were taken: whether more may be. */
static bool step(hn_http_connection *c)
{
    const hn_http_parse *parse = c->call ? &c->call->parse : &c->parse;
    if (parse->stage == HN_HTTP_REFUSED) {
        hn_http_connection_refuse(c, parse->status, parse->reason);
        return false;
    }
    if (parse->stage < HN_HTTP_BODY)
        return true;
    if (!c->call && !make_call(c))
        return false;
    parse = &c->call->parse;
    if (parse->body_room && !count_body(c))
        return false;
    if (parse->stage == HN_HTTP_BODY)
        return parse->request.body_bytes || go_on_with_body(c);
    hand_over(c);
    return false;
}

/* Bytes taken, until a request is handed over. */
static size_t take(hn_http_connection *c, const char *bytes, size_t n)
{
    size_t at = 0;
    while (at < n) {
        hn_http_parse *parse = c->call ? &c->call->parse : &c->parse;
        if (parse->stage == HN_HTTP_NOTHING)
            c->began_ns = c->http->now_ns;
        at += hn_http_parse_take(parse, bytes + at, n - at);
        if (!step(c))
            break;
    }
    return at;
}

static void take_held(hn_http_connection *c)
{
    hn_http_buffer *held = &c->held;
    const size_t n = take(c, held->bytes + held->sent, held->n - held->sent);
    if (c->is_dead)
        return;
    held->sent += n;
    if (held->sent == held->n)
        hn_http_buffer_free(held, c->http->heap);
    if (c->has_ended && !c->is_handed && c->phase == HN_HTTP_OPEN)
        hn_http_connection_close(c);
    else
        watch(c);
}

static void hold(hn_http_connection *c, const char *bytes, size_t n)
{
    hn_http_buffer *held = &c->held;
    if (c->is_dead || c->phase != HN_HTTP_OPEN || !n)
        return;
    if (held->sent) { /* what was taken goes */
        memmove(held->bytes, held->bytes + held->sent, held->n - held->sent);
        held->n -= held->sent;
        held->sent = 0;
    }
    if (!hn_http_buffer_room(held, c->http->heap, n)) {
        hn_http_connection_close(c);
        return;
    }
    hn_http_buffer_add(held, bytes, n);
}

/* The client has sent its last. One who waits for an answer may still read it, but most have left. */
static void end_reading(hn_http_connection *c)
{
    c->has_ended = true;
    if (c->call && c->is_handed)
        atomic_store(&c->call->is_gone, true);
    if (!c->is_handed && !c->waits_ns)
        hn_http_connection_close(c);
    else
        watch(c);
}

static void receive(hn_http_connection *c)
{
    char *scratch = c->http->scratch;
    const ptrdiff_t n = hn_os_receive(c->socket, scratch, HN_HTTP_SCRATCH);
    if (n == HN_OS_LATER)
        return;
    if (n == HN_OS_LOST || (n == 0 && c->phase == HN_HTTP_LINGERING)) {
        hn_http_connection_close(c);
        return;
    }
    if (n == 0) {
        end_reading(c);
        return;
    }
    if (c->phase != HN_HTTP_OPEN)
        return;
    const size_t taken = c->is_handed ? 0 : take(c, scratch, (size_t)n);
    if (!c->is_dead)
        hold(c, scratch + taken, (size_t)n - taken);
    watch(c);
}

void hn_http_connection_on(hn_http_connection *c, const hn_os_event *event)
{
    if (!c->is_dead && event->can_read)
        receive(c);
    if (!c->is_dead && event->is_lost)
        hn_http_connection_close(c);
    if (!c->is_dead && event->can_write)
        hn_http_connection_flush(c);
}

/* ---- time ---- */

/* Whether more time went by than there is, with a second more for each so many bytes. */
static bool is_late(const hn_http *http, int64_t since_ns, int64_t limit_ms, uint64_t bytes)
{
    const int64_t more_ms = (int64_t)(bytes / (uint64_t)http->options.bytes_per_second) * 1000;
    return (http->now_ns - since_ns) / 1000000 > limit_ms + more_ms;
}

static void look_at_request(hn_http_connection *c)
{
    const hn_http_options *o = &c->http->options;
    const bool is_nothing = !c->call && c->parse.stage == HN_HTTP_NOTHING;
    if (is_nothing && is_late(c->http, c->began_ns, c->had_request ? o->idle_ms : o->head_ms, 0))
        hn_http_connection_close(c);
    else if (!is_nothing && !c->call && is_late(c->http, c->began_ns, o->head_ms, 0))
        hn_http_connection_refuse(c, 408, "the request's head did not come in time");
    else if (c->call && is_late(c->http, c->began_ns, o->head_ms + o->body_ms, c->call->parse.request.body_bytes))
        hn_http_connection_refuse(c, 408, "the request's body did not come in time");
}

void hn_http_connection_look(hn_http_connection *c)
{
    const hn_http *http = c->http;
    if (c->waits_ns && is_late(http, c->waits_ns, http->options.write_ms, c->n_taken)) {
        hn_http_connection_close(c);
    } else if (c->phase == HN_HTTP_LINGERING) {
        if (is_late(http, c->began_ns, LINGER_MS, 0))
            hn_http_connection_close(c);
    } else if (c->phase == HN_HTTP_OPEN && !c->is_handed) {
        look_at_request(c);
    } else if (c->is_handed && hn_http_call_ping(c->call, http->now_ns)) {
        hn_http_connection_flush(c);
    }
}
