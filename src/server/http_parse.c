/* Bytes are looked at once. A head is kept until its empty line has come, with every line's end looked at on the
 * way: a CR or an LF by itself, which some readers take for a line's end and others do not, is refused where it
 * stands. A body goes to where it stays. */
#include "server/http_parse.h"

#include "base/ascii.h"

#include <string.h>

enum {
    MOST_EXTENSION = 256,     /* bytes of one chunk's line, and */
    MOST_OVERHEAD = 65536,    /* of all chunks' extensions */
    MOST_SIZE_DIGITS = 15,
    FIRST_HEAD = 1024,
    FIRST_BODY = 4096
};

enum {
    CHUNK_SIZE,
    EXTENSION_NAME, /* ;name, ;name=value and ;name="value", without blanks */
    EXTENSION_VALUE,
    EXTENSION_QUOTED,
    EXTENSION_ESCAPED,
    EXTENSION_DONE,
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    CHUNK_CR,
    CHUNK_LF,
    TRAILER,
    TRAILER_LF
};

void hn_http_parse_begin(hn_http_parse *p, hn_heap *heap, const hn_http_parse_limits *limits)
{
    *p = (hn_http_parse){ .heap = heap, .limits = *limits };
    p->request = (hn_http_request){ .method = "-", .path = "-", .query = "", .body = "" };
}

void hn_http_parse_free(hn_http_parse *p)
{
    if (!p->heap)
        return;
    hn_free(p->heap, p->head);
    hn_free(p->heap, p->fields);
    hn_free(p->heap, p->body);
    *p = (hn_http_parse){ 0 };
}

/* ---- the head ---- */

static bool head_room(hn_http_parse *p, size_t n)
{
    if (p->head_bytes + n < p->head_room)
        return true;
    size_t room = p->head_room ? 2 * p->head_room : FIRST_HEAD;
    while (room <= p->head_bytes + n)
        room *= 2;
    char *grown = hn_realloc_array(p->heap, HN_TAG_TEXT, p->head, room, 1);
    if (!grown)
        return hn_http_parse_refuse(p, 503, "there is no memory for the request");
    p->head = grown;
    p->head_room = room;
    return true;
}

/* Whether the head ends with the byte at n_seen; refuses what cannot be one. */
static bool see(hn_http_parse *p)
{
    const char c = p->head[p->n_seen++];
    const size_t n = p->n_seen;
    if (p->after_cr != (c == '\n'))
        return hn_http_parse_refuse(p, 400, "a CR and an LF do not stand beside each other");
    p->after_cr = c == '\r';
    return c == '\n' && n >= 4 && p->head[n - 3] == '\n';
}

static bool is_first_line(const hn_http_parse *p) { return !memchr(p->head, '\n', p->n_seen); }

/* As far as can be told before it ends. */
static void head_is_too_long(hn_http_parse *p)
{
    if (is_first_line(p))
        hn_http_parse_refuse(p, 414, "the first line is longer than is taken here");
    else
        hn_http_parse_refuse(p, 431, "the head is larger than is taken here");
}

/* One empty line before a request is nothing: some clients end a body with it. */
static void skip_empty_line(hn_http_parse *p)
{
    if (p->n_seen != 2 || p->head[0] != '\r' || p->head[1] != '\n')
        return;
    if (p->overhead_bytes) {
        hn_http_parse_refuse(p, 400, "more than one empty line stands before the request");
    } else {
        p->head_bytes -= 2;
        memmove(p->head, p->head + 2, p->head_bytes);
        p->n_seen = 0;
        p->overhead_bytes = 2;
    }
}

static void begin_body(hn_http_parse *p)
{
    p->overhead_bytes = 0;
    p->stage = HN_HTTP_WHOLE;
    if (!p->is_chunked && !p->left)
        return;
    p->stage = HN_HTTP_BODY;
    p->chunk_state = CHUNK_SIZE;
}

static size_t take_head(hn_http_parse *p, const char *bytes, size_t n)
{
    const size_t most = p->limits.head_bytes;
    size_t taken = n;
    if (taken > most - p->head_bytes)
        taken = most - p->head_bytes;
    if (!head_room(p, taken))
        return 0;
    memcpy(p->head + p->head_bytes, bytes, taken);
    const size_t before = p->head_bytes;
    p->head_bytes += taken;
    size_t dropped = 0;
    while (p->n_seen < p->head_bytes && p->stage == HN_HTTP_HEAD) {
        if (see(p)) {
            taken = p->n_seen + dropped - before;
            p->head_bytes = p->n_seen;
            p->head[p->head_bytes] = 0;
            if (hn_http_parse_head(p))
                begin_body(p);
            return taken;
        }
        const size_t had = p->head_bytes;
        if (p->stage == HN_HTTP_HEAD)
            skip_empty_line(p);
        dropped += had - p->head_bytes;
    }
    if (p->stage == HN_HTTP_HEAD && p->head_bytes >= p->limits.head_bytes)
        head_is_too_long(p);
    return taken;
}

/* ---- the body ---- */

static bool body_room(hn_http_parse *p, size_t n)
{
    const size_t wanted = p->request.body_bytes + n + 1;
    if (wanted <= p->body_room)
        return true;
    size_t room = p->body_room ? 2 * p->body_room : FIRST_BODY;
    room = room < wanted ? wanted : room;
    if (!p->is_chunked && room > p->request.body_bytes + p->left + 1)
        room = p->request.body_bytes + p->left + 1;
    char *grown = hn_realloc_array(p->heap, HN_TAG_TEXT, p->body, room, 1);
    if (!grown)
        return hn_http_parse_refuse(p, 503, "there is no memory for the body");
    p->body = grown;
    p->body_room = room;
    p->request.body = grown;
    return true;
}

static size_t take_data(hn_http_parse *p, const char *bytes, size_t n)
{
    const size_t taken = n < p->left ? n : p->left;
    if (!body_room(p, taken))
        return 0;
    memcpy(p->body + p->request.body_bytes, bytes, taken);
    p->request.body_bytes += taken;
    p->body[p->request.body_bytes] = 0;
    p->left -= taken;
    return taken;
}

static bool is_too_large(hn_http_parse *p, size_t more)
{
    if (more <= p->limits.body_bytes && p->request.body_bytes <= p->limits.body_bytes - more)
        return false;
    hn_http_parse_refuse(p, 413, "the body is larger than is taken here");
    return true;
}

/* ---- chunks ---- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void take_size(hn_http_parse *p, char c)
{
    const int digit = digit_of(c);
    if (digit >= 0) {
        p->left = 16 * p->left + (size_t)digit;
        if (++p->n_digits > MOST_SIZE_DIGITS)
            hn_http_parse_refuse(p, 400, "a chunk's size has too many digits");
        return;
    }
    p->line_bytes = p->word_bytes = 0;
    if (!p->n_digits || (c != '\r' && c != ';'))
        hn_http_parse_refuse(p, 400, "a chunk does not begin with its size");
    p->chunk_state = c == ';' ? EXTENSION_NAME : CHUNK_SIZE_LF;
}

/* Between quotes; -1: c may not stand there. */
static int quoted(int state, char c)
{
    if (!hn_http_is_value_char((unsigned char)c))
        return -1;
    if (state == EXTENSION_ESCAPED)
        return EXTENSION_QUOTED;
    return c == '"' ? EXTENSION_DONE : c == '\\' ? EXTENSION_ESCAPED : EXTENSION_QUOTED;
}

/* `word`: bytes of the name or value before c. */
static int after_word(int state, char c, size_t word)
{
    if (state == EXTENSION_VALUE && c == '"' && !word)
        return EXTENSION_QUOTED;
    if (state != EXTENSION_DONE && hn_http_is_token_char((unsigned char)c))
        return state;
    if (state != EXTENSION_DONE && !word)
        return -1;
    if (c == '=' && state == EXTENSION_NAME)
        return EXTENSION_VALUE;
    return c == ';' ? EXTENSION_NAME : c == '\r' ? CHUNK_SIZE_LF : -1;
}

/* What an extension says is not looked at, but that it is one. */
static void take_extension(hn_http_parse *p, char c)
{
    const int state = p->chunk_state;
    const bool is_quoted = state == EXTENSION_QUOTED || state == EXTENSION_ESCAPED;
    const int next = is_quoted ? quoted(state, c) : after_word(state, c, p->word_bytes);
    p->word_bytes = next == state ? p->word_bytes + 1 : 0;
    if (next < 0)
        hn_http_parse_refuse(p, 400, "behind a chunk's size stands no extension");
    else if (next != CHUNK_SIZE_LF && (++p->line_bytes > MOST_EXTENSION || ++p->overhead_bytes > MOST_OVERHEAD))
        hn_http_parse_refuse(p, 400, "the chunks' extensions are longer than is taken here");
    else
        p->chunk_state = next;
}

static void end_size(hn_http_parse *p, char c)
{
    if (c != '\n') {
        hn_http_parse_refuse(p, 400, "a chunk's size does not end in CR LF");
        return;
    }
    if (is_too_large(p, p->left))
        return;
    p->chunk_state = p->left ? CHUNK_DATA : TRAILER;
    p->line_bytes = 0;
}

static void end_data(hn_http_parse *p, char c)
{
    if (c != (p->chunk_state == CHUNK_CR ? '\r' : '\n')) {
        hn_http_parse_refuse(p, 400, "a chunk is longer than its size");
        return;
    }
    p->n_digits = 0;
    p->chunk_state = p->chunk_state == CHUNK_CR ? CHUNK_LF : CHUNK_SIZE;
}

/* Behind the last chunk nothing is said of how long a request is, or whose. */
static bool is_of_the_head(const char *name)
{
    return !strcmp(name, "content-length") || !strcmp(name, "transfer-encoding") || !strcmp(name, "host");
}

static void take_trailer_name(hn_http_parse *p, char c)
{
    if (c == ':' && p->line_bytes) {
        p->in_value = true;
        p->trailer_name[p->line_bytes < sizeof p->trailer_name ? p->line_bytes : 0] = 0;
        if (is_of_the_head(p->trailer_name))
            hn_http_parse_refuse(p, 400, "a field stands behind the body that belongs before it");
    } else if (!hn_http_is_token_char((unsigned char)c)) {
        hn_http_parse_refuse(p, 400, "behind the body stands no field");
    } else if (p->line_bytes < sizeof p->trailer_name) {
        p->trailer_name[p->line_bytes] = hn_ascii_lower(c);
    }
    p->line_bytes++;
}

/* Fields behind the last chunk, which have to be such, and are not kept: nobody may add what was not there when the
 * request was looked at. */
static void take_trailer(hn_http_parse *p, char c)
{
    if (++p->trailer_bytes > p->limits.head_bytes)
        hn_http_parse_refuse(p, 431, "the fields behind the body are larger than is taken here");
    else if (c == '\r' && (p->in_value || !p->line_bytes))
        p->chunk_state = TRAILER_LF;
    else if (!p->in_value)
        take_trailer_name(p, c);
    else if (!hn_http_is_value_char((unsigned char)c))
        hn_http_parse_refuse(p, 400, "a field behind the body has a control character");
}

static void end_trailer(hn_http_parse *p, char c)
{
    if (c != '\n') {
        hn_http_parse_refuse(p, 400, "a field behind the body does not end in CR LF");
        return;
    }
    if (!p->line_bytes)
        p->stage = HN_HTTP_WHOLE;
    p->line_bytes = 0;
    p->in_value = false;
    p->chunk_state = TRAILER;
}

static void take_chunk_byte(hn_http_parse *p, char c)
{
    switch (p->chunk_state) {
    case CHUNK_SIZE: take_size(p, c); break;
    case EXTENSION_NAME:
    case EXTENSION_VALUE:
    case EXTENSION_QUOTED:
    case EXTENSION_ESCAPED:
    case EXTENSION_DONE: take_extension(p, c); break;
    case CHUNK_SIZE_LF: end_size(p, c); break;
    case CHUNK_CR:
    case CHUNK_LF: end_data(p, c); break;
    case TRAILER: take_trailer(p, c); break;
    default: end_trailer(p, c);
    }
}

static size_t take_chunks(hn_http_parse *p, const char *bytes, size_t n)
{
    size_t at = 0;
    while (at < n && p->stage == HN_HTTP_BODY) {
        if (p->chunk_state != CHUNK_DATA) {
            take_chunk_byte(p, bytes[at++]);
            continue;
        }
        at += take_data(p, bytes + at, n - at);
        if (!p->left)
            p->chunk_state = CHUNK_CR;
    }
    return at;
}

bool hn_http_parse_admit(hn_http_parse *p) { return p->is_chunked || !is_too_large(p, p->left); }

size_t hn_http_parse_take(hn_http_parse *p, const char *bytes, size_t n)
{
    if (!n || p->stage == HN_HTTP_WHOLE || p->stage == HN_HTTP_REFUSED)
        return 0;
    if (p->stage == HN_HTTP_NOTHING)
        p->stage = HN_HTTP_HEAD;
    if (p->stage == HN_HTTP_HEAD)
        return take_head(p, bytes, n);
    if (p->is_chunked)
        return take_chunks(p, bytes, n);
    if (!hn_http_parse_admit(p))
        return 0;
    const size_t taken = take_data(p, bytes, n);
    if (!p->left && p->stage == HN_HTTP_BODY)
        p->stage = HN_HTTP_WHOLE;
    return taken;
}
