/* The reader. It keeps no stack: an open array or object is `parent`, and each value knows its
 * own. While reading, links are indexes, as the array of values moves when it grows; one pass
 * at the end makes them pointers. Decoded strings are never longer than the text, so one block
 * holds them all. */
#include "base/json.h"
#include "base/number.h"
#include "base/utf8.h"
#include "base/work.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 400 };
#define NONE SIZE_MAX

typedef struct links {
    size_t parent, first, last, next;
} links;

struct hn_json_text {
    hn_heap *heap;
    hn_json *values;
    links *links; /* freed after reading */
    char *strings;
    size_t n_values, room;
};

typedef struct reader {
    hn_json_text *out;
    const char *name, *text;
    const hn_json_place *from; /* NULL: places are counted in bytes */
    size_t bytes, at, string_at;
    size_t parent;
    int depth;
    const char *key; /* for the next value */
    size_t key_bytes;
} reader;

/* What begins a message: the name and the place. */
typedef struct where {
    char text[64];
} where;

static where place_of(const reader *r, size_t at)
{
    where out;
    if (!r->from) {
        snprintf(out.text, sizeof out.text, "byte %zu", at);
        return out;
    }
    size_t line = r->from->line, column = r->from->column + at;
    for (size_t i = 0; i < at && i < r->bytes; i++)
        if (r->text[i] == '\n') {
            line++;
            column = at - i;
        }
    snprintf(out.text, sizeof out.text, "line %zu, column %zu", line, column);
    return out;
}

static hn_status malformed(const reader *r, const char *expected)
{
    const where place = place_of(r, r->at);
    if (r->at >= r->bytes)
        return hn_fail(HN_ERR_FORMAT, "%s: %s: expected %s, found the end", r->name, place.text,
                       expected);
    const unsigned char c = (unsigned char)r->text[r->at];
    if (c > 0x20 && c < 0x7f)
        return hn_fail(HN_ERR_FORMAT, "%s: %s: expected %s, found '%c'", r->name, place.text,
                       expected, c);
    return hn_fail(HN_ERR_FORMAT, "%s: %s: expected %s, found byte 0x%02x", r->name, place.text,
                   expected, c);
}

static int peek(const reader *r)
{
    return r->at < r->bytes ? (unsigned char)r->text[r->at] : -1;
}

static bool accept(reader *r, char c)
{
    if (peek(r) != (unsigned char)c)
        return false;
    r->at++;
    return true;
}

static void skip_space(reader *r)
{
    while (r->at < r->bytes && strchr(" \t\r\n", r->text[r->at]) && r->text[r->at])
        r->at++;
}

static hn_status read_hex4(reader *r, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        const int c = peek(r);
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return malformed(r, "a hexadecimal digit");
        *out = *out << 4 | (uint32_t)digit;
        r->at++;
    }
    return HN_OK;
}

/* After "\u": one code point, of one escape or of a pair of surrogates. */
static hn_status read_code_point(reader *r, uint32_t *out)
{
    HN_TRY(read_hex4(r, out));
    if (*out >= 0xdc00 && *out <= 0xdfff)
        return malformed(r, "a high surrogate before the low one");
    if (*out < 0xd800 || *out > 0xdbff)
        return HN_OK;
    uint32_t low = 0;
    if (!accept(r, '\\') || !accept(r, 'u'))
        return malformed(r, "a low surrogate, as \\uDC00");
    HN_TRY(read_hex4(r, &low));
    if (low < 0xdc00 || low > 0xdfff)
        return malformed(r, "a low surrogate before this");
    *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    return HN_OK;
}

static hn_status read_escape(reader *r, char *to)
{
    static const char codes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const int c = peek(r);
    const char *found = c > 0 ? strchr(codes, c) : NULL;
    if (found) {
        to[r->string_at++] = meanings[found - codes];
        r->at++;
        return HN_OK;
    }
    if (!accept(r, 'u'))
        return malformed(r, "an escape");
    uint32_t code = 0;
    HN_TRY(read_code_point(r, &code));
    r->string_at += hn_utf8_put(code, to + r->string_at);
    return HN_OK;
}

/* Decodes at least as many bytes as it writes, the NUL in place of a quote. */
static hn_status read_string(reader *r, const char **out, size_t *bytes)
{
    char *to = r->out->strings;
    const size_t start = r->string_at;
    if (!accept(r, '"'))
        return malformed(r, "a string");
    for (uint64_t i = 1; !accept(r, '"'); i++) {
        if (hn_work_every(i))
            HN_TRY(hn_work_look(r->name));
        if (accept(r, '\\')) {
            HN_TRY(read_escape(r, to));
            continue;
        }
        const int c = peek(r);
        const size_t n = hn_utf8_length(r->text + r->at, r->bytes - r->at);
        if (c < 0x20 || !n)
            return malformed(r, c >= 0x20 ? "UTF-8" : "a closing quote");
        memcpy(to + r->string_at, r->text + r->at, n);
        r->string_at += n;
        r->at += n;
    }
    *out = to + start;
    *bytes = r->string_at - start;
    to[r->string_at++] = '\0';
    return HN_OK;
}

static bool skip_digits(reader *r)
{
    const size_t start = r->at;
    while (peek(r) >= '0' && peek(r) <= '9')
        r->at++;
    return r->at > start;
}

/* Digits from the first that is not 0 to the last: so many a double need not give back. */
static bool has_many_digits(const char *text, size_t n)
{
    enum { HELD = 15 };
    size_t digits = 0, zeros = 0;
    for (size_t i = 0; i < n && text[i] != 'e' && text[i] != 'E'; i++)
        if (text[i] >= '1' && text[i] <= '9') {
            digits += zeros + 1;
            zeros = 0;
        } else if (text[i] == '0' && digits) {
            zeros++;
        }
    return digits > HELD;
}

/* The NUL stands where the text has what follows the number, or its own end. */
static const char *keep_source(reader *r, size_t start, size_t n)
{
    char *to = r->out->strings + r->string_at;
    memcpy(to, r->text + start, n);
    to[n] = '\0';
    r->string_at += n + 1;
    return to;
}

static hn_status read_number(reader *r, hn_json *value)
{
    const size_t start = r->at;
    bool is_whole = true;
    accept(r, '-');
    const bool starts_with_zero = peek(r) == '0';
    const size_t digits_at = r->at;
    if (!skip_digits(r))
        return malformed(r, "a digit");
    if (starts_with_zero && r->at > digits_at + 1) {
        r->at = digits_at + 1;
        return malformed(r, "no digit after a leading zero");
    }
    if (accept(r, '.')) {
        is_whole = false;
        if (!skip_digits(r))
            return malformed(r, "a digit after the point");
    }
    if (accept(r, 'e') || accept(r, 'E')) {
        is_whole = false;
        if (!accept(r, '+'))
            accept(r, '-');
        if (!skip_digits(r))
            return malformed(r, "a digit of the exponent");
    }
    const size_t n = r->at - start;
    HN_REQUIRE(n <= NUMBER_BYTES, HN_ERR_FORMAT,
               "%s: %s: a number of %zu characters: expected at most %d", r->name,
               place_of(r, start).text, n, NUMBER_BYTES);
    value->kind = HN_JSON_DOUBLE;
    hn_number_read(r->text + start, n, &value->as.number);
    HN_REQUIRE(isfinite(value->as.number), HN_ERR_FORMAT, "%s: %s: number out of range",
               r->name, place_of(r, start).text);
    value->as.real.source = NULL;
    if (is_whole && !(value->as.number == 0 && r->text[start] == '-')) { /* -0 stays a double */
        char copy[NUMBER_BYTES + 1];
        memcpy(copy, r->text + start, n);
        copy[n] = '\0';
        errno = 0;
        const long long integer = strtoll(copy, NULL, 10);
        if (errno == 0) {
            value->kind = HN_JSON_INT;
            value->as.integer = integer;
            return HN_OK;
        }
    }
    if (has_many_digits(r->text + start, n))
        value->as.real.source = keep_source(r, start, n);
    return HN_OK;
}

static hn_status read_word(reader *r, const char *word)
{
    for (const char *c = word; *c; c++)
        if (!accept(r, *c))
            return malformed(r, word);
    return HN_OK;
}

static hn_status grow(hn_json_text *out)
{
    const size_t room = out->room ? 2 * out->room : 16;
    hn_json *values =
        hn_realloc_array(out->heap, HN_TAG_TEXT, out->values, room, sizeof *values);
    if (!values)
        return HN_ERR_MEMORY;
    out->values = values;
    links *all = hn_realloc_array(out->heap, HN_TAG_TEXT, out->links, room, sizeof *all);
    if (!all)
        return HN_ERR_MEMORY;
    out->links = all;
    out->room = room;
    return HN_OK;
}

/* A new value at the end of the open array or object. */
static hn_status append(reader *r, size_t *index)
{
    hn_json_text *out = r->out;
    if (out->n_values == out->room)
        HN_TRY(grow(out));
    *index = out->n_values++;
    out->values[*index] = (hn_json){ .key = r->key, .key_bytes = (int32_t)r->key_bytes };
    out->links[*index] = (links){ r->parent, NONE, NONE, NONE };
    r->key = NULL;
    r->key_bytes = 0;
    if (r->parent == NONE)
        return HN_OK;
    links *up = &out->links[r->parent];
    if (up->first == NONE)
        up->first = *index;
    else
        out->links[up->last].next = *index;
    up->last = *index;
    out->values[r->parent].as.children.n++;
    return HN_OK;
}

static hn_status read_scalar(reader *r, hn_json *value)
{
    switch (peek(r)) {
    case '"':
        value->kind = HN_JSON_STRING;
        return read_string(r, &value->as.string.text, &value->as.string.bytes);
    case 't':
        value->kind = HN_JSON_BOOL;
        value->as.boolean = true;
        return read_word(r, "true");
    case 'f':
        value->kind = HN_JSON_BOOL;
        return read_word(r, "false");
    case 'n':
        return read_word(r, "null");
    default:
        if (peek(r) == '-' || (peek(r) >= '0' && peek(r) <= '9'))
            return read_number(r, value);
        return malformed(r, "a value");
    }
}

static hn_status read_key(reader *r)
{
    skip_space(r);
    if (peek(r) != '"')
        return malformed(r, "a key");
    HN_TRY(read_string(r, &r->key, &r->key_bytes));
    HN_REQUIRE(r->key_bytes <= INT32_MAX, HN_ERR_FORMAT, "%s: a key of %zu bytes", r->name,
               r->key_bytes);
    skip_space(r);
    return accept(r, ':') ? HN_OK : malformed(r, "':'");
}

/* After a value: closes what ends here. True in *again if another value follows. */
static hn_status close_or_continue(reader *r, bool *again)
{
    *again = false;
    if (hn_work_every(r->out->n_values))
        HN_TRY(hn_work_look(r->name));
    while (r->parent != NONE) {
        const bool is_object = r->out->values[r->parent].kind == HN_JSON_OBJECT;
        skip_space(r);
        if (accept(r, ',')) {
            *again = true;
            return is_object ? read_key(r) : HN_OK;
        }
        if (!accept(r, is_object ? '}' : ']'))
            return malformed(r, is_object ? "',' or '}'" : "',' or ']'");
        r->parent = r->out->links[r->parent].parent;
        r->depth--;
    }
    return HN_OK;
}

/* An opening bracket: the value becomes the parent. True in *is_empty if it closes at once. */
static hn_status open_container(reader *r, size_t index, bool is_object, bool *is_empty)
{
    r->at++;
    HN_REQUIRE(r->depth < HN_JSON_MAX_DEPTH, HN_ERR_FORMAT, "%s: %s: nested deeper than %d",
               r->name, place_of(r, r->at - 1).text, HN_JSON_MAX_DEPTH);
    r->out->values[index].kind = is_object ? HN_JSON_OBJECT : HN_JSON_ARRAY;
    skip_space(r);
    *is_empty = accept(r, is_object ? '}' : ']');
    if (*is_empty)
        return HN_OK;
    r->depth++;
    r->parent = index;
    return is_object ? read_key(r) : HN_OK;
}

static hn_status read_all(reader *r)
{
    for (bool again = true; again;) {
        size_t index = 0;
        skip_space(r);
        HN_TRY(append(r, &index));
        const int c = peek(r);
        if (c == '{' || c == '[') {
            bool is_empty = false;
            HN_TRY(open_container(r, index, c == '{', &is_empty));
            if (!is_empty)
                continue;
        } else {
            HN_TRY(read_scalar(r, &r->out->values[index]));
        }
        HN_TRY(close_or_continue(r, &again));
    }
    skip_space(r);
    return r->at == r->bytes ? HN_OK : malformed(r, "the end");
}

static uint64_t hash_key(const hn_json *v)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int32_t i = 0; i < v->key_bytes; i++)
        h = (h ^ (uint8_t)v->key[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 29;
}

static bool is_same_key(const hn_json *a, const hn_json *b)
{
    return a->key_bytes == b->key_bytes && !memcmp(a->key, b->key, (size_t)a->key_bytes);
}

/* A key given twice would have two readers see two files. `seen`: of a power of two slots, more
 * than there are keys; its zeros mean none. */
static const hn_json *find_twice(const hn_json *object, const hn_json **seen, size_t slots)
{
    for (const hn_json *v = object->as.children.first; v; v = v->next) {
        size_t at = (size_t)hash_key(v) & (slots - 1);
        for (; seen[at]; at = (at + 1) & (slots - 1))
            if (is_same_key(seen[at], v))
                return v;
        seen[at] = v;
    }
    return NULL;
}

static hn_status check_keys(const hn_json_text *out, const char *name, const hn_json_place *from)
{
    char line[32] = "";
    enum { FEW = 32 };
    for (size_t i = 0; i < out->n_values; i++) {
        const hn_json *object = &out->values[i], *few[FEW] = { NULL };
        const size_t n = object->kind == HN_JSON_OBJECT ? object->as.children.n : 0;
        if (n < 2)
            continue;
        size_t slots = FEW;
        while (slots < 2 * n)
            slots *= 2;
        const hn_json **many = slots > FEW
                                   ? hn_alloc_array(out->heap, HN_TAG_TEXT, slots, sizeof *many)
                                   : few;
        if (!many)
            return HN_ERR_MEMORY;
        const hn_json *twice = find_twice(object, many, slots);
        if (many != few)
            hn_free(out->heap, (void *)many);
        if (twice && from) /* where the text begins: where in it a key stood is not kept */
            snprintf(line, sizeof line, "line %zu: ", from->line);
        HN_REQUIRE(!twice, HN_ERR_FORMAT, "%s: %skey \"%.64s\" is given twice in one object", name, line,
                   twice->key);
    }
    return HN_OK;
}

static void link_values(hn_json_text *out)
{
    for (size_t i = 0; i < out->n_values; i++) {
        const links *l = &out->links[i];
        hn_json *value = &out->values[i];
        value->next = l->next == NONE ? NULL : &out->values[l->next];
        if (l->first != NONE)
            value->as.children.first = &out->values[l->first];
    }
    hn_free(out->heap, out->links);
    out->links = NULL;
}

hn_status hn_json_read(hn_heap *heap, const char *name, const char *text, size_t bytes,
                       hn_json_text **out)
{
    return hn_json_read_at(heap, name, NULL, text, bytes, out);
}

hn_status hn_json_read_at(hn_heap *heap, const char *name, const hn_json_place *from,
                          const char *text, size_t bytes, hn_json_text **out)
{
    *out = NULL;
    hn_json_text *made = hn_alloc(heap, HN_TAG_TEXT, sizeof *made);
    if (!made)
        return HN_ERR_MEMORY;
    made->heap = heap;
    made->strings = bytes < SIZE_MAX ? hn_alloc(heap, HN_TAG_TEXT, bytes + 1) : NULL;
    reader r = {
        .out = made, .name = name, .from = from, .text = text, .bytes = bytes, .parent = NONE
    };
    const hn_status status = made->strings ? read_all(&r) : HN_ERR_MEMORY;
    if (status != HN_OK) {
        hn_json_free(made);
        return status;
    }
    link_values(made);
    const hn_status unique = check_keys(made, name, from);
    if (unique != HN_OK) {
        hn_json_free(made);
        return unique;
    }
    *out = made;
    return HN_OK;
}

void hn_json_free(hn_json_text *text)
{
    if (!text)
        return;
    hn_free(text->heap, text->values);
    hn_free(text->heap, text->links);
    hn_free(text->heap, text->strings);
    hn_free(text->heap, text);
}

const hn_json *hn_json_root(const hn_json_text *text) { return text->values; }
