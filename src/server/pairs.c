/* They become JSON, and that an object: so a name that comes twice is refused there, as in any body. Kinds come
 * from the table of fields that the object is then checked against: a query has texts alone. */
#include "server/pairs.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

static bool is_text(const char *value, size_t bytes)
{
    for (size_t at = 0, n; at < bytes; at += n)
        if (!value[at] || !(n = hn_utf8_length(value + at, bytes - at)))
            return false;
    return true;
}

/* "a[b]" apart. */
static bool set_name(hn_pair *p, const char *name)
{
    const char *open = strchr(name, '[');
    const size_t n = open ? (size_t)(open - name) : strlen(name), inner = open ? strlen(open) : 0;
    if (!n || n >= HN_PAIR_NAME || (open && (inner < 3 || inner - 2 >= HN_PAIR_NAME || open[inner - 1] != ']')))
        return false;
    memcpy(p->name, name, n);
    if (open)
        memcpy(p->within, open + 1, inner - 2);
    return true;
}

bool hn_pairs_add(hn_pairs *pairs, const char *name, const char *value, size_t bytes, hn_failure *why)
{
    if (pairs->n == HN_MOST_PAIRS)
        return hn_refuse_as(why, HN_REFUSED_INVALID, NULL, "expected at most %d fields", HN_MOST_PAIRS);
    hn_pair *p = &pairs->of[pairs->n];
    *p = (hn_pair){ 0 };
    if (!is_text(name, strlen(name)) || !set_name(p, name))
        return hn_refuse_as(why, HN_REFUSED_UNKNOWN_FIELD, NULL, "a field's name: expected NAME or NAME[NAME] of at most %d bytes each",
                            HN_PAIR_NAME - 1);
    if (!is_text(value, bytes))
        return hn_refuse_as(why, HN_REFUSED_INVALID, p->name, "%s: expected UTF-8 without NULs", p->name);
    p->value = hn_alloc(pairs->heap, HN_TAG_TEXT, bytes + 1);
    if (!p->value)
        return hn_refuse_by(why, HN_ERR_MEMORY, NULL);
    memcpy(p->value, value, bytes);
    pairs->n++;
    return true;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In its place; -1: a '%' without two digits. */
static ptrdiff_t decode(char *text, size_t bytes)
{
    size_t to = 0;
    for (size_t at = 0; at < bytes; at++) {
        if (text[at] != '%') {
            text[to++] = text[at] == '+' ? ' ' : text[at];
            continue;
        }
        if (at + 2 >= bytes || digit(text[at + 1]) < 0 || digit(text[at + 2]) < 0)
            return -1;
        text[to++] = (char)(digit(text[at + 1]) * 16 + digit(text[at + 2]));
        at += 2;
    }
    return (ptrdiff_t)to;
}

static bool add_decoded(hn_pairs *pairs, char *word, size_t bytes, hn_failure *why)
{
    char name[2 * HN_PAIR_NAME + 4];
    char *equals = memchr(word, '=', bytes);
    char *value = equals ? equals + 1 : word + bytes;
    const ptrdiff_t n = decode(word, equals ? (size_t)(equals - word) : bytes);
    const ptrdiff_t m = decode(value, (size_t)(word + bytes - value));
    if (n <= 0 || (size_t)n >= sizeof name || m < 0 || memchr(word, 0, (size_t)n))
        return hn_refuse_as(why, HN_REFUSED_INVALID, NULL, "the query: expected NAME=VALUE&...");
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    return hn_pairs_add(pairs, name, value, (size_t)m, why);
}

bool hn_pairs_of_query(hn_pairs *pairs, hn_heap *heap, const char *query, hn_failure *why)
{
    bool is_well = true;
    *pairs = (hn_pairs){ .heap = heap };
    char *words = hn_strdup(heap, HN_TAG_TEXT, query);
    if (!words)
        return hn_refuse_by(why, HN_ERR_MEMORY, NULL);
    for (char *at = words; is_well && *at;) {
        const size_t n = strcspn(at, "&");
        const bool is_last = !at[n];
        is_well = !n || add_decoded(pairs, at, n, why);
        at += is_last ? n : n + 1;
    }
    hn_free(heap, words);
    return is_well;
}

/* ---- as an object ---- */

static hn_kinds kinds_of(const hn_fields *fields, const char *name)
{
    for (size_t i = 0; fields && i < fields->n; i++)
        if (!strcmp(fields->of[i].name, name))
            return fields->of[i].kinds;
    return HN_IS_TEXT;
}

static void add_value(hn_json_writer *w, const hn_fields *fields, const char *name, const char *value)
{
    const size_t n = strlen(value), digits = strspn(value + (*value == '-'), "0123456789");
    const hn_kinds kinds = kinds_of(fields, name);
    const bool is_int = digits && digits < 18 && digits + (*value == '-') == n && (*value != '0' || n == 1);
    hn_json_key(w, name);
    if (is_int && (kinds & HN_IS_INT) && !(kinds & HN_IS_TEXT))
        hn_json_add_json(w, value, n);
    else
        hn_json_add_string(w, value);
}

static bool is_first(const hn_pairs *pairs, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (pairs->of[k].within[0] && !strcmp(pairs->of[k].name, pairs->of[i].name))
            return false;
    return true;
}

static void add_object(hn_json_writer *w, const hn_pairs *pairs, size_t i, const hn_fields *within)
{
    hn_json_key(w, pairs->of[i].name);
    hn_json_begin_object(w);
    for (size_t k = i; k < pairs->n; k++)
        if (pairs->of[k].within[0] && !strcmp(pairs->of[k].name, pairs->of[i].name))
            add_value(w, within, pairs->of[k].within, pairs->of[k].value);
    hn_json_end_object(w);
}

bool hn_pairs_read(const hn_pairs *pairs, const hn_fields *fields, const hn_fields *within, hn_json_text **out, hn_failure *why)
{
    hn_str json = hn_str_on(pairs->heap);
    hn_json_writer w = hn_json_write_to(&json);
    *out = NULL;
    hn_json_begin_object(&w);
    for (size_t i = 0; i < pairs->n; i++) {
        if (!pairs->of[i].within[0])
            add_value(&w, fields, pairs->of[i].name, pairs->of[i].value);
        else if (is_first(pairs, i))
            add_object(&w, pairs, i, within);
    }
    hn_json_end_object(&w);
    hn_status status = hn_str_status(&json);
    if (status == HN_OK)
        status = hn_json_read(pairs->heap, "the fields", json.text, json.length, out);
    hn_str_free(&json);
    if (status != HN_OK)
        return hn_refuse_by(why, status, NULL);
    if (hn_fields_check(fields, hn_json_root(*out), why))
        return true;
    hn_json_free(*out);
    *out = NULL;
    return false;
}

void hn_pairs_free(hn_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++)
        hn_free(pairs->heap, pairs->of[i].value);
    *pairs = (hn_pairs){ 0 };
}
