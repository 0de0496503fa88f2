/* A set of schemas that hold at one place is the key of a rule, and sets that were met are made one after the
 * other until none is left. So a schema that refers to itself ends: its set has a rule already. Alternatives
 * divide a set, everything else joins it; a reference that comes back to itself without a value between is
 * refused. */
#include "text/grammar/schema.h"

#include <math.h>
#include <string.h>

/* ---- naming ---- */

static void add_token_text(hn_str *to, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '~' || text[i] == '/')
            hn_str_add(to, text[i] == '~' ? "~0" : "~1");
        else
            hn_str_add_char(to, text[i]);
    }
}

/* The pointer of a value, which is searched for. */
static bool find_pointer(const hn_json *in, const hn_json *value, hn_str *to)
{
    const size_t length = to->length;
    size_t i = 0;
    if (in == value)
        return true;
    if (in->kind != HN_JSON_ARRAY && in->kind != HN_JSON_OBJECT)
        return false;
    for (const hn_json *v = hn_json_first(in); v && to->status == HN_OK; v = v->next, i++) {
        hn_str_add_char(to, '/');
        if (v->key)
            add_token_text(to, v->key, (size_t)v->key_bytes);
        else
            hn_str_print(to, "%zu", i);
        if (find_pointer(v, value, to))
            return true;
        to->length = length;
    }
    return false;
}

void hn_schema_refuse(hn_schema *s, hn_status code, const hn_json *at, const char *why)
{
    if (s->b->status != HN_OK)
        return;
    hn_str pointer = hn_str_on(s->b->heap);
    find_pointer(s->root, at, &pointer);
    const hn_status status = hn_str_status(&pointer);
    hn_build_fail(s->b, status != HN_OK ? status
                                        : hn_fail(code, "JSON schema: #%.*s: %s", pointer.length > 200 ? 200 : (int)pointer.length,
                                                  pointer.text, why));
    hn_str_free(&pointer);
}

/* ---- sets ---- */

const hn_json *hn_part_get(const hn_part *part, const char *keyword)
{
    return part->schema->kind == HN_JSON_OBJECT ? hn_json_get(part->schema, keyword) : NULL;
}

void hn_parts_add(hn_schema *s, hn_parts *p, hn_part part)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].schema == part.schema)
            return;
    if (!hn_build_step(s->b, 1 + (int64_t)p->n))
        return;
    if (p->n == p->room) {
        const size_t room = p->room ? 2 * p->room : 8;
        hn_part *at = hn_realloc_array(s->b->heap, HN_TAG_TEXT, p->at, room, sizeof *at);
        if (!at) {
            hn_build_fail(s->b, HN_ERR_MEMORY);
            return;
        }
        p->at = at;
        p->room = room;
    }
    p->at[p->n++] = part;
}

void hn_parts_free(const hn_schema *s, hn_parts *p)
{
    hn_free(s->b->heap, p->at);
    *p = (hn_parts){ 0 };
}

enum { PART_WORDS = sizeof(hn_part) / sizeof(uint32_t) };
_Static_assert(sizeof(hn_part) % sizeof(uint32_t) == 0, "a key is made of whole words");

uint32_t hn_schema_rule(hn_schema *s, const hn_parts *p)
{
    hn_build *b = s->b;
    const size_t n = s->keys.n, words = p->n * PART_WORDS;
    uint32_t *key = hn_alloc_array(b->heap, HN_TAG_TEXT, words + 1, sizeof *key);
    if (!key) {
        hn_build_fail(b, HN_ERR_MEMORY);
        return 0;
    }
    for (size_t i = 0; i < p->n; i++) { /* padding would be part of it */
        memcpy(key + i * PART_WORDS, &p->at[i].schema, sizeof p->at[i].schema);
        key[i * PART_WORDS + sizeof p->at[i].schema / sizeof *key] = p->at[i].done;
    }
    const uint32_t at = hn_met_add(b, &s->keys, key, words);
    hn_free(b->heap, key);
    if (s->keys.n == n)
        return b->status == HN_OK ? s->rules[at] : 0;
    if (s->keys.n > s->rule_room) {
        const size_t room = s->rule_room ? 2 * s->rule_room : 64;
        uint32_t *rules = hn_realloc_array(b->heap, HN_TAG_TEXT, s->rules, room, sizeof *rules);
        if (!rules) {
            hn_build_fail(b, HN_ERR_MEMORY);
            return 0;
        }
        s->rules = rules;
        s->rule_room = room;
    }
    return s->rules[at] = hn_build_rule_new(b);
}

static void take_set(hn_schema *s, size_t key, hn_parts *out)
{
    for (uint32_t i = s->keys.at[key]; i < s->keys.at[key + 1] && s->b->status == HN_OK; i += PART_WORDS) {
        hn_part part = { 0 };
        memcpy(&part.schema, s->keys.words + i, sizeof part.schema);
        part.done = s->keys.words[i + sizeof part.schema / sizeof(uint32_t)];
        hn_parts_add(s, out, part);
    }
}

/* ---- keywords ---- */

/* What the value of a keyword is. It is looked at also where values of another type are asked for, of which the keyword says
 * nothing: one that is written wrongly would say nothing without a word. */
typedef enum shape { ANYTHING, SCHEMA, SCHEMAS, ITEMS, MEMBERS, NAMES, LIST, TEXT, FORMAT, NUMBER, COUNT, BOOLEAN } shape;

static bool is_count(const hn_json *v)
{
    const double number = hn_json_number(v);
    return v->kind == HN_JSON_INT ? hn_json_int(v) >= 0 : v->kind == HN_JSON_DOUBLE && number >= 0 && number == floor(number);
}

static void check_shape(hn_schema *s, const hn_json *v, shape wanted)
{
    const bool is_list = v->kind == HN_JSON_ARRAY, is_schema = v->kind == HN_JSON_OBJECT || v->kind == HN_JSON_BOOL;
    const bool fits[] = {
        [ANYTHING] = true, [SCHEMA] = is_schema, [SCHEMAS] = is_list && hn_json_first(v), [ITEMS] = is_list || is_schema,
        [MEMBERS] = v->kind == HN_JSON_OBJECT, [NAMES] = is_list, [LIST] = is_list, [TEXT] = v->kind == HN_JSON_STRING,
        [FORMAT] = hn_schema_has_format(v), [NUMBER] = v->kind == HN_JSON_INT || v->kind == HN_JSON_DOUBLE, [COUNT] = is_count(v),
        [BOOLEAN] = v->kind == HN_JSON_BOOL,
    };
    static const char *const words[] = {
        [ANYTHING] = "", [SCHEMA] = "expected a schema, an object or true or false", [SCHEMAS] = "expected a list of schemas",
        [ITEMS] = "expected a schema, or a list of schemas", [MEMBERS] = "expected an object", [NAMES] = "expected a list of names",
        [LIST] = "expected a list", [TEXT] = "expected a string", [FORMAT] = "a format that is not held", [NUMBER] = "expected a number",
        [COUNT] = "expected a whole number of at least 0", [BOOLEAN] = "expected true or false",
    };
    if (!fits[wanted])
        hn_schema_refuse(s, wanted == FORMAT ? HN_ERR_UNSUPPORTED : HN_ERR_FORMAT, v, words[wanted]);
    for (const hn_json *name = wanted == NAMES ? hn_json_first(v) : NULL; name; name = name->next)
        if (name->kind != HN_JSON_STRING)
            hn_schema_refuse(s, HN_ERR_FORMAT, name, "expected a name");
}

/* Keywords that say nothing without another one, or beside it. */
static void check_beside(hn_schema *s, const hn_json *schema)
{
    const hn_json *items = hn_json_get(schema, "items"), *others = hn_json_get(schema, "additionalItems");
    const hn_json *nullable = hn_json_get(schema, "nullable");
    const bool is_list = items && items->kind == HN_JSON_ARRAY, has_prefix = hn_json_get(schema, "prefixItems");
    if (is_list && has_prefix)
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, items, "a list beside prefixItems: expected one of them");
    if (others && (!is_list || has_prefix))
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, others, "it is of items that are a list: beside prefixItems, items says what the others are");
    if (hn_json_is_true(nullable) && !hn_json_get(schema, "type"))
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, nullable, "it adds to a type, and there is none: expected anyOf with the type null");
}

static bool is_id(const hn_json *keyword) { return !strcmp(keyword->key, "$id") || !strcmp(keyword->key, "id"); }

static void check_keyword(hn_schema *s, const hn_json *schema, const hn_json *keyword)
{
    const char *key = keyword->key;
    const bool is_true = keyword->kind == HN_JSON_BOOL && hn_json_is_true(keyword);
    if (strlen(key) != (size_t)keyword->key_bytes) {
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, keyword, "an unknown keyword: it holds a NUL");
        return;
    }
#define HN_SAID(name)                                                                                                  \
    if (!strcmp(key, name))                                                                                            \
        return;
#define HN_HELD(name, wanted)                                                                                          \
    if (!strcmp(key, name)) {                                                                                          \
        check_shape(s, keyword, wanted);                                                                               \
        return;                                                                                                        \
    }
#define HN_REFUSED(name, why)                                                                                          \
    if (!strcmp(key, name) && !(is_true && !strncmp(key, "unevaluated", 11))) {                                        \
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, keyword, why);                                                         \
        return;                                                                                                        \
    }
#include "text/grammar/keywords.def"
#undef HN_HELD
#undef HN_SAID
#undef HN_REFUSED
    if (is_true && !strncmp(key, "unevaluated", 11))
        return;
    if (!strcmp(key, "uniqueItems")) {
        if (keyword->kind != HN_JSON_BOOL || is_true)
            hn_schema_refuse(s, HN_ERR_UNSUPPORTED, keyword, "that no item is there twice is not held");
    } else if (!is_id(keyword) || schema != s->root) {
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, keyword, is_id(keyword) ? "a name of its own within a schema is not held"
                                                                        : "an unknown keyword");
    }
}

void hn_schema_check(hn_schema *s, const hn_json *schema)
{
    if (schema->kind == HN_JSON_BOOL)
        return;
    if (schema->kind != HN_JSON_OBJECT) {
        hn_schema_refuse(s, HN_ERR_FORMAT, schema, "expected a schema, an object or true or false");
        return;
    }
    for (const hn_json *k = hn_json_first(schema); k && hn_build_step(s->b, 1); k = k->next)
        check_keyword(s, schema, k);
    check_beside(s, schema);
}

int64_t hn_schema_count(hn_schema *s, const hn_part *part, const char *keyword, int64_t otherwise)
{
    const hn_json *v = hn_part_get(part, keyword);
    if (!v)
        return otherwise;
    if (!is_count(v)) {
        hn_schema_refuse(s, HN_ERR_FORMAT, v, "expected a whole number of at least 0");
        return otherwise;
    }
    if (hn_json_number(v) > (double)s->b->limits.repetition) {
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, v, "a count beyond the limit");
        return otherwise;
    }
    return v->kind == HN_JSON_INT ? hn_json_int(v) : (int64_t)hn_json_number(v);
}

static uint32_t type_named(hn_schema *s, const hn_json *name)
{
    static const char *const names[] = { "null", "boolean", "integer", "number", "string", "array", "object" };
    static const uint32_t bits[] = { HN_TYPE_NULL, HN_TYPE_BOOLEAN, HN_TYPE_INTEGER, HN_TYPE_INTEGER | HN_TYPE_REAL,
                                     HN_TYPE_STRING, HN_TYPE_ARRAY, HN_TYPE_OBJECT };
    for (size_t i = 0; i < HN_COUNT(names) && name->kind == HN_JSON_STRING; i++)
        if (!strcmp(hn_json_string(name), names[i]))
            return bits[i];
    hn_schema_refuse(s, HN_ERR_FORMAT, name, "expected the name of a type");
    return 0;
}

uint32_t hn_schema_types(hn_schema *s, const hn_json *schema)
{
    if (schema->kind == HN_JSON_BOOL)
        return hn_json_is_true(schema) ? HN_TYPE_ALL : 0;
    const hn_json *type = hn_json_get(schema, "type"), *nullable = hn_json_get(schema, "nullable");
    uint32_t types = 0;
    if (nullable && nullable->kind != HN_JSON_BOOL)
        hn_schema_refuse(s, HN_ERR_FORMAT, nullable, "expected true or false");
    if (!type)
        return HN_TYPE_ALL;
    if (type->kind != HN_JSON_ARRAY)
        types = type_named(s, type);
    else
        for (const hn_json *t = hn_json_first(type); t; t = t->next)
            types |= type_named(s, t);
    return hn_json_is_true(nullable) ? types | HN_TYPE_NULL : types;
}

/* ---- references ---- */

static const hn_json *step_into(const hn_json *in, const char *token, size_t bytes)
{
    size_t index = 0;
    if (in->kind == HN_JSON_OBJECT) {
        for (const hn_json *v = hn_json_first(in); v; v = v->next)
            if ((size_t)v->key_bytes == bytes && !memcmp(v->key, token, bytes))
                return v;
        return NULL;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (token[i] < '0' || token[i] > '9' || index > SIZE_MAX / 20)
            return NULL;
        index = 10 * index + (size_t)(token[i] - '0');
    }
    return bytes ? hn_json_at(in, index) : NULL;
}

static int hex_value(char c)
{
    const char lower = (char)(c | 0x20);
    return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* A piece of a pointer in a fragment, with %41, ~0 and ~1 as what they stand for. */
static const char *read_token(hn_str *to, const char *at, const char *end)
{
    hn_str_clear(to);
    for (; at < end && *at != '/'; at++) {
        if (*at == '%' && end - at > 2 && hex_value(at[1]) >= 0 && hex_value(at[2]) >= 0) {
            hn_str_add_char(to, (char)(hex_value(at[1]) << 4 | hex_value(at[2])));
            at += 2;
        } else if (*at == '~' && end - at > 1 && (at[1] == '0' || at[1] == '1')) {
            hn_str_add_char(to, *++at == '0' ? '~' : '/');
        } else {
            hn_str_add_char(to, *at);
        }
    }
    return at;
}

static const hn_json *resolve(hn_schema *s, const hn_json *ref)
{
    if (ref->kind != HN_JSON_STRING) {
        hn_schema_refuse(s, HN_ERR_FORMAT, ref, "expected a string");
        return NULL;
    }
    const char *at = hn_json_string(ref), *end = at + hn_json_bytes(ref);
    if (at == end || *at != '#' || (end - at > 1 && at[1] != '/')) {
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, ref, "only references within the schema are followed, as #/$defs/name");
        return NULL;
    }
    const hn_json *found = s->root;
    hn_str token = hn_str_on(s->b->heap);
    for (at++; at < end && found;) {
        at = read_token(&token, at + 1, end);
        found = token.status == HN_OK ? step_into(found, token.text, token.length) : NULL;
    }
    hn_build_fail(s->b, hn_str_status(&token));
    hn_str_free(&token);
    if (!found)
        hn_schema_refuse(s, HN_ERR_FORMAT, ref, "refers to what is not there");
    if (++s->n_references > s->b->limits.references)
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, ref, "more references than the limit");
    return found;
}

/* Schemas that hold where this one does: what it refers to, and its alternatives. */
static bool reaches(hn_schema *s, const hn_json *from, const hn_json *to, hn_met *seen);

static bool reaches_list(hn_schema *s, const hn_json *list, const hn_json *to, hn_met *seen)
{
    for (const hn_json *v = hn_json_at(list, 0); v; v = v->next)
        if (v == to || reaches(s, v, to, seen))
            return true;
    return false;
}

static bool reaches(hn_schema *s, const hn_json *from, const hn_json *to, hn_met *seen)
{
    uint32_t key[sizeof from / sizeof(uint32_t)];
    const size_t n = seen->n;
    memcpy(key, &from, sizeof from);
    hn_met_add(s->b, seen, key, sizeof key / sizeof *key);
    if (seen->n == n || from->kind != HN_JSON_OBJECT || (int64_t)seen->n > s->b->limits.depth * 64)
        return false;
    const hn_json *ref = hn_json_get(from, "$ref"), *next = ref ? resolve(s, ref) : NULL;
    return (next && (next == to || reaches(s, next, to, seen))) || reaches_list(s, hn_json_get(from, "allOf"), to, seen) ||
           reaches_list(s, hn_json_get(from, "anyOf"), to, seen) || reaches_list(s, hn_json_get(from, "oneOf"), to, seen);
}

static void add_reference(hn_schema *s, hn_parts *p, const hn_json *schema, const hn_json *ref)
{
    hn_met seen = { 0 };
    const hn_json *to = resolve(s, ref);
    if (to && (to == schema || reaches(s, to, schema, &seen)))
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, ref, "refers to itself, with nothing between");
    hn_met_free(s->b, &seen);
    if (to)
        hn_parts_add(s, p, (hn_part){ to, 0 });
}

/* ---- sets to rules ---- */

static const hn_json *want_list(hn_schema *s, const hn_json *list)
{
    if (list->kind == HN_JSON_ARRAY && hn_json_first(list))
        return hn_json_first(list);
    hn_schema_refuse(s, HN_ERR_FORMAT, list, "expected a list of schemas");
    return NULL;
}

/* All that holds together, without what is free; false: nothing can. */
static bool gather(hn_schema *s, hn_parts *p)
{
    bool can = true;
    for (size_t i = 0; i < p->n && s->b->status == HN_OK; i++) {
        const hn_part part = p->at[i];
        hn_schema_check(s, part.schema);
        can &= part.schema->kind != HN_JSON_BOOL || hn_json_is_true(part.schema);
        const hn_json *ref = hn_part_get(&part, "$ref"), *all = hn_part_get(&part, "allOf");
        if (ref)
            add_reference(s, p, part.schema, ref);
        for (const hn_json *v = all ? want_list(s, all) : NULL; v && s->b->status == HN_OK; v = v->next)
            hn_parts_add(s, p, (hn_part){ v, 0 });
    }
    return can;
}

static void check_apart(hn_schema *s, const hn_json *list)
{
    for (const hn_json *a = hn_json_first(list); a && s->b->status == HN_OK; a = a->next)
        for (const hn_json *c = a->next; c; c = c->next)
            if (!hn_schema_are_apart(s, a, c)) {
                hn_schema_refuse(s, HN_ERR_UNSUPPORTED, c, "may hold together with another of oneOf: expected types, values or a "
                                                           "required member that tell them apart, or anyOf");
                return;
            }
}

/* Whether one of the set has alternatives: each is a set of its own. */
static bool divide(hn_schema *s, const hn_parts *p, uint32_t from, uint32_t to)
{
    static const char *const keywords[] = { "anyOf", "oneOf" };
    for (size_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < 2; k++) {
            const uint32_t bit = k ? HN_DONE_ONE : HN_DONE_ANY;
            const hn_json *list = hn_part_get(&p->at[i], keywords[k]);
            if (!list || p->at[i].done & bit)
                continue;
            const hn_json *v = want_list(s, list);
            if (k && v)
                check_apart(s, list);
            for (; v && s->b->status == HN_OK; v = v->next) {
                hn_parts with = { 0 };
                for (size_t j = 0; j < p->n; j++)
                    hn_parts_add(s, &with, (hn_part){ p->at[j].schema, p->at[j].done | (j == i ? bit : 0) });
                hn_parts_add(s, &with, (hn_part){ v, 0 });
                hn_build_call(s->b, from, hn_schema_rule(s, &with), to);
                hn_parts_free(s, &with);
            }
            return true;
        }
    return false;
}

static void add_types(hn_schema *s, const hn_parts *p, uint32_t types, uint32_t from, uint32_t to)
{
    if (types & HN_TYPE_NULL)
        hn_build_text(s->b, from, "null", 4, to);
    if (types & HN_TYPE_BOOLEAN) {
        hn_build_text(s->b, from, "true", 4, to);
        hn_build_text(s->b, from, "false", 5, to);
    }
    if (types & HN_TYPE_INTEGER)
        hn_schema_number(s, p, !(types & HN_TYPE_REAL), from, to);
    if (types & HN_TYPE_STRING)
        hn_schema_string(s, p, from, to);
    if (types & HN_TYPE_ARRAY)
        hn_schema_array(s, p, from, to);
    if (types & HN_TYPE_OBJECT)
        hn_schema_object(s, p, from, to);
}

static void make_set(hn_schema *s, size_t key)
{
    hn_parts p = { 0 };
    const uint32_t rule = s->rules[key];
    take_set(s, key, &p);
    if (gather(s, &p) && s->b->status == HN_OK) {
        const uint32_t from = s->b->rules[rule].start, to = s->b->rules[rule].end;
        if (!divide(s, &p, from, to)) {
            uint32_t types = HN_TYPE_ALL;
            for (size_t i = 0; i < p.n; i++)
                types &= hn_schema_types(s, p.at[i].schema);
            if (!hn_schema_values(s, &p, types, from, to))
                add_types(s, &p, types, from, to);
        }
    }
    hn_parts_free(s, &p);
}

/* ---- what all share ---- */

/* Nothing, a space, or a new line and what it is indented by. */
static void make_space(hn_schema *s)
{
    enum { INDENT = 40 };
    hn_build *b = s->b;
    s->space = hn_build_rule_new(b);
    if (b->status != HN_OK)
        return;
    const uint32_t from = b->rules[s->space].start, to = b->rules[s->space].end;
    uint32_t at = hn_build_node(b);
    hn_build_empty(b, from, to);
    hn_build_bytes(b, from, ' ', ' ', to);
    hn_build_bytes(b, from, '\n', '\n', at);
    for (int i = 0; i < INDENT; i++) {
        const uint32_t next = i + 1 < INDENT ? hn_build_node(b) : to;
        hn_build_empty(b, at, to);
        hn_build_bytes(b, at, ' ', ' ', next);
        hn_build_bytes(b, at, '\t', '\t', next);
        at = next;
    }
}

static void make_string(hn_schema *s)
{
    hn_build *b = s->b;
    s->string = hn_build_rule_new(b);
    if (b->status != HN_OK)
        return;
    const uint32_t inside = hn_build_node(b);
    hn_build_bytes(b, b->rules[s->string].start, '"', '"', inside);
    hn_build_json_char(b, inside, inside);
    hn_build_bytes(b, inside, '"', '"', b->rules[s->string].end);
}

/* The rule of a schema, which was read; failures are the build's. */
static uint32_t make_rule(hn_build *b, const hn_json *schema)
{
    hn_schema s = { .b = b, .root = schema };
    hn_parts p = { 0 };
    make_space(&s);
    make_string(&s);
    hn_parts_add(&s, &p, (hn_part){ s.root, 0 });
    const uint32_t root = hn_schema_rule(&s, &p);
    hn_parts_free(&s, &p);
    for (; s.n_made < s.keys.n && b->status == HN_OK; s.n_made++)
        make_set(&s, s.n_made);
    hn_met_free(b, &s.keys);
    hn_free(b->heap, s.rules);
    return root;
}

/* How deep arrays and objects nest, of what may be no JSON. */
static int64_t depth_of(const char *text, size_t bytes)
{
    int64_t depth = 0, most = 0;
    bool is_string = false;
    for (size_t i = 0; i < bytes; i++) {
        const char c = text[i];
        if (c == '"')
            is_string = !is_string;
        else if (is_string)
            i += c == '\\';
        else if (c == '{' || c == '[')
            most = ++depth > most ? depth : most;
        else if (c == '}' || c == ']')
            depth--;
    }
    return most;
}

uint32_t hn_build_schema(hn_build *b, const char *text, size_t bytes)
{
    hn_json_text *json = NULL;
    uint32_t rule = 0;
    if (b->status != HN_OK)
        return 0;
    if (depth_of(text, bytes) > b->limits.depth)
        b->status = hn_fail(HN_ERR_UNSUPPORTED, "a JSON schema that is nested deeper than %lld", (long long)b->limits.depth);
    else
        b->status = hn_json_read(b->heap, "JSON schema", text, bytes, &json);
    if (b->status == HN_OK)
        rule = make_rule(b, hn_json_root(json));
    hn_json_free(json);
    return rule;
}

hn_status hn_grammar_from_schema(hn_heap *heap, const char *text, size_t bytes, const hn_grammar_limits *limits, hn_grammar **out)
{
    *out = NULL;
    HN_REQUIRE((int64_t)bytes <= limits->bytes, HN_ERR_UNSUPPORTED, "a JSON schema of %zu bytes: expected at most %lld", bytes,
               (long long)limits->bytes);
    hn_build b = hn_build_on(heap, limits);
    const uint32_t root = hn_build_schema(&b, text, bytes);
    hn_status status = hn_build_finish(&b, root, out);
    if (status == HN_ERR_ARGUMENT)
        status = hn_fail_within(status, "JSON schema: ");
    hn_build_free(&b);
    return status;
}
