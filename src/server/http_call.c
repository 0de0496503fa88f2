/* What is said to a client, by whichever thread works for it.
 *
 *     a handler's thread                      the server's thread (http_connection.c)
 *     reply | begin, write ..., end           takes `said`, sends it, hears has_ended
 *        `--> said, under the mutex --news-->    `--> is_gone: the client is lost, or trouble; n_waiting goes down
 *
 * A call has two owners. Its handler may say something until it has ended the call (reply, end or break), once; the server's thread
 * frees it when it has heard of that. So after `leave` nothing of an ended call is looked at: `http` is read from it before, and the
 * bell is rung without it. `fields` is the handler's without a lock until the head is said; all else that both touch is under the
 * mutex or atomic.
 *
 * What is said is whole or is not: room comes first (hn_http_buffer_room), then all of its bytes. Where there is none, or more waits
 * than may, the call is in trouble: nothing more is said of it, for what follows would not fit what came before, and is_gone tells
 * the handler to stop. Its end is still to come from the handler, as it is where the client has left.
 *
 * A call is in the news once at a time (is_in_news), however much was said since, and the poller is rung once for all news: a
 * stream's tokens cost no system call each while the server's thread is busy. */
#include "server/http_state.h"

#include "base/os/clock.h"

#include <stdio.h>
#include <string.h>

static _Thread_local const hn_http *here; /* the server whose thread this is */

void hn_http_enter(const hn_http *http) { here = http; }

/* ---- buffers ---- */

bool hn_http_buffer_room(hn_http_buffer *b, hn_heap *heap, size_t n)
{
    if (n > SIZE_MAX / 4)
        return false;
    if (b->n + n <= b->room)
        return true;
    size_t room = b->room ? 2 * b->room : 256;
    if (room < b->n + n)
        room = b->n + n;
    char *grown = hn_realloc_array(heap, HN_TAG_TEXT, b->bytes, room, 1);
    if (!grown)
        return false;
    b->bytes = grown;
    b->room = room;
    return true;
}

void hn_http_buffer_add(hn_http_buffer *b, const void *bytes, size_t n)
{
    if (!n)
        return;
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
}

void hn_http_buffer_free(hn_http_buffer *b, hn_heap *heap)
{
    hn_free(heap, b->bytes);
    *b = (hn_http_buffer){ 0 };
}

/* ---- a call ---- */

hn_http_call *hn_http_call_new(hn_http *http, hn_http_parse *parse)
{
    hn_http_call *call = hn_alloc(http->heap, HN_TAG_TEXT, sizeof *call);
    if (!call)
        return NULL;
    call->http = http;
    call->parse = *parse;
    *parse = (hn_http_parse){ 0 };
    call->fields = hn_str_on(http->heap);
    call->kept = hn_str_on(http->heap);
    call->closes = !call->parse.keeps_alive;
    call->has_no_body = !strcmp(call->parse.request.method, "HEAD");
    atomic_fetch_add(&http->n_calls, 1);
    return call;
}

void hn_http_call_free(hn_http_call *call)
{
    hn_http *http = call->http;
    http->bodies -= (int64_t)call->body_counted;
    hn_http_parse_free(&call->parse);
    hn_str_free(&call->fields);
    hn_str_free(&call->kept);
    hn_http_buffer_free(&call->said, http->heap);
    hn_http_buffer_free(&call->ping, http->heap);
    hn_free(http->heap, call);
    atomic_fetch_sub(&http->n_calls, 1);
}

const hn_http_request *hn_http_request_of(const hn_http_call *call) { return &call->parse.request; }

const char *hn_http_field_of(const hn_http_call *call, const char *name)
{
    return hn_http_find_field(&call->parse.request, name);
}

bool hn_http_keeps_text(const hn_http_call *call)
{
    const char *type = hn_http_field_of(call, "content-type");
    return call->http->options.keeps_texts && call->parse.request.body_bytes && type && !strncmp(type, "application/json", 16);
}

bool hn_http_is_gone(const hn_http_call *call) { return atomic_load(&call->is_gone); }

void hn_http_set_body_limit(hn_http_call *call, int64_t bytes) { call->parse.limits.body_bytes = (size_t)bytes; }

void hn_http_set_tag(hn_http_call *call, const char *tag) { snprintf(call->tag, sizeof call->tag, "%s", tag); }

/* ---- the head of a reply ---- */

const char *hn_http_status_words(int status)
{
    static const struct {
        int status;
        const char *words;
    } all[] = {
        { 200, "OK" }, { 201, "Created" }, { 202, "Accepted" }, { 204, "No Content" }, { 206, "Partial Content" },
        { 301, "Moved Permanently" }, { 302, "Found" }, { 303, "See Other" }, { 304, "Not Modified" },
        { 307, "Temporary Redirect" }, { 308, "Permanent Redirect" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
        { 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" }, { 406, "Not Acceptable" },
        { 408, "Request Timeout" }, { 409, "Conflict" }, { 410, "Gone" }, { 411, "Length Required" },
        { 413, "Content Too Large" }, { 414, "URI Too Long" }, { 415, "Unsupported Media Type" },
        { 416, "Range Not Satisfiable" }, { 417, "Expectation Failed" }, { 421, "Misdirected Request" },
        { 422, "Unprocessable Content" }, { 429, "Too Many Requests" }, { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" }, { 501, "Not Implemented" }, { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" }, { 507, "Insufficient Storage" },
        { 529, "Overloaded" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].status == status)
            return all[i].words;
    return "Unknown";
}

const char *hn_http_date(hn_http *http)
{
    static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    const int64_t second = hn_clock_wall_ns() / 1000000000;
    struct tm t;
    if (second != http->date_second && hn_clock_utc(second, &t)) {
        snprintf(http->date, sizeof http->date, "%s, %02u %s %04u %02u:%02u:%02u GMT", days[t.tm_wday % 7],
                 (unsigned)t.tm_mday % 100, months[t.tm_mon % 12], (unsigned)(t.tm_year + 1900) % 10000,
                 (unsigned)t.tm_hour % 100, (unsigned)t.tm_min % 100, (unsigned)t.tm_sec % 100);
        http->date_second = second;
    }
    return http->date;
}

static bool is_plain(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (!hn_http_is_value_char(*c))
            return false;
    return true;
}

void hn_http_add_field(hn_http_call *call, const char *name, const char *value)
{
    if (*name && is_plain(name) && is_plain(value))
        hn_str_print(&call->fields, "%s: %s\r\n", name, value);
}

/* A reply whose length is not told ends with its last chunk, to HTTP/1.0 with the connection. */
static const char *framing(hn_http_call *call, bool is_stream, size_t bytes, char *text, size_t room)
{
    const bool is_bare = call->status < 200 || call->status == 204 || call->status == 304;
    text[0] = 0;
    if (is_bare) {
        call->has_no_body = true;
    } else if (!is_stream) {
        snprintf(text, room, "Content-Length: %zu\r\n", bytes);
    } else if (call->parse.is_1_1) {
        call->is_chunked = true;
        snprintf(text, room, "Transfer-Encoding: chunked\r\n");
    } else {
        call->closes = true;
    }
    return text;
}

/* Under the mutex; false: no memory. Nothing is asked of the heap but room in what is said. */
static bool say_head(hn_http_call *call, int status, const char *type, bool is_stream, size_t bytes)
{
    char length[64], room[HN_HTTP_ROOM_HEAD], more[HN_HTTP_ROOM_HEAD];
    hn_str head = hn_str_within(room, sizeof room), tail = hn_str_within(more, sizeof more);
    call->has_begun = true;
    call->status = status;
    call->closes = call->closes || atomic_load(&call->http->is_draining);
    framing(call, is_stream, bytes, length, sizeof length);
    hn_str_print(&head, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, hn_http_status_words(status), hn_http_date(call->http));
    if (type && is_plain(type) && !(call->has_no_body && !length[0]))
        hn_str_print(&tail, "Content-Type: %s\r\n", type);
    hn_str_add(&tail, length);
    hn_str_add(&tail, call->closes ? "Connection: close\r\n\r\n" : call->parse.is_1_1 ? "\r\n" : "Connection: keep-alive\r\n\r\n");
    const size_t all = head.length + call->fields.length + tail.length;
    if (head.status != HN_OK || tail.status != HN_OK || call->fields.status != HN_OK ||
        !hn_http_buffer_room(&call->said, call->http->heap, all))
        return false;
    hn_http_buffer_add(&call->said, head.text, head.length);
    hn_http_buffer_add(&call->said, call->fields.text, call->fields.length);
    hn_http_buffer_add(&call->said, tail.text, tail.length);
    atomic_fetch_add(&call->n_waiting, all);
    return true;
}

bool hn_http_reserve(hn_http_call *call, size_t bytes)
{
    hn_os_mutex_lock(&call->http->mutex);
    const bool is_there = call->fields.status == HN_OK && bytes < SIZE_MAX / 8 &&
                          hn_http_buffer_room(&call->said, call->http->heap, bytes + call->fields.length + 2 * HN_HTTP_ROOM_HEAD);
    hn_os_mutex_unlock(&call->http->mutex);
    return is_there;
}

/* ---- its body ---- */

/* Under the mutex; a chunk of its own where there are such. False: no memory. */
static bool say(hn_http_call *call, const char *bytes, size_t n)
{
    char size[24] = "";
    if (call->has_no_body || !n)
        return true;
    if (call->is_chunked)
        snprintf(size, sizeof size, "%zx\r\n", n);
    const size_t before = strlen(size), all = before + n + (call->is_chunked ? 2 : 0);
    if (!hn_http_buffer_room(&call->said, call->http->heap, all))
        return false;
    hn_http_buffer_add(&call->said, size, before);
    hn_http_buffer_add(&call->said, bytes, n);
    if (call->is_chunked)
        hn_http_buffer_add(&call->said, "\r\n", 2);
    atomic_fetch_add(&call->n_waiting, all);
    return true;
}

/* Under the mutex. What lacks memory here is missing in the log alone. */
static void keep(hn_http_call *call, const char *bytes, size_t n)
{
    if (hn_http_keeps_text(call))
        hn_str_add_bytes(&call->kept, bytes, n);
}

/* Under the mutex; whether the server's thread has to be woken. */
static bool tell(hn_http_call *call)
{
    hn_http *http = call->http;
    call->said_ns = hn_clock_ns();
    if (call->is_in_news)
        return false;
    call->is_in_news = true;
    call->next = NULL;
    *http->news_end = call;
    http->news_end = &call->next;
    return http != here && !atomic_exchange(&http->is_rung, true);
}

/* Under the mutex: after a failure nothing more is said, for what follows would not fit what came before. */
static void judge(hn_http_call *call, bool has_memory)
{
    if (call->trouble)
        return;
    if (!has_memory)
        call->trouble = HN_HTTP_NO_MEMORY;
    else if (atomic_load(&call->n_waiting) > (size_t)call->http->options.waiting_bytes && !call->has_ended)
        call->trouble = HN_HTTP_OVERRUN;
    if (call->trouble)
        atomic_store(&call->is_gone, true);
}

/* Lets the mutex go. The call may be freed by then if it has ended. */
static void leave(hn_http *http, bool has_to_ring)
{
    hn_os_mutex_unlock(&http->mutex);
    if (has_to_ring)
        hn_os_poller_ring(&http->poller);
}

void hn_http_reply(hn_http_call *call, int status, const char *type, const char *body, size_t bytes)
{
    hn_http *http = call->http;
    hn_os_mutex_lock(&http->mutex);
    call->has_ended = true;
    keep(call, body, bytes);
    judge(call, say_head(call, status, type, false, bytes) && say(call, body, bytes));
    leave(http, tell(call));
}

void hn_http_begin(hn_http_call *call, int status, const char *type)
{
    hn_http *http = call->http;
    hn_os_mutex_lock(&http->mutex);
    judge(call, say_head(call, status, type, true, 0));
    leave(http, tell(call));
}

void hn_http_write(hn_http_call *call, const char *bytes, size_t n)
{
    hn_http *http = call->http;
    hn_os_mutex_lock(&http->mutex);
    if (!call->trouble && call->has_begun && n) {
        keep(call, bytes, n);
        judge(call, say(call, bytes, n));
    }
    leave(http, tell(call));
}

void hn_http_end(hn_http_call *call)
{
    static const char nothing[] = "{\"error\":{\"message\":\"there is no reply to this request\",\"type\":\"server_error\"}}";
    hn_http *http = call->http;
    if (!call->has_begun) {
        hn_http_reply(call, 500, "application/json", nothing, sizeof nothing - 1);
        return;
    }
    hn_os_mutex_lock(&http->mutex);
    const bool has_room = !call->is_chunked || call->has_no_body || hn_http_buffer_room(&call->said, http->heap, 5);
    if (!call->trouble && has_room && call->is_chunked && !call->has_no_body) {
        hn_http_buffer_add(&call->said, "0\r\n\r\n", 5);
        atomic_fetch_add(&call->n_waiting, 5);
    }
    call->has_ended = true;
    judge(call, has_room);
    leave(http, tell(call));
}

void hn_http_break(hn_http_call *call)
{
    hn_http *http = call->http;
    hn_os_mutex_lock(&http->mutex);
    call->has_ended = true;
    call->trouble = call->trouble ? call->trouble : HN_HTTP_BROKEN;
    atomic_store(&call->is_gone, true);
    leave(http, tell(call));
}

/* ---- pings ---- */

void hn_http_ping_with(hn_http_call *call, const char *bytes, size_t n, int every_seconds)
{
    hn_http *http = call->http;
    hn_os_mutex_lock(&http->mutex);
    call->ping.n = 0;
    call->ping_ns = 0;
    if (n && every_seconds > 0 && hn_http_buffer_room(&call->ping, http->heap, n)) {
        hn_http_buffer_add(&call->ping, bytes, n);
        call->ping_ns = (int64_t)every_seconds * 1000000000;
    }
    hn_os_mutex_unlock(&http->mutex);
}

bool hn_http_call_ping(hn_http_call *call, int64_t now_ns)
{
    hn_os_mutex_lock(&call->http->mutex);
    const bool is_due = call->ping_ns && now_ns - call->said_ns >= call->ping_ns && call->has_begun &&
                        !call->has_ended && !call->trouble && !atomic_load(&call->n_waiting);
    const bool is_said = is_due && say(call, call->ping.bytes, call->ping.n); /* no memory: another time */
    if (is_said)
        call->said_ns = now_ns;
    hn_os_mutex_unlock(&call->http->mutex);
    return is_said;
}
