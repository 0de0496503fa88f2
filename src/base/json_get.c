/* The reading half that does not parse: values by key and place, and what was expected where another kind is
 * found. */
#include "base/json.h"

#include <string.h>

const hn_json *hn_json_get(const hn_json *value, const char *key)
{
    if (!value || value->kind != HN_JSON_OBJECT)
        return NULL;
    const size_t bytes = strlen(key);
    for (const hn_json *v = value->as.children.first; v; v = v->next)
        if ((size_t)v->key_bytes == bytes && !memcmp(v->key, key, bytes))
            return v;
    return NULL;
}

const hn_json *hn_json_at(const hn_json *value, size_t index)
{
    if (!value || value->kind != HN_JSON_ARRAY)
        return NULL;
    const hn_json *v = value->as.children.first;
    while (v && index--)
        v = v->next;
    return v;
}

const char *hn_json_kind_text(hn_json_kind kind)
{
    static const char *const texts[] = { "null",     "true or false", "an integer", "a number",
                                         "a string", "an array",      "an object" };
    return texts[kind];
}

static bool has_children(const hn_json *value) { return value && (value->kind == HN_JSON_ARRAY || value->kind == HN_JSON_OBJECT); }
const hn_json *hn_json_first(const hn_json *value) { return has_children(value) ? value->as.children.first : NULL; }
size_t hn_json_count(const hn_json *value) { return has_children(value) ? value->as.children.n : 0; }

const char *hn_json_string(const hn_json *value) { return value && value->kind == HN_JSON_STRING ? value->as.string.text : ""; }
size_t hn_json_bytes(const hn_json *value) { return value && value->kind == HN_JSON_STRING ? value->as.string.bytes : 0; }

int64_t hn_json_int(const hn_json *value) { return value && value->kind == HN_JSON_INT ? value->as.integer : 0; }
bool hn_json_is_true(const hn_json *value) { return value && value->kind == HN_JSON_BOOL && value->as.boolean; }

double hn_json_number(const hn_json *value)
{
    return value && value->kind == HN_JSON_DOUBLE ? value->as.number : (double)hn_json_int(value);
}

const char *hn_json_source(const hn_json *value) { return value && value->kind == HN_JSON_DOUBLE ? value->as.real.source : NULL; }

hn_json hn_json_of_string(const char *text, size_t bytes)
{
    return (hn_json){ .kind = HN_JSON_STRING, .as.string = { text, bytes } };
}

static hn_status mismatch(const hn_json *value, const char *what, hn_json_kind expected)
{
    return hn_fail(HN_ERR_FORMAT, "%s: expected %s, found %s", what,
                   hn_json_kind_text(expected),
                   value ? hn_json_kind_text(value->kind) : "nothing");
}

hn_status hn_json_want_int(const hn_json *value, const char *what, int64_t *out)
{
    if (!value || value->kind != HN_JSON_INT)
        return mismatch(value, what, HN_JSON_INT);
    *out = value->as.integer;
    return HN_OK;
}

hn_status hn_json_want_double(const hn_json *value, const char *what, double *out)
{
    if (value && value->kind == HN_JSON_INT) {
        *out = (double)value->as.integer;
        return HN_OK;
    }
    if (!value || value->kind != HN_JSON_DOUBLE)
        return mismatch(value, what, HN_JSON_DOUBLE);
    *out = value->as.number;
    return HN_OK;
}

hn_status hn_json_want_bool(const hn_json *value, const char *what, bool *out)
{
    if (!value || value->kind != HN_JSON_BOOL)
        return mismatch(value, what, HN_JSON_BOOL);
    *out = value->as.boolean;
    return HN_OK;
}

hn_status hn_json_want_string(const hn_json *value, const char *what, const char **out)
{
    if (!value || value->kind != HN_JSON_STRING)
        return mismatch(value, what, HN_JSON_STRING);
    HN_REQUIRE(strlen(value->as.string.text) == value->as.string.bytes, HN_ERR_FORMAT,
               "%s: a string with a zero byte in it", what);
    *out = value->as.string.text;
    return HN_OK;
}
