/* The index is made in one pass that also takes the digest, a stretch at a time, so that a file
 * larger than memory is read from the disk once. The scanner of arrays knows strings and depth
 * and nothing else: what lies between is checked when it is parsed. */
#include "data/source.h"

#include "base/sha256.h"
#include "base/utf8.h"
#include "base/work.h"

#include <stdio.h>
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
    hn_table_scanner table;
} scanner;

static hn_json_place place_at(const hn_data_source *s, uint64_t byte)
{
    hn_json_place place = { 1, 1 };
    uint64_t at = 0;
    for (const uint8_t *newline; at < byte; at = (uint64_t)(newline - s->map.data) + 1) {
        newline = memchr(s->map.data + at, '\n', (size_t)(byte - at));
        if (!newline)
            break;
        place.line++;
    }
    place.column = (size_t)(byte - at) + 1;
    hn_map_file_release(&s->map, 0, (size_t)byte);
    return place;
}

/* "data.csv: line 3, column 7: ", before what is wrong there. */
static hn_status fail_at(const hn_data_source *s, size_t byte, const char *what)
{
    const hn_json_place place = place_at(s, byte);
    return hn_fail(HN_ERR_FORMAT, "%s: line %zu, column %zu: %s", s->path, place.line, place.column,
                   what);
}

/* The same with the character that was found. */
static hn_status fail_found(const hn_data_source *s, size_t byte, const char *expected)
{
    char what[160];
    const unsigned char c = byte < s->map.bytes ? s->map.data[byte] : 0;
    if (byte >= s->map.bytes)
        snprintf(what, sizeof what, "expected %s, found the end", expected);
    else if (c > 0x20 && c < 0x7f)
        snprintf(what, sizeof what, "expected %s, found '%c'", expected, c);
    else
        snprintf(what, sizeof what, "expected %s, found byte 0x%02x", expected, c);
    return fail_at(s, byte, what);
}

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
        if (s->is_closed && !is_space(c))
            return fail_found(s->to, s->at, "the end after the array's ']'");
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
            if (s->to->n == n && !(s->is_closed && !n))
                return fail_at(s->to, s->at, c == ',' ? "expected an example before ',', found nothing"
                                             : "expected an example before ']', found nothing");
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
        if (!c)
            return fail_found(s->to, s->at, "text");
        if (c == '\n')
            HN_TRY(end_line(s, s->at));
        else if (!is_space(c))
            s->is_blank = false;
    }
    return HN_OK;
}

static hn_status add_record(scanner *s, size_t begin, size_t end)
{
    const char *text = (const char *)s->to->map.data;
    end -= end > begin && text[end - 1] == '\r';
    if (s->to->table.n)
        return add(s, begin, end);
    const hn_span header = { text + begin, end - begin };
    const hn_status status =
        hn_table_read_header(&s->to->table, s->to->heap, s->table.separator, header);
    return status == HN_OK || status == HN_ERR_MEMORY
               ? status
               : hn_fail_within(status, "%s: line %zu: ", s->to->path, place_at(s->to, begin).line);
}

static hn_status scan_table(scanner *s, size_t until)
{
    const char *text = (const char *)s->to->map.data, *wrong = NULL;
    for (size_t begin = 0; s->at < until; s->at++) {
        const hn_table_event event = hn_table_scan(&s->table, text, s->at, &begin, &wrong);
        if (event == HN_TABLE_WRONG)
            return fail_at(s->to, s->at, wrong);
        if (event == HN_TABLE_RECORD)
            HN_TRY(add_record(s, begin, s->at));
    }
    return HN_OK;
}

static hn_status finish_table(scanner *s)
{
    const char *wrong = NULL;
    size_t begin = 0;
    const hn_table_event event = hn_table_finish(&s->table, &begin, &wrong);
    if (event == HN_TABLE_WRONG)
        return fail_at(s->to, s->table.quote, wrong);
    return event == HN_TABLE_RECORD ? add_record(s, begin, s->to->map.bytes) : HN_OK;
}

static hn_status finish(scanner *s)
{
    const size_t bytes = s->to->map.bytes;
    if (s->to->layout == HN_LAYOUT_LINES)
        return add_trimmed(s, s->begin, bytes);
    if (s->to->layout == HN_LAYOUT_ARRAY)
        return s->is_closed ? HN_OK
                            : fail_found(s->to, bytes, "']' of the array of examples");
    if (s->to->layout == HN_LAYOUT_TABLE)
        return finish_table(s);
    HN_TRY(end_line(s, bytes));
    return s->begin != SIZE_MAX ? add(s, s->begin, s->end) : HN_OK;
}

static hn_status scan_some(scanner *s, size_t until)
{
    switch (s->to->layout) {
    case HN_LAYOUT_LINES:
        return scan_lines(s, until);
    case HN_LAYOUT_ARRAY:
        return scan_array(s, until);
    case HN_LAYOUT_TABLE:
        return scan_table(s, until);
    case HN_LAYOUT_PARAGRAPHS:
        break;
    }
    return scan_paragraphs(s, until);
}

static hn_status scan(hn_data_source *out, size_t from, char separator)
{
    const size_t bytes = out->map.bytes;
    scanner s = { .to = out, .at = from, .begin = from, .line_begin = from, .is_blank = true,
                  .table.separator = separator };
    if (out->layout != HN_LAYOUT_LINES)
        s.begin = SIZE_MAX;
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    for (size_t at = 0; at < bytes;) {
        const size_t n = bytes - at < STRETCH ? bytes - at : STRETCH;
        HN_TRY(hn_work_tell(at, bytes, out->path));
        hn_sha256_add(&sha, out->map.data + at, n);
        at += n;
        HN_TRY(scan_some(&s, at));
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

static size_t skip_space(const hn_data_source *s, size_t at)
{
    while (at < s->map.bytes && is_space((char)s->map.data[at]))
        at++;
    return at;
}

/* Whether text looks as examples of JSON do: {" or [{. */
static bool looks_like_json(const hn_data_source *s, size_t at)
{
    const size_t next = skip_space(s, at + 1);
    if (next >= s->map.bytes)
        return false;
    return (s->map.data[at] == '{' && s->map.data[next] == '"') ||
           (s->map.data[at] == '[' && s->map.data[next] == '{');
}

/* What the file is, by --format or its name; `at` is its first character that is no blank. */
static hn_status tell_layout(hn_data_source *s, hn_file_kind asked, size_t at)
{
    const hn_file_kind kind = asked < HN_N_FILE_KINDS ? asked : hn_file_kind_of(s->path);
    const char first = at < s->map.bytes ? (char)s->map.data[at] : ' ';
    HN_REQUIRE(at < s->map.bytes, HN_ERR_FORMAT, "%s: expected examples, found none", s->path);
    s->layout = first == '[' ? HN_LAYOUT_ARRAY : HN_LAYOUT_LINES;
    switch (kind) {
    case HN_FILE_JSON:
        return first == '{' || first == '[' ? HN_OK : fail_found(s, at, "JSON, '[' or '{'");
    case HN_FILE_JSONL:
        return first == '{' ? HN_OK : fail_found(s, at, "an example of JSON a line, '{'");
    case HN_FILE_CSV:
    case HN_FILE_TSV:
        s->layout = HN_LAYOUT_TABLE;
        return HN_OK;
    case HN_FILE_PARQUET:
        return hn_fail(HN_ERR_UNSUPPORTED,
                       "%s: Parquet cannot be read yet: expected JSON, JSONL, CSV, TSV or text",
                       s->path);
    case HN_FILE_PARAGRAPHS:
        s->layout = HN_LAYOUT_PARAGRAPHS;
        return asked < HN_N_FILE_KINDS || !looks_like_json(s, at)
                   ? HN_OK
                   : fail_at(s, at, "expected text, as the name says, found what begins as JSON: "
                                    "--format json or --format paragraphs says which it is");
    case HN_N_FILE_KINDS:
        break;
    }
    HN_REQUIRE(first == '{' || first == '[', HN_ERR_FORMAT,
               "%s: expected a name that ends in .json, .jsonl, .csv, .tsv, .txt or .md, or content "
               "that begins as JSON: --format (%s) says what it is", s->path, hn_file_kinds_read + 2);
    return HN_OK;
}

static hn_status open_source(hn_data_source *out, const hn_data_source_options *options)
{
    hn_json_text *first = NULL;
    hn_file_kind kind;
    HN_TRY(hn_format_choice_parse(options->format, &kind, &out->format));
    HN_TRY(hn_map_file_open(&out->map, out->heap, out->path));
    const size_t from = skip_mark(out);
    HN_TRY(tell_layout(out, kind, skip_space(out, from)));
    const bool is_tab = kind == HN_FILE_TSV ||
                        (kind == HN_N_FILE_KINDS && hn_file_kind_of(out->path) == HN_FILE_TSV);
    out->is_forced = out->format < HN_N_DATA_FORMATS;
    if (out->layout == HN_LAYOUT_PARAGRAPHS) {
        HN_REQUIRE(!out->is_forced || out->format == HN_DATA_TEXT, HN_ERR_FORMAT,
                   "%s: expected %s in JSON, CSV or TSV, found text", out->path,
                   hn_data_format_name(out->format));
        out->format = HN_DATA_TEXT;
        return scan(out, from, 0);
    }
    HN_TRY(scan(out, from, is_tab ? '\t' : ','));
    if (out->is_forced)
        return HN_OK;
    const hn_status status = hn_data_source_read(out, 0, &first); /* of whatever format it is */
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
    hn_table_free(&s->table, s->heap);
    hn_free(s->heap, s->begin);
    hn_free(s->heap, s->bytes);
    hn_free(s->heap, s->path);
    *s = (hn_data_source){ 0 };
}

hn_span hn_data_source_bytes(const hn_data_source *s, size_t i)
{
    return (hn_span){ s->map.data + s->begin[i], s->bytes[i] };
}

void hn_data_source_release(const hn_data_source *s, size_t i)
{
    hn_map_file_release(&s->map, (size_t)s->begin[i], s->bytes[i]);
}

size_t hn_data_source_line(const hn_data_source *s, size_t i) { return place_at(s, s->begin[i]).line; }

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

static hn_status read_record(const hn_data_source *s, size_t i, hn_json_text **out)
{
    hn_str json = hn_str_on(s->heap);
    *out = NULL;
    hn_status status = hn_table_write_json(&s->table, s->heap, hn_data_source_bytes(s, i), &json);
    if (status == HN_OK)
        status = hn_json_read(s->heap, "record", json.text, json.length, out);
    hn_str_free(&json);
    if (status != HN_OK && status != HN_ERR_MEMORY)
        status = hn_fail_within(status, "%s: line %zu: ", s->path, hn_data_source_line(s, i));
    if (status == HN_OK)
        status = check_format(s, i, hn_json_root(*out));
    if (status != HN_OK) {
        hn_json_free(*out);
        *out = NULL;
    }
    return status;
}

hn_status hn_data_source_read(const hn_data_source *s, size_t i, hn_json_text **out)
{
    const hn_span at = hn_data_source_bytes(s, i);
    if (s->layout == HN_LAYOUT_TABLE)
        return read_record(s, i, out);
    hn_status status = hn_json_read(s->heap, s->path, at.data, at.bytes, out);
    if (status == HN_ERR_FORMAT) { /* lines are counted for messages only */
        const hn_json_place place = place_at(s, s->begin[i]);
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
