/* Values that are listed by enum and const, and whether two schemas can hold together. */
#include "text/grammar/schema.h"

#include <string.h>

static bool is_number(const hn_json *v) { return v->kind == HN_JSON_INT || v->kind == HN_JSON_DOUBLE; }
static double number_of(const hn_json *v) { return hn_json_number(v); }

/* By what was written: two doubles may be the same of numbers that are not. */
static bool same_number(const hn_json *a, const hn_json *b)
{
    hn_decimal x, y;
    if (hn_decimal_of(a, &x) && hn_decimal_of(b, &y))
        return !hn_decimal_compare(&x, &y);
    return number_of(a) == number_of(b) && !hn_json_source(a) && !hn_json_source(b);
}

static bool same_value(const hn_json *a, const hn_json *b)
{
    if (is_number(a) && is_number(b))
        return same_number(a, b);
    if (a->kind != b->kind)
        return false;
    if (a->kind == HN_JSON_BOOL)
        return hn_json_is_true(a) == hn_json_is_true(b);
    if (a->kind == HN_JSON_STRING)
        return hn_json_bytes(a) == hn_json_bytes(b) && !memcmp(hn_json_string(a), hn_json_string(b), hn_json_bytes(a));
    if (a->kind == HN_JSON_NULL)
        return true;
    if (hn_json_count(a) != hn_json_count(b))
        return false;
    const hn_json *y = hn_json_first(b);
    for (const hn_json *x = hn_json_first(a); x; x = x->next, y = y->next) {
        const hn_json *other = a->kind == HN_JSON_OBJECT ? hn_json_get(b, x->key) : y;
        if (!other || !same_value(x, other))
            return false;
    }
    return true;
}

static uint32_t type_of(const hn_json *v)
{
    switch (v->kind) {
    case HN_JSON_NULL: return HN_TYPE_NULL;
    case HN_JSON_BOOL: return HN_TYPE_BOOLEAN;
    case HN_JSON_INT: return HN_TYPE_INTEGER;
    case HN_JSON_DOUBLE: return hn_json_number(v) == (double)(int64_t)(hn_json_number(v) < 9e15 && hn_json_number(v) > -9e15 ? hn_json_number(v) : 0.5)
                                    ? HN_TYPE_INTEGER : HN_TYPE_REAL;
    case HN_JSON_STRING: return HN_TYPE_STRING;
    case HN_JSON_ARRAY: return HN_TYPE_ARRAY;
    default: return HN_TYPE_OBJECT;
    }
}

static bool is_listed(const hn_json *schema, const hn_json *value)
{
    const hn_json *only = hn_json_get(schema, "const"), *list = hn_json_get(schema, "enum");
    bool found = !list;
    for (const hn_json *v = hn_json_at(list, 0); v && !found; v = v->next)
        found = same_value(v, value);
    return found && (!only || same_value(only, value));
}

/* ---- as texts ---- */

static void add_value(hn_schema *s, const hn_json *v, uint32_t from, uint32_t to);

static uint32_t add_space(hn_schema *s, uint32_t from)
{
    const uint32_t to = hn_build_node(s->b);
    hn_build_call(s->b, from, s->space, to);
    return to;
}

static void add_children(hn_schema *s, const hn_json *v, uint32_t from, uint32_t to)
{
    const bool is_object = v->kind == HN_JSON_OBJECT;
    uint32_t at = hn_build_node(s->b);
    hn_build_text(s->b, from, is_object ? "{" : "[", 1, at);
    at = add_space(s, at);
    for (const hn_json *c = hn_json_first(v); c && s->b->status == HN_OK; c = c->next) {
        if (is_object) {
            const uint32_t key = hn_build_node(s->b), colon = hn_build_node(s->b);
            hn_schema_text(s, c->key, (size_t)c->key_bytes, at, key);
            hn_build_text(s->b, key, ":", 1, colon);
            at = add_space(s, colon);
        }
        const uint32_t end = hn_build_node(s->b);
        add_value(s, c, at, end);
        at = end;
        if (c->next) {
            const uint32_t comma = hn_build_node(s->b);
            hn_build_text(s->b, at, ",", 1, comma);
            at = comma;
        }
        at = add_space(s, at);
    }
    hn_build_text(s->b, at, is_object ? "}" : "]", 1, to);
}

static void add_value(hn_schema *s, const hn_json *v, uint32_t from, uint32_t to)
{
    hn_str text = hn_str_on(s->b->heap);
    if (v->kind == HN_JSON_STRING) {
        hn_schema_text(s, hn_json_string(v), hn_json_bytes(v), from, to);
    } else if (v->kind == HN_JSON_ARRAY || v->kind == HN_JSON_OBJECT) {
        add_children(s, v, from, to);
    } else {
        hn_json_writer w = hn_json_write_to(&text);
        hn_json_add_scalar(&w, v);
        hn_build_fail(s->b, hn_str_status(&text));
        hn_build_text(s->b, from, text.text, text.length, to);
    }
    hn_str_free(&text);
}

/* ---- those that hold ---- */

/* A set's strings and numbers, made when the first value asks. */
typedef struct bounds {
    hn_automaton strings, numbers;
    bool has_strings, asked_strings, asked_numbers;
} bounds;

static bool text_holds(hn_schema *s, const hn_parts *p, bounds *b, const hn_json *v)
{
    if (!b->asked_strings)
        b->has_strings = hn_schema_string_automaton(s, p, &b->strings);
    b->asked_strings = true;
    return !b->has_strings || hn_automaton_has(&b->strings, hn_json_string(v), hn_json_bytes(v));
}

/* Only where something bounds numbers: those of a list may have an exponent. */
static bool number_holds(hn_schema *s, const hn_parts *p, bounds *b, const hn_json *v)
{
    bool is_bounded = false;
    char digits[HN_DECIMAL_DIGITS + 2];
    hn_decimal d;
    for (size_t i = 0; i < p->n; i++)
        is_bounded |= hn_part_bounds_numbers(&p->at[i]);
    if (!is_bounded)
        return true;
    if (!b->asked_numbers)
        hn_schema_number_automaton(s, p, false, &b->numbers);
    b->asked_numbers = true;
    if (!hn_decimal_of(v, &d))
        return false;
    size_t n = 0;
    if (d.is_negative)
        digits[n++] = '-';
    for (uint32_t i = 0; i < d.n + d.n_fraction; i++) {
        if (i == d.n)
            digits[n++] = '.';
        digits[n++] = d.digits[i];
    }
    return hn_automaton_has(&b->numbers, digits, n);
}

/* What arrays and objects must be is not looked into. */
static void refuse_structure(hn_schema *s, const hn_parts *p, const hn_json *list)
{
    static const char *const keywords[] = { "properties", "patternProperties", "additionalProperties", "propertyNames", "required",
                                            "minProperties", "maxProperties", "items", "prefixItems", "additionalItems", "minItems",
                                            "maxItems" };
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < HN_COUNT(keywords); k++)
            if (hn_part_get(&p->at[i], keywords[k])) {
                hn_schema_refuse(s, HN_ERR_UNSUPPORTED, list, "lists arrays or objects beside keywords that bound them");
                return;
            }
}

static bool holds(hn_schema *s, const hn_parts *p, bounds *b, uint32_t types, const hn_json *v, const hn_json *list)
{
    if (!(type_of(v) & types))
        return false;
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].schema->kind == HN_JSON_OBJECT && !is_listed(p->at[i].schema, v))
            return false;
    if (v->kind == HN_JSON_STRING)
        return text_holds(s, p, b, v);
    if (is_number(v))
        return number_holds(s, p, b, v);
    if (v->kind == HN_JSON_ARRAY || v->kind == HN_JSON_OBJECT)
        refuse_structure(s, p, list);
    return true;
}

bool hn_schema_values(hn_schema *s, const hn_parts *p, uint32_t types, uint32_t from, uint32_t to)
{
    bounds b = { 0 };
    for (size_t i = 0; i < p->n; i++) {
        const hn_json *only = hn_part_get(&p->at[i], "const"), *list = hn_part_get(&p->at[i], "enum");
        if (!only && !list)
            continue;
        if (!only && list->kind != HN_JSON_ARRAY)
            hn_schema_refuse(s, HN_ERR_FORMAT, list, "expected a list");
        const hn_json *v = only ? only : list->kind == HN_JSON_ARRAY ? hn_json_first(list) : NULL;
        for (; v && s->b->status == HN_OK; v = only ? NULL : v->next)
            if (holds(s, p, &b, types, v, only ? only : list))
                add_value(s, v, from, to);
        hn_automaton_free(&b.strings);
        hn_automaton_free(&b.numbers);
        return true;
    }
    return false;
}

/* ---- what cannot hold together ---- */

/* A schema by what it refers to alone; NULL: it is none that can be told from others. */
static const hn_json *plain(const hn_schema *s, const hn_json *schema)
{
    for (int i = 0; i < 16 && schema; i++) {
        const hn_json *ref = hn_json_get(schema, "$ref");
        if (!ref || ref->kind != HN_JSON_STRING)
            return schema->kind == HN_JSON_OBJECT ? schema : NULL;
        const char *text = hn_json_string(ref);
        if (strpbrk(text, "~%")) /* spelled otherwise than the name that it stands for */
            return NULL;
        const bool is_def = !strncmp(text, "#/$defs/", 8), is_definition = !strncmp(text, "#/definitions/", 14);
        const hn_json *defs = hn_json_get(s->root, is_def ? "$defs" : "definitions");
        if (strchr(text + 2, '/') != strrchr(text, '/'))
            return NULL;
        schema = is_def || is_definition ? hn_json_get(defs, text + (is_def ? 8 : 14)) : NULL;
    }
    return NULL;
}

static bool lists_apart(const hn_json *a, const hn_json *b)
{
    const hn_json *only = hn_json_get(a, "const"), *list = hn_json_get(a, "enum");
    if (!only && (!list || list->kind != HN_JSON_ARRAY))
        return false;
    if (!hn_json_get(b, "const") && !hn_json_get(b, "enum"))
        return false;
    for (const hn_json *v = only ? only : hn_json_first(list); v; v = only ? NULL : v->next)
        if (is_listed(b, v))
            return false;
    return true;
}

static uint32_t types_of(hn_schema *s, const hn_json *schema)
{
    const hn_json *only = hn_json_get(schema, "const"), *list = hn_json_get(schema, "enum");
    uint32_t types = only ? type_of(only) : 0;
    for (const hn_json *v = only ? NULL : hn_json_at(list, 0); v; v = v->next)
        types |= type_of(v);
    return hn_schema_types(s, schema) & (only || list ? types : (uint32_t)HN_TYPE_ALL);
}

static bool requires(const hn_json *schema, const char *name)
{
    const hn_json *list = hn_json_get(schema, "required");
    for (const hn_json *v = hn_json_at(list, 0); v; v = v->next)
        if (v->kind == HN_JSON_STRING && !strcmp(hn_json_string(v), name))
            return true;
    return false;
}

bool hn_schema_are_apart(hn_schema *s, const hn_json *a, const hn_json *b)
{
    a = plain(s, a);
    b = plain(s, b);
    if (!a || !b)
        return false;
    const uint32_t both = types_of(s, a) & types_of(s, b);
    if (!both || lists_apart(a, b))
        return true;
    if (both != HN_TYPE_OBJECT)
        return false;
    const hn_json *members = hn_json_get(a, "properties"), *others = hn_json_get(b, "properties");
    for (const hn_json *m = members && members->kind == HN_JSON_OBJECT ? hn_json_first(members) : NULL; m; m = m->next) {
        const hn_json *other = hn_json_get(others, m->key), *x = plain(s, m), *y = other ? plain(s, other) : NULL;
        if (x && y && requires(a, m->key) && requires(b, m->key) && (lists_apart(x, y) || !(types_of(s, x) & types_of(s, y))))
            return true;
    }
    return false;
}
