/* A comma is owed by whoever comes second: one bit a depth says whether something stands there already. Text that
 * is no UTF-8 becomes U+FFFD, byte by byte, so what is written can always be read. */
#include "base/json.h"
#include "base/number.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hn_json_writer hn_json_write_to(hn_str *to) { return (hn_json_writer){ .to = to }; }

static void before_value(hn_json_writer *w)
{
    const uint64_t bit = UINT64_C(1) << w->depth;
    if (!w->after_key && (w->has_items & bit))
        hn_str_add_char(w->to, ',');
    w->has_items |= bit;
    w->after_key = false;
}

static void begin(hn_json_writer *w, char c)
{
    before_value(w);
    hn_str_add_char(w->to, c);
    assert(w->depth + 1 < HN_JSON_MAX_DEPTH);
    w->depth++;
    w->has_items &= ~(UINT64_C(1) << w->depth);
}

static void end(hn_json_writer *w, char c)
{
    assert(w->depth > 0);
    w->depth--;
    hn_str_add_char(w->to, c);
}

void hn_json_begin_object(hn_json_writer *w) { begin(w, '{'); }

void hn_json_end_object(hn_json_writer *w) { end(w, '}'); }

void hn_json_begin_array(hn_json_writer *w) { begin(w, '['); }

void hn_json_end_array(hn_json_writer *w) { end(w, ']'); }

static void add_quoted(hn_str *to, const char *text, size_t bytes)
{
    hn_str_add_char(to, '"');
    for (size_t i = 0; i < bytes;) {
        const unsigned char c = (unsigned char)text[i];
        const size_t n = hn_utf8_length(text + i, bytes - i);
        if (c == '"' || c == '\\')
            hn_str_print(to, "\\%c", c);
        else if (c == '\n')
            hn_str_add(to, "\\n");
        else if (c < 0x20 || c == 0x7f)
            hn_str_print(to, "\\u%04x", c);
        else if (n)
            hn_str_add_bytes(to, text + i, n);
        else
            hn_str_add(to, "\\ufffd");
        i += n ? n : 1;
    }
    hn_str_add_char(to, '"');
}

static void add_key(hn_json_writer *w, const char *key, size_t bytes)
{
    before_value(w);
    add_quoted(w->to, key, bytes);
    hn_str_add_char(w->to, ':');
    w->after_key = true;
}

void hn_json_key(hn_json_writer *w, const char *key) { add_key(w, key, strlen(key)); }

void hn_json_add_string(hn_json_writer *w, const char *text)
{
    before_value(w);
    add_quoted(w->to, text, strlen(text));
}

void hn_json_add_int(hn_json_writer *w, int64_t value)
{
    before_value(w);
    hn_str_print(w->to, "%" PRId64, value);
}

/* The fewest digits that read back: short ones first, as 0.1 is. */
void hn_json_add_double(hn_json_writer *w, double value)
{
    if (!isfinite(value)) {
        hn_json_add_null(w);
        return;
    }
    char text[HN_NUMBER_TEXT];
    hn_number_write(value, 0, text);
    before_value(w);
    hn_str_add(w->to, text);
    if (!strpbrk(text, ".e"))
        hn_str_add(w->to, ".0"); /* so that it is read as a double */
}

void hn_json_add_bool(hn_json_writer *w, bool value)
{
    before_value(w);
    hn_str_add(w->to, value ? "true" : "false");
}

void hn_json_add_null(hn_json_writer *w)
{
    before_value(w);
    hn_str_add(w->to, "null");
}

void hn_json_add_json(hn_json_writer *w, const char *text, size_t bytes)
{
    before_value(w);
    hn_str_add_bytes(w->to, text, bytes);
}

void hn_json_add_scalar(hn_json_writer *w, const hn_json *value)
{
    switch (value->kind) {
    case HN_JSON_BOOL:
        hn_json_add_bool(w, value->as.boolean);
        return;
    case HN_JSON_INT:
        hn_json_add_int(w, value->as.integer);
        return;
    case HN_JSON_DOUBLE:
        if (hn_json_source(value))
            hn_json_add_json(w, value->as.real.source, strlen(value->as.real.source));
        else
            hn_json_add_double(w, value->as.number);
        return;
    case HN_JSON_STRING:
        before_value(w);
        add_quoted(w->to, value->as.string.text, value->as.string.bytes);
        return;
    default:
        hn_json_add_null(w);
    }
}

void hn_json_add_value(hn_json_writer *w, const hn_json *value)
{
    const bool is_array = value->kind == HN_JSON_ARRAY;
    if (!is_array && value->kind != HN_JSON_OBJECT) {
        hn_json_add_scalar(w, value);
        return;
    }
    (is_array ? hn_json_begin_array : hn_json_begin_object)(w);
    for (const hn_json *v = value->as.children.first; v; v = v->next) {
        if (!is_array)
            add_key(w, v->key, (size_t)v->key_bytes);
        hn_json_add_value(w, v);
    }
    (is_array ? hn_json_end_array : hn_json_end_object)(w);
}

/* ---- members ---- */

void hn_json_put_text(hn_json_writer *w, const char *key, const char *text)
{
    hn_json_key(w, key);
    if (text)
        hn_json_add_string(w, text);
    else
        hn_json_add_null(w);
}

void hn_json_put_bytes(hn_json_writer *w, const char *key, const char *text, size_t bytes)
{
    hn_json_key(w, key);
    before_value(w);
    add_quoted(w->to, text, bytes);
}

void hn_json_put_int(hn_json_writer *w, const char *key, int64_t value)
{
    hn_json_key(w, key);
    hn_json_add_int(w, value);
}

void hn_json_put_double(hn_json_writer *w, const char *key, double value)
{
    hn_json_key(w, key);
    hn_json_add_double(w, value);
}

void hn_json_put_bool(hn_json_writer *w, const char *key, bool value)
{
    hn_json_key(w, key);
    hn_json_add_bool(w, value);
}
