/* A body is held to its table before anything reads it, so a reader need not check: the getters take the value or
 * what it is otherwise. */
#include "server/fields.h"

#include "base/word_list.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    hn_kinds kind;
    const char *word;
} kinds[] = { { HN_IS_BOOL, "boolean" }, { HN_IS_INT, "integer" },  { HN_IS_NUMBER, "number" },
              { HN_IS_TEXT, "string" },  { HN_IS_ARRAY, "array" },  { HN_IS_OBJECT, "object" } };

void hn_kinds_text(hn_kinds of, char *to, size_t room)
{
    const char *words[6];
    int n = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (of & kinds[i].kind)
            words[n++] = kinds[i].word;
    hn_word_list(n, words, "or", to, room);
}

static hn_kinds kind_of(const hn_json *v)
{
    switch (v->kind) {
    case HN_JSON_BOOL: return HN_IS_BOOL;
    case HN_JSON_INT: return (hn_kinds)(HN_IS_INT | HN_IS_NUMBER);
    case HN_JSON_DOUBLE: return HN_IS_NUMBER;
    case HN_JSON_STRING: return HN_IS_TEXT;
    case HN_JSON_ARRAY: return HN_IS_ARRAY;
    default: return HN_IS_OBJECT;
    }
}

static const char *word_of(const hn_json *v)
{
    return v->kind == HN_JSON_INT ? "integer" : v->kind == HN_JSON_DOUBLE ? "number" : hn_json_kind_text(v->kind);
}

static double number_of(const hn_json *v)
{
    return hn_json_number(v);
}

static bool check_kind(const hn_field *f, const char *name, const hn_json *v, hn_failure *why)
{
    char expected[80];
    if (!(kind_of(v) & f->kinds)) {
        hn_kinds_text(f->kinds, expected, sizeof expected);
        return hn_refuse_as(why, HN_REFUSED_INVALID, name, "%s: expected %s, found %s", name, expected, word_of(v));
    }
    if ((v->kind == HN_JSON_INT || v->kind == HN_JSON_DOUBLE) && (f->low != 0 || f->high != 0) &&
        !(number_of(v) >= f->low && number_of(v) <= f->high))
        return hn_refuse_as(why, HN_REFUSED_INVALID, name, "%s: expected %.15g to %.15g, found %.15g", name, f->low, f->high,
                         number_of(v));
    /* they are taken as f32, of which the least would be 0: off, and not nearly all */
    if (v->kind == HN_JSON_DOUBLE && number_of(v) != 0 && fabs(number_of(v)) < (double)FLT_MIN)
        return hn_refuse_as(why, HN_REFUSED_INVALID, name, "%s: expected 0 or a number of at least %g, found %.15g", name, (double)FLT_MIN,
                         number_of(v));
    return true;
}

/* Labels of the client's own, as OpenAI's API has them. */
static bool check_labels(const hn_field *f, const char *name, const hn_json *v, hn_failure *why)
{
    enum { MOST = 16, MOST_KEY = 64, MOST_VALUE = 512 };
    if (!check_kind(f, name, v, why))
        return false;
    if (hn_json_count(v) > MOST)
        return hn_refuse_as(why, HN_REFUSED_INVALID, name, "%s: expected at most %d, found %zu", name, MOST, hn_json_count(v));
    for (const hn_json *label = hn_json_first(v); label; label = label->next)
        if (label->kind != HN_JSON_STRING || label->key_bytes > MOST_KEY || hn_json_bytes(label) > MOST_VALUE)
            return hn_refuse_as(why, HN_REFUSED_INVALID, name, "%s: expected strings of at most %d bytes under names of at most %d", name,
                                MOST_VALUE, MOST_KEY);
    return true;
}

static bool is_among(hn_field_names *names, const hn_json *v)
{
    const char *name;
    for (size_t i = 0; v->kind == HN_JSON_STRING && (name = names(i)); i++)
        if (strlen(name) == hn_json_bytes(v) && !strcmp(name, hn_json_string(v)))
            return true;
    return false;
}

/* One of the values, each compared as it is written. */
static bool is_named(const hn_field *f, const hn_json *v)
{
    char written[64];
    if (f->names)
        return is_among(f->names, v);
    if (v->kind == HN_JSON_STRING)
        snprintf(written, sizeof written, "\"%s\"", hn_json_string(v));
    else if (v->kind == HN_JSON_BOOL)
        snprintf(written, sizeof written, "%s", hn_json_is_true(v) ? "true" : "false");
    else if ((v->kind == HN_JSON_INT || v->kind == HN_JSON_DOUBLE) && number_of(v) == floor(number_of(v)) && fabs(number_of(v)) < 1e9)
        snprintf(written, sizeof written, "%d", (int)number_of(v));
    else if (v->kind == HN_JSON_ARRAY && !hn_json_count(v))
        snprintf(written, sizeof written, "[]");
    else if (v->kind == HN_JSON_ARRAY && hn_json_count(v) == 1 && hn_json_first(v)->kind == HN_JSON_STRING)
        snprintf(written, sizeof written, "[\"%s\"]", hn_json_string(hn_json_first(v)));
    else
        return false;
    return !strchr(written, ' ') && hn_word_is_in(f->values, written);
}

static bool refuse_value(const hn_field *f, const char *name, hn_failure *why)
{
    const char *words[32];
    char list[400];
    int n = 0;
    if (!f->names)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, name, "%s: expected one of %s", name, f->values);
    while (n < (int)(sizeof words / sizeof *words) && (words[n] = f->names((size_t)n)))
        n++;
    hn_word_list(n, words, "or", list, sizeof list);
    return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, name, "%s: expected %s", name, list);
}

static bool check_field(const hn_field *f, const char *name, const hn_json *v, hn_failure *why)
{
    switch (f->use) {
    case HN_USE_REFUSED:
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, name, "%s: not supported: %s", name, f->note);
    case HN_USE_LABELS:
        return check_labels(f, name, v, why);
    case HN_USE_NAMED:
        return is_named(f, v) || refuse_value(f, name, why);
    default:
        return check_kind(f, name, v, why);
    }
}

hn_field_way hn_field_way_to(const char *way, const char *name)
{
    hn_field_way to;
    snprintf(to.text, sizeof to.text, "%.40s%.20s.", way, name);
    return to;
}

hn_field_way hn_field_way_at(const char *way, const char *name, size_t index)
{
    hn_field_way to;
    snprintf(to.text, sizeof to.text, "%.36s%.16s[%zu].", way, name, index % 10000000);
    return to;
}

hn_field_key hn_field_key_of(const char *name)
{
    hn_field_key key = { { 0 } };
    for (size_t i = 0; name[i] && i + 1 < sizeof key.text; i++)
        key.text[i] = name[i] == '-' ? '_' : name[i];
    return key;
}

static bool is_called(const char *name, const hn_json *v)
{
    return strlen(name) == (size_t)v->key_bytes && !strcmp(name, v->key);
}

static const hn_field *find(const hn_fields *fields, const hn_json *v)
{
    const char *name;
    for (size_t i = 0; i < fields->n; i++) {
        const hn_field *f = &fields->of[i];
        if (f->name && is_called(f->name, v))
            return f;
        for (size_t k = 0; !f->name && (name = f->names(k)); k++)
            if (is_called(hn_field_key_of(name).text, v))
                return f;
    }
    return NULL;
}

bool hn_field_is_read(const hn_fields *fields, const hn_json *v)
{
    const hn_field *f = find(fields, v);
    return f && (f->use == HN_USE_DONE || f->use == HN_USE_NAMED);
}

bool hn_fields_check_within(const hn_fields *fields, const char *within, const hn_json *object, hn_failure *why)
{
    if (object->kind != HN_JSON_OBJECT)
        return hn_refuse_as(why, HN_REFUSED_INVALID, within, "%s: expected an object, found %s", *within ? within : "the body",
                         word_of(object));
    for (const hn_json *v = hn_json_first(object); v; v = v->next) {
        char name[128];
        const hn_field *f = find(fields, v);
        snprintf(name, sizeof name, "%.63s%.60s", within, v->key);
        if (!f)
            return hn_refuse_as(why, HN_REFUSED_UNKNOWN_FIELD, name, "%s: no field of %s", name, fields->api);
        if (v->kind != HN_JSON_NULL && !check_field(f, name, v, why))
            return false;
    }
    return true;
}

static bool has_nul(const char *text, size_t bytes) { return bytes && memchr(text, 0, bytes); }

/* Words are compared, and handed on, to their first NUL: what stands behind one would be read past. So there is none in a body, neither in
 * a name nor in a text, however deep: as deep as JSON is read. */
static bool holds_nul(const hn_json *v)
{
    bool holds = v->kind == HN_JSON_STRING && has_nul(hn_json_string(v), hn_json_bytes(v));
    for (const hn_json *part = hn_json_first(v); part && !holds; part = part->next)
        holds = (part->key && has_nul(part->key, (size_t)part->key_bytes)) || holds_nul(part);
    return holds;
}

bool hn_fields_check(const hn_fields *fields, const hn_json *body, hn_failure *why)
{
    if (!hn_fields_check_within(fields, "", body, why)) /* which knows the names */
        return false;
    for (const hn_json *v = hn_json_first(body); v; v = v->next)
        if (holds_nul(v))
            return hn_refuse_as(why, HN_REFUSED_INVALID, v->key, "%.60s: holds a NUL", v->key);
    return true;
}

bool hn_field_is_of(const hn_json *object, const char *within, const char *name, const char *type, hn_failure *why)
{
    char way[128];
    if (!hn_field_of(object, name) || !strcmp(hn_field_text(object, "type", ""), type))
        return true;
    snprintf(way, sizeof way, "%.63s%.60s", within, name);
    return hn_refuse_as(why, HN_REFUSED_INVALID, way, "%s: of type %s alone", way, type);
}

const hn_json *hn_field_of(const hn_json *body, const char *name)
{
    const hn_json *v = hn_json_get(body, name);
    return v && v->kind != HN_JSON_NULL ? v : NULL;
}

double hn_field_number(const hn_json *body, const char *name, double otherwise)
{
    const hn_json *v = hn_field_of(body, name);
    return v ? number_of(v) : otherwise;
}

int64_t hn_field_int(const hn_json *body, const char *name, int64_t otherwise)
{
    const hn_json *v = hn_field_of(body, name);
    return v && v->kind == HN_JSON_INT ? hn_json_int(v) : otherwise;
}

bool hn_field_bool(const hn_json *body, const char *name, bool otherwise)
{
    const hn_json *v = hn_field_of(body, name);
    return v && v->kind == HN_JSON_BOOL ? hn_json_is_true(v) : otherwise;
}

const char *hn_field_text(const hn_json *body, const char *name, const char *otherwise)
{
    const hn_json *v = hn_field_of(body, name);
    return v && v->kind == HN_JSON_STRING ? hn_json_string(v) : otherwise;
}
