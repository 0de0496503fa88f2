/* The index is made in one pass that also takes the digest, a stretch at a time, so that a file
 * larger than memory is read from the disk once. The scanner of arrays knows strings and depth
 * and nothing else: what lies between is checked when it is parsed. */
#include "data/source.h"

#include "base/sha256.h"
#include "base/utf8.h"

#include <string.h>

enum { STRETCH = 1 << 20 };

typedef struct scanner {
    hn_data_source *to;
    size_t at;         /* next byte */
    size_t begin, end; /* of the example that is open; begin == SIZE_MAX: none */
    int depth;         /* of arrays: brackets open */
    bool in_string, is_escaped, is_closed;
    size_t line_begin; /* of paragraphs */
    bool is_blank;
} scanner;

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static hn_status add(scanner *s, size_t begin, size_t end)
{
    hn_data_source *to = s->to;
    HN_REQUIRE(end - begin <= INT32_MAX, HN_ERR_UNSUPPORTED,
               "%s: byte %zu: an example of %zu bytes: expected at most 2 GiB", to->path, begin,
               end - begin);
    if (to->n == to->room) {
        const size_t room = to->room ? 2 * to->room : 64;
        uint64_t *b = hn_realloc_array(to->heap, HN_TAG_FILE, to->begin, room, sizeof *b);
        if (!b)
            return HN_ERR_MEMORY;
        to->begin = b;
        uint32_t *n = hn_realloc_array(to->heap, HN_TAG_FILE, to->bytes, room, sizeof *n);
        if (!n)
            return HN_ERR_MEMORY;
        to->bytes = n;
        to->room = room;
    }
    to->begin[to->n] = begin;
    to->bytes[to->n++] = (uint32_t)(end - begin);
    return HN_OK;
}

/* Without the blanks at both ends; nothing if there is nothing else. */
static hn_status add_trimmed(scanner *s, size_t begin, size_t end)
{
    const char *text = (const char *)s->to->map.data;
    while (begin < end && is_space(text[begin]))
        begin++;
    while (end > begin && is_space(text[end - 1]))
        end--;
    return begin < end ? add(s, begin, end) : HN_OK;
}

static hn_status scan_lines(scanner *s, size_t until)
{
    const char *text = (const char *)s->to->map.data;
    while (s->at < until) {
        const char *newline = memchr(text + s->at, '\n', until - s->at);
        if (!newline) {
            s->at = until;
            return HN_OK;
        }
        const size_t end = (size_t)(newline - text);
        HN_TRY(add_trimmed(s, s->begin, end));
        s->begin = s->at = end + 1;
    }
    return HN_OK;
}

static hn_status scan_array(scanner *s, size_t until)
{
    const char *text = (const char *)s->to->map.data;
    for (; s->at < until; s->at++) {
        const char c = text[s->at];
        if (s->in_string) {
            if (!s->is_escaped && c == '"')
                s->in_string = false;
            s->is_escaped = !s->is_escaped && c == '\\';
            continue;
        }
        HN_REQUIRE(!s->is_closed || is_space(c), HN_ERR_FORMAT,
                   "%s: byte %zu: expected the end after the array's ']', found '%c'",
                   s->to->path, s->at, c);
        if (s->is_closed)
            continue;
        s->in_string = c == '"';
        if (c == '{' || c == '[')
            s->depth++;
        const bool closes = c == '}' || c == ']';
        if (closes)
            s->depth--;
        s->is_closed = closes && s->depth == 0;
        if (s->depth == 1 && c == '[' && s->begin == SIZE_MAX)
            s->begin = s->at + 1; /* the array itself */
        if (s->is_closed || (s->depth == 1 && c == ',')) {
            const size_t n = s->to->n;
            HN_TRY(add_trimmed(s, s->begin, s->at));
            HN_REQUIRE(s->to->n > n || (s->is_closed && !n), HN_ERR_FORMAT,
                       "%s: byte %zu: expected an example before '%c', found nothing",
                       s->to->path, s->at, c);
            s->begin = s->at + 1;
        }
    }
    return HN_OK;
}

static hn_status end_line(scanner *s, size_t end)
{
    if (!s->is_blank) {
        if (s->begin == SIZE_MAX)
            s->begin = s->line_begin;
        s->end = end;
        if (end > s->begin && s->to->map.data[end - 1] == '\r')
            s->end--;
    } else if (s->begin != SIZE_MAX) {
        HN_TRY(add(s, s->begin, s->end));
        s->begin = SIZE_MAX;
    }
    s->line_begin = end + 1;
    s->is_blank = true;
    return HN_OK;
}

static hn_status scan_paragraphs(scanner *s, size_t until)
{
    const char *text = (const char *)s->to->map.data;
    for (; s->at < until; s->at++) {
        const char c = text[s->at];
        HN_REQUIRE(c, HN_ERR_FORMAT, "%s: byte %zu: expected text, found byte 0x00",
                   s->to->path, s->at);
        if (c == '\n')
            HN_TRY(end_line(s, s->at));
        else if (!is_space(c))
            s->is_blank = false;
    }
    return HN_OK;
}

static hn_status finish(scanner *s)
{
    const size_t bytes = s->to->map.bytes;
    if (s->to->layout == HN_LAYOUT_LINES)
        return add_trimmed(s, s->begin, bytes);
    if (s->to->layout == HN_LAYOUT_ARRAY) {
        HN_REQUIRE(s->is_closed, HN_ERR_FORMAT,
                   "%s: byte %zu: expected ']' of the array of examples, found the end",
                   s->to->path, bytes);
        return HN_OK;
    }
    HN_TRY(end_line(s, bytes));
    return s->begin != SIZE_MAX ? add(s, s->begin, s->end) : HN_OK;
}

static hn_status scan(hn_data_source *out, size_t from)
{
    const size_t bytes = out->map.bytes;
    scanner s = { .to = out, .at = from, .begin = from, .line_begin = from, .is_blank = true };
    if (out->layout != HN_LAYOUT_LINES)
        s.begin = SIZE_MAX;
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    for (size_t at = 0; at < bytes;) {
        const size_t n = bytes - at < STRETCH ? bytes - at : STRETCH;
        hn_sha256_add(&sha, out->map.data + at, n);
        at += n;
        HN_TRY(out->layout == HN_LAYOUT_LINES   ? scan_lines(&s, at)
               : out->layout == HN_LAYOUT_ARRAY ? scan_array(&s, at)
                                                : scan_paragraphs(&s, at));
        hn_map_file_release(&out->map, at - n, n);
    }
    hn_sha256_end(&sha, out->digest);
    HN_TRY(finish(&s));
    HN_REQUIRE(out->n, HN_ERR_FORMAT, "%s: expected examples, found none", out->path);
    return HN_OK;
}

/* Where the content begins: after a byte order mark. */
static size_t skip_mark(const hn_data_source *s)
{
    return s->map.bytes >= 3 && !memcmp(s->map.data, "\xef\xbb\xbf", 3) ? 3 : 0;
}

static hn_status tell_layout(hn_data_source *s, const hn_data_source_options *options,
                             size_t from)
{
    size_t at = from;
    while (at < s->map.bytes && is_space((char)s->map.data[at]))
        at++;
    const char first = at < s->map.bytes ? (char)s->map.data[at] : ' ';
    s->layout = first == '{'   ? HN_LAYOUT_LINES
                : first == '[' ? HN_LAYOUT_ARRAY
                               : HN_LAYOUT_PARAGRAPHS;
    s->format = HN_DATA_TEXT;
    if (!options->format)
        return HN_OK;
    s->is_forced = true;
    if (!strcmp(options->format, "paragraphs")) {
        s->layout = HN_LAYOUT_PARAGRAPHS;
        return HN_OK;
    }
    HN_TRY(hn_data_format_parse(options->format, &s->format));
    HN_REQUIRE(s->layout != HN_LAYOUT_PARAGRAPHS || s->format == HN_DATA_TEXT, HN_ERR_FORMAT,
               "%s: expected %s in JSON, which begins with '{' or '[', found '%c'", s->path,
               options->format, first);
    return HN_OK;
}

static hn_status open_source(hn_data_source *out, const hn_data_source_options *options)
{
    hn_json_text *first = NULL;
    HN_TRY(hn_map_file_open(&out->map, out->path));
    const size_t from = skip_mark(out);
    HN_TRY(tell_layout(out, options, from));
    HN_TRY(scan(out, from));
    if (out->is_forced || out->layout == HN_LAYOUT_PARAGRAPHS)
        return HN_OK;
    out->format = HN_N_DATA_FORMATS; /* whatever the first is */
    const hn_status status = hn_data_source_read(out, 0, &first);
    if (status == HN_OK)
        hn_data_format_of(hn_json_root(first), &out->format);
    hn_json_free(first);
    return status;
}

hn_status hn_data_source_open(hn_data_source *out, hn_heap *heap, const char *path,
                              const hn_data_source_options *options)
{
    *out = (hn_data_source){ .heap = heap, .path = hn_strdup(heap, HN_TAG_FILE, path) };
    if (!out->path)
        return HN_ERR_MEMORY;
    const hn_status status = open_source(out, options);
    if (status != HN_OK)
        hn_data_source_close(out);
    return status;
}

void hn_data_source_close(hn_data_source *s)
{
    if (!s->heap)
        return;
    hn_map_file_close(&s->map);
    hn_free(s->heap, s->begin);
    hn_free(s->heap, s->bytes);
    hn_free(s->heap, s->path);
    *s = (hn_data_source){ 0 };
}

hn_span hn_data_source_bytes(const hn_data_source *s, size_t i)
{
    return (hn_span){ s->map.data + s->begin[i], s->bytes[i] };
}

static hn_json_place place_of(const hn_data_source *s, size_t i)
{
    hn_json_place place = { 1, 1 };
    size_t at = 0;
    for (const uint8_t *newline; at < s->begin[i]; at = (size_t)(newline - s->map.data) + 1) {
        newline = memchr(s->map.data + at, '\n', (size_t)s->begin[i] - at);
        if (!newline)
            break;
        place.line++;
    }
    place.column = (size_t)s->begin[i] - at + 1;
    hn_map_file_release(&s->map, 0, (size_t)s->begin[i]);
    return place;
}

void hn_data_source_release(const hn_data_source *s, size_t i)
{
    hn_map_file_release(&s->map, (size_t)s->begin[i], s->bytes[i]);
}

size_t hn_data_source_line(const hn_data_source *s, size_t i) { return place_of(s, i).line; }

static hn_status check_format(const hn_data_source *s, size_t i, const hn_json *example)
{
    hn_data_format found = HN_N_DATA_FORMATS;
    if (s->is_forced && example->kind == HN_JSON_OBJECT &&
        hn_data_format_fits(example, s->format))
        return HN_OK;
    const hn_status status = hn_data_format_of(example, &found);
    if (status != HN_OK && !s->is_forced)
        return hn_fail_within(status, "%s: line %zu: ", s->path, hn_data_source_line(s, i));
    HN_REQUIRE(s->format == HN_N_DATA_FORMATS || found == s->format, HN_ERR_FORMAT,
               "%s: line %zu: expected %s, as %s, found %s", s->path, hn_data_source_line(s, i),
               hn_data_format_name(s->format),
               s->is_forced ? "was asked for" : "before it in the file",
               found < HN_N_DATA_FORMATS ? hn_data_format_name(found) : "another");
    return HN_OK;
}

hn_status hn_data_source_read(const hn_data_source *s, size_t i, hn_json_text **out)
{
    const hn_span at = hn_data_source_bytes(s, i);
    hn_status status = hn_json_read(s->heap, s->path, at.data, at.bytes, out);
    if (status == HN_ERR_FORMAT) { /* lines are counted for messages only */
        const hn_json_place place = place_of(s, i);
        return hn_json_read_at(s->heap, s->path, &place, at.data, at.bytes, out);
    }
    if (status == HN_OK)
        status = check_format(s, i, hn_json_root(*out));
    if (status != HN_OK) {
        hn_json_free(*out);
        *out = NULL;
    }
    return status;
}
