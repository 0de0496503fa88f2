/* Objects: the members that are named, in their order, and after them others. A node for each member that may come next and each
 * number of members that makes a difference. */
#include "text/grammar/schema.h"

#include <string.h>

enum { MOST_PATTERNS = 5 };

typedef struct member {
    const char *name;
    size_t bytes;
    bool is_required;
    uint32_t rule; /* of the whole member: name, colon and value */
} member;

typedef struct object {
    hn_schema *s;
    const hn_parts *p;
    member *members;
    size_t n, room;
    const hn_json *patterns[MOST_PATTERNS]; /* of patternProperties: keys are patterns */
    hn_automaton pattern[MOST_PATTERNS];
    int n_patterns;
    hn_automaton names, inverse[MOST_PATTERNS]; /* names: what no member is called */
    uint32_t others; /* a rule of all others */
    int64_t least, most;
} object;

static bool is_object(hn_schema *s, const hn_json *v)
{
    if (v && v->kind != HN_JSON_OBJECT)
        hn_schema_refuse(s, HN_ERR_FORMAT, v, "expected an object");
    return v && v->kind == HN_JSON_OBJECT;
}

static member *find_member(object *o, const char *name, size_t bytes)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->members[i].bytes == bytes && !memcmp(o->members[i].name, name, bytes))
            return &o->members[i];
    return NULL;
}

static member *add_member(object *o, const char *name, size_t bytes)
{
    member *known = find_member(o, name, bytes);
    if (known || !hn_build_step(o->s->b, 1 + (int64_t)o->n))
        return known;
    if (o->n == o->room) {
        const size_t room = o->room ? 2 * o->room : 16;
        member *members = hn_realloc_array(o->s->b->heap, HN_TAG_TEXT, o->members, room, sizeof *members);
        if (!members) {
            hn_build_fail(o->s->b, HN_ERR_MEMORY);
            return NULL;
        }
        o->members = members;
        o->room = room;
    }
    o->members[o->n] = (member){ .name = name, .bytes = bytes };
    return &o->members[o->n++];
}

static void add_required(object *o, const hn_json *list)
{
    if (list->kind != HN_JSON_ARRAY) {
        hn_schema_refuse(o->s, HN_ERR_FORMAT, list, "expected a list of names");
        return;
    }
    for (const hn_json *v = hn_json_first(list); v && o->s->b->status == HN_OK; v = v->next) {
        member *m = v->kind == HN_JSON_STRING ? add_member(o, hn_json_string(v), hn_json_bytes(v)) : NULL;
        if (m)
            m->is_required = true;
        else
            hn_schema_refuse(o->s, HN_ERR_FORMAT, v, "expected a name");
    }
}

static void add_patterns(object *o, const hn_json *patterns)
{
    for (const hn_json *v = hn_json_first(patterns); v && o->s->b->status == HN_OK; v = v->next) {
        if (o->n_patterns == MOST_PATTERNS) {
            hn_schema_refuse(o->s, HN_ERR_UNSUPPORTED, v, "more patterns than are held together");
            return;
        }
        const int i = o->n_patterns++;
        o->patterns[i] = v;
        hn_automaton_of_pattern(o->s->b, "JSON schema: patternProperties", v->key, (size_t)v->key_bytes, HN_ANYWHERE, &o->pattern[i]);
    }
}

static void gather(object *o)
{
    hn_schema *s = o->s;
    for (size_t i = 0; i < o->p->n && s->b->status == HN_OK; i++) {
        const hn_part *part = &o->p->at[i];
        const hn_json *members = hn_part_get(part, "properties"), *patterns = hn_part_get(part, "patternProperties");
        const int64_t least = hn_schema_count(s, part, "minProperties", 0), most = hn_schema_count(s, part, "maxProperties", -1);
        o->least = least > o->least ? least : o->least;
        o->most = most >= 0 && (o->most < 0 || most < o->most) ? most : o->most;
        if (is_object(s, members))
            for (const hn_json *m = hn_json_first(members); m; m = m->next)
                add_member(o, m->key, (size_t)m->key_bytes);
        if (is_object(s, patterns))
            add_patterns(o, patterns);
    }
    for (size_t i = 0; i < o->p->n && s->b->status == HN_OK; i++) {
        const hn_json *required = hn_part_get(&o->p->at[i], "required");
        if (required)
            add_required(o, required);
    }
}

/* ---- values ---- */

/* What one of the set says of a member: `matches` has a bit for each pattern that its name matches. */
static void add_value_of(object *o, const hn_part *part, const member *m, uint32_t matches, hn_parts *to)
{
    const hn_json *members = hn_part_get(part, "properties"), *others = hn_part_get(part, "additionalProperties");
    const hn_json *patterns = hn_part_get(part, "patternProperties");
    bool is_known = false;
    for (const hn_json *v = m ? hn_json_first(members) : NULL; v && !is_known; v = v->next)
        if ((size_t)v->key_bytes == m->bytes && !memcmp(v->key, m->name, m->bytes)) {
            hn_parts_add(o->s, to, (hn_part){ v, 0 });
            is_known = true;
        }
    for (int i = 0; i < o->n_patterns; i++)
        for (const hn_json *v = hn_json_first(patterns); v; v = v->next)
            if (matches >> i & 1 && v == o->patterns[i]) {
                hn_parts_add(o->s, to, (hn_part){ v, 0 });
                is_known = true;
            }
    if (!is_known && others)
        hn_parts_add(o->s, to, (hn_part){ others, 0 });
}

/* A value after a key and its colon. */
static void add_value(object *o, const member *m, uint32_t matches, uint32_t from, uint32_t to)
{
    hn_build *b = o->s->b;
    hn_parts value = { 0 };
    const uint32_t colon = hn_build_node(b), at = hn_build_node(b);
    for (size_t i = 0; i < o->p->n; i++)
        add_value_of(o, &o->p->at[i], m, matches, &value);
    hn_build_text(b, from, ":", 1, colon);
    hn_build_call(b, colon, o->s->space, at);
    hn_build_call(b, at, hn_schema_rule(o->s, &value), to);
    hn_parts_free(o->s, &value);
}

/* propertyNames of all, into the automaton; true: there is one. */
static bool bound_names(object *o, hn_automaton *out)
{
    hn_parts p = { 0 };
    *out = (hn_automaton){ 0 };
    for (size_t i = 0; i < o->p->n; i++) {
        const hn_json *names = hn_part_get(&o->p->at[i], "propertyNames");
        if (names && names->kind == HN_JSON_OBJECT && !(hn_schema_types(o->s, names) & HN_TYPE_STRING))
            hn_schema_refuse(o->s, HN_ERR_UNSUPPORTED, names, "expected bounds of strings");
        for (const hn_json *k = is_object(o->s, names) ? hn_json_first(names) : NULL; k; k = k->next)
            if (strcmp(k->key, "pattern") && strcmp(k->key, "format") && strcmp(k->key, "minLength") && strcmp(k->key, "maxLength") &&
                strcmp(k->key, "type") && strcmp(k->key, "title") && strcmp(k->key, "description"))
                hn_schema_refuse(o->s, HN_ERR_UNSUPPORTED, k, "of names, pattern, format and lengths are held");
        if (names)
            hn_schema_check(o->s, names);
        if (names)
            hn_parts_add(o->s, &p, (hn_part){ names, 0 });
    }
    const bool has_bound = p.n && hn_schema_string_automaton(o->s, &p, out);
    hn_parts_free(o->s, &p);
    return has_bound;
}

static void make_members(object *o)
{
    hn_build *b = o->s->b;
    hn_automaton names;
    const bool is_bounded = bound_names(o, &names);
    for (size_t i = 0; i < o->n && b->status == HN_OK; i++) {
        member *m = &o->members[i];
        uint32_t matches = 0;
        for (int k = 0; k < o->n_patterns; k++)
            matches |= (uint32_t)hn_automaton_has(&o->pattern[k], m->name, m->bytes) << k;
        m->rule = hn_build_rule_new(b);
        if (b->status != HN_OK || (is_bounded && !hn_automaton_has(&names, m->name, m->bytes)))
            continue;
        const uint32_t colon = hn_build_node(b);
        hn_schema_text(o->s, m->name, m->bytes, b->rules[m->rule].start, colon);
        add_value(o, m, matches, colon, b->rules[m->rule].end);
    }
    hn_automaton_free(&names);
}

/* ---- others ---- */

/* Texts that are no member's name. */
static void exclude_names(object *o)
{
    hn_build *b = o->s->b;
    hn_nfa nfa = { 0 };
    nfa.begin = hn_nfa_state(b, &nfa);
    nfa.end = hn_nfa_state(b, &nfa);
    for (size_t i = 0; i < o->n && b->status == HN_OK; i++) {
        const uint8_t *at = (const uint8_t *)o->members[i].name, *end = at + o->members[i].bytes;
        uint32_t state = nfa.begin;
        while (at < end && b->status == HN_OK) {
            uint32_t code;
            at += hn_char_at(at, end, &code);
            const uint32_t next = hn_nfa_state(b, &nfa);
            hn_nfa_add(b, &nfa, (hn_nfa_step){ HN_STEP_CHARS, state, code, code, next });
            state = next;
        }
        hn_nfa_add(b, &nfa, (hn_nfa_step){ .kind = HN_STEP_EMPTY, .from = state, .to = nfa.end });
    }
    hn_automaton_from_nfa(b, &nfa, &o->names);
    hn_nfa_free(b, &nfa);
    hn_automaton_invert(b, &o->names);
}

static void copy_automaton(hn_build *b, const hn_automaton *from, hn_automaton *to)
{
    *to = (hn_automaton){ 0 };
    for (uint32_t i = 0; i < from->n && b->status == HN_OK; i++) {
        hn_automaton_add_state(b, to, from->accepts[i]);
        for (uint32_t e = from->first[i]; e < from->first[i + 1]; e++)
            hn_automaton_add_edge(b, to, from->edges[e].low, from->edges[e].high, from->edges[e].to);
    }
    hn_automaton_close(b, to);
}

/* Members with other names, of which those patterns match that have a bit, and no other. */
static void make_others_of(object *o, uint32_t matches, const hn_automaton *bound)
{
    hn_build *b = o->s->b;
    hn_automaton key;
    const uint32_t from = b->rules[o->others].start;
    copy_automaton(b, &o->names, &key);
    if (bound)
        hn_automaton_intersect(b, &key, bound);
    for (int i = 0; i < o->n_patterns && b->status == HN_OK; i++)
        hn_automaton_intersect(b, &key, matches >> i & 1 ? &o->pattern[i] : &o->inverse[i]);
    if (b->status == HN_OK && !hn_automaton_is_empty(&key)) {
        const uint32_t begin = hn_build_node(b), end = hn_build_node(b), colon = hn_build_node(b);
        hn_build_bytes(b, from, '"', '"', begin);
        hn_automaton_emit(b, &key, HN_SPELLED_JSON, begin, end);
        hn_build_bytes(b, end, '"', '"', colon);
        add_value(o, NULL, matches, colon, b->rules[o->others].end);
    }
    hn_automaton_free(&key);
}

static void make_others(object *o)
{
    hn_build *b = o->s->b;
    hn_automaton bound;
    const bool is_bounded = bound_names(o, &bound);
    o->others = hn_build_rule_new(b);
    exclude_names(o);
    for (int i = 0; i < o->n_patterns && b->status == HN_OK; i++) {
        copy_automaton(b, &o->pattern[i], &o->inverse[i]);
        hn_automaton_invert(b, &o->inverse[i]);
    }
    for (uint32_t matches = 0; matches < 1u << o->n_patterns && b->status == HN_OK; matches++)
        make_others_of(o, matches, is_bounded ? &bound : NULL);
    hn_automaton_free(&bound);
}

/* ---- the whole ---- */

/* A member after `count` others, from `at` to `to`. */
static void call_member(object *o, uint32_t at, int64_t count, uint32_t rule, uint32_t to)
{
    hn_build *b = o->s->b;
    if (count) {
        const uint32_t comma = hn_build_node(b), next = hn_build_node(b);
        hn_build_text(b, at, ",", 1, comma);
        hn_build_call(b, comma, o->s->space, next);
        at = next;
    }
    hn_build_call(b, at, rule, to);
}

/* Nodes by member and count: those of one member after the other. */
static void chain(object *o, uint32_t begin, uint32_t end_empty, uint32_t end_full)
{
    hn_build *b = o->s->b;
    const int64_t most = o->most >= 0 ? o->most : o->least > 1 ? o->least : 1; /* counts beyond are alike */
    const size_t wide = (size_t)most + 1;
    uint32_t *now = hn_alloc_array(b->heap, HN_TAG_TEXT, 2 * wide, sizeof *now), *next = now ? now + wide : NULL;
    if (!now)
        hn_build_fail(b, HN_ERR_MEMORY);
    for (size_t c = 0; now && c < wide; c++)
        now[c] = c ? hn_build_node(b) : begin;
    for (size_t i = 0; i <= o->n && b->status == HN_OK; i++) {
        const bool is_last = i == o->n;
        for (size_t c = 0; c < wide && !is_last; c++)
            next[c] = hn_build_node(b);
        for (size_t c = 0; c < wide && b->status == HN_OK; c++) {
            const size_t more = c + 1 < wide ? c + 1 : c;
            if (c + 1 < wide || o->most < 0)
                call_member(o, now[c], (int64_t)c, is_last ? o->others : o->members[i].rule, is_last ? now[more] : next[more]);
            if (is_last && (int64_t)c >= o->least)
                hn_build_empty(b, now[c], c ? end_full : end_empty);
            if (!is_last && !o->members[i].is_required)
                hn_build_empty(b, now[c], next[c]);
        }
        if (!is_last)
            memcpy(now, next, wide * sizeof *now);
    }
    hn_free(b->heap, now);
}

void hn_schema_object(hn_schema *s, const hn_parts *p, uint32_t from, uint32_t to)
{
    hn_build *b = s->b;
    object o = { .s = s, .p = p, .most = -1 };
    const uint32_t open = hn_build_node(b), begin = hn_build_node(b), full = hn_build_node(b), end = hn_build_node(b);
    gather(&o);
    if (b->status == HN_OK) {
        make_members(&o);
        make_others(&o);
        hn_build_text(b, from, "{", 1, open);
        hn_build_call(b, open, s->space, begin);
        chain(&o, begin, end, full);
        hn_build_call(b, full, s->space, end);
        hn_build_text(b, end, "}", 1, to);
    }
    hn_automaton_free(&o.names);
    for (int i = 0; i < o.n_patterns; i++) {
        hn_automaton_free(&o.pattern[i]);
        hn_automaton_free(&o.inverse[i]);
    }
    hn_free(b->heap, o.members);
}
