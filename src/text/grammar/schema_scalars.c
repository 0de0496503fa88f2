/* Strings and numbers, and values that are listed. */
#include "text/grammar/schema.h"

#include <string.h>

/* ---- strings ---- */

static void narrow(hn_schema *s, hn_automaton *a, hn_automaton *with, bool *has_one)
{
    if (*has_one) {
        hn_automaton_intersect(s->b, a, with);
        hn_automaton_free(with);
    } else {
        *a = *with;
    }
    *has_one = true;
}

static const char *format_pattern(const char *name)
{
#define HN_NUMBER_FORMAT(format, least, most)
#define HN_FORMAT(format, pattern)                                                                                     \
    if (!strcmp(name, format))                                                                                         \
        return pattern;
#include "text/grammar/formats.def"
    return NULL;
}

typedef struct number_format {
    const char *name, *least, *most; /* "": any number has it */
} number_format;

static const number_format *number_format_named(const hn_json *name)
{
#define HN_FORMAT(format, pattern)
#define HN_NUMBER_FORMAT(format, least, most) { format, least, most },
    static const number_format all[] = {
#include "text/grammar/formats.def"
    };
    for (size_t i = 0; i < HN_COUNT(all) && name; i++)
        if (!strcmp(hn_json_string(name), all[i].name))
            return &all[i];
    return NULL;
}

bool hn_schema_has_format(const hn_json *name)
{
    return name->kind == HN_JSON_STRING && strlen(hn_json_string(name)) == hn_json_bytes(name) &&
           (format_pattern(hn_json_string(name)) || number_format_named(name));
}

bool hn_part_bounds_numbers(const hn_part *part)
{
    static const char *const keywords[] = { "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf" };
    const number_format *format = number_format_named(hn_part_get(part, "format"));
    bool is_bounded = format && *format->least;
    for (size_t k = 0; k < HN_COUNT(keywords); k++)
        is_bounded |= hn_part_get(part, keywords[k]) != NULL;
    return is_bounded;
}

static void add_format(hn_schema *s, const hn_json *format, hn_automaton *a, bool *has_one)
{
    hn_automaton with;
    const char *pattern = format_pattern(hn_json_string(format));
    if (!pattern) /* of numbers: strings are free of it */
        return;
    hn_automaton_of_pattern(s->b, hn_json_string(format), pattern, strlen(pattern), HN_WHOLE_TEXT, &with);
    narrow(s, a, &with, has_one);
}

static void add_pattern(hn_schema *s, const hn_json *pattern, hn_automaton *a, bool *has_one)
{
    hn_automaton with;
    if (pattern->kind != HN_JSON_STRING) {
        hn_schema_refuse(s, HN_ERR_FORMAT, pattern, "expected a string");
        return;
    }
    hn_automaton_of_pattern(s->b, "JSON schema: pattern", hn_json_string(pattern), hn_json_bytes(pattern), HN_ANYWHERE, &with);
    narrow(s, a, &with, has_one);
}

bool hn_schema_string_automaton(hn_schema *s, const hn_parts *p, hn_automaton *out)
{
    int64_t least = 0, most = -1;
    bool has_one = false;
    *out = (hn_automaton){ 0 };
    for (size_t i = 0; i < p->n && s->b->status == HN_OK; i++) {
        const hn_json *pattern = hn_part_get(&p->at[i], "pattern"), *format = hn_part_get(&p->at[i], "format");
        const int64_t low = hn_schema_count(s, &p->at[i], "minLength", 0), high = hn_schema_count(s, &p->at[i], "maxLength", -1);
        least = low > least ? low : least;
        most = high >= 0 && (most < 0 || high < most) ? high : most;
        if (pattern)
            add_pattern(s, pattern, out, &has_one);
        if (format)
            add_format(s, format, out, &has_one);
    }
    if (!least && most < 0)
        return has_one;
    hn_automaton length = { 0 };
    if (most < 0 || least <= most) /* else nothing is of that length */
        hn_automaton_of_length(s->b, least, most, &length);
    narrow(s, out, &length, &has_one);
    return true;
}

void hn_schema_string(hn_schema *s, const hn_parts *p, uint32_t from, uint32_t to)
{
    hn_automaton a;
    if (hn_schema_string_automaton(s, p, &a)) {
        const uint32_t begin = hn_build_node(s->b), end = hn_build_node(s->b);
        hn_build_bytes(s->b, from, '"', '"', begin);
        hn_automaton_emit(s->b, &a, HN_SPELLED_JSON, begin, end);
        hn_build_bytes(s->b, end, '"', '"', to);
    } else {
        hn_build_call(s->b, from, s->string, to);
    }
    hn_automaton_free(&a);
}

/* ---- numbers ---- */

static bool want_number(hn_schema *s, const hn_json *v, hn_decimal *out)
{
    if (v->kind != HN_JSON_INT && v->kind != HN_JSON_DOUBLE)
        hn_schema_refuse(s, HN_ERR_FORMAT, v, "expected a number");
    else if (!hn_decimal_of(v, out))
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, v, "a number of more digits than are held");
    return s->b->status == HN_OK;
}

static void add_least(hn_number_bounds *o, const hn_decimal *d, bool above)
{
    const int order = o->has_least ? hn_decimal_compare(d, &o->least) : 1;
    if (order > 0)
        o->above_least = above;
    else if (!order)
        o->above_least |= above;
    if (order > 0)
        o->least = *d;
    o->has_least = true;
}

static void add_most(hn_number_bounds *o, const hn_decimal *d, bool below)
{
    const int order = o->has_most ? hn_decimal_compare(d, &o->most) : -1;
    if (order < 0)
        o->below_most = below;
    else if (!order)
        o->below_most |= below;
    if (order < 0)
        o->most = *d;
    o->has_most = true;
}

static void add_multiple(hn_schema *s, hn_number_bounds *o, const hn_json *v)
{
    hn_decimal d;
    uint64_t value = 0;
    if (!want_number(s, v, &d))
        return;
    for (uint32_t i = 0; i < d.n + d.n_fraction && value <= HN_LARGEST_MULTIPLE; i++)
        value = 10 * value + (uint64_t)(d.digits[i] - '0');
    if (!value || d.is_negative)
        hn_schema_refuse(s, HN_ERR_FORMAT, v, "expected a number above 0");
    else if (value > HN_LARGEST_MULTIPLE || o->n_multiples == HN_MOST_MULTIPLES)
        hn_schema_refuse(s, HN_ERR_UNSUPPORTED, v, "a multiple of more digits, or more multiples, than are held");
    else {
        o->multiples[o->n_multiples] = (uint32_t)value;
        o->places[o->n_multiples++] = d.n_fraction;
    }
}

static void add_number_format(hn_number_bounds *o, const number_format *format)
{
    hn_decimal d;
    const hn_json least = { .kind = HN_JSON_DOUBLE, .as.real.source = format->least };
    const hn_json most = { .kind = HN_JSON_DOUBLE, .as.real.source = format->most };
    o->is_integer = true;
    if (hn_decimal_of(&least, &d))
        add_least(o, &d, false);
    if (hn_decimal_of(&most, &d))
        add_most(o, &d, false);
}

void hn_schema_number_automaton(hn_schema *s, const hn_parts *p, bool is_integer, hn_automaton *out)
{
    static const char *const keywords[] = { "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum" };
    hn_number_bounds o = { .is_integer = is_integer };
    hn_decimal d;
    for (size_t i = 0; i < p->n && s->b->status == HN_OK; i++) {
        for (int k = 0; k < 4; k++) {
            const hn_json *v = hn_part_get(&p->at[i], keywords[k]);
            if (!v || !want_number(s, v, &d))
                continue;
            if (k < 2)
                add_least(&o, &d, k == 1);
            else
                add_most(&o, &d, k == 3);
        }
        const hn_json *multiple = hn_part_get(&p->at[i], "multipleOf");
        if (multiple)
            add_multiple(s, &o, multiple);
        const number_format *format = number_format_named(hn_part_get(&p->at[i], "format"));
        if (format && *format->least)
            add_number_format(&o, format);
    }
    hn_automaton_of_numbers(s->b, &o, out);
}

void hn_schema_number(hn_schema *s, const hn_parts *p, bool is_integer, uint32_t from, uint32_t to)
{
    hn_automaton a;
    hn_schema_number_automaton(s, p, is_integer, &a);
    hn_automaton_emit(s->b, &a, HN_SPELLED_PLAIN, from, to);
    hn_automaton_free(&a);
}

void hn_schema_text(hn_schema *s, const char *text, size_t bytes, uint32_t from, uint32_t to)
{
    hn_automaton a = { 0 };
    const uint8_t *at = (const uint8_t *)text, *end = at + bytes;
    const uint32_t begin = hn_build_node(s->b), last = hn_build_node(s->b);
    uint32_t n = 0;
    while (at < end && s->b->status == HN_OK) {
        uint32_t code;
        at += hn_char_at(at, end, &code);
        hn_automaton_add_state(s->b, &a, false);
        hn_automaton_add_edge(s->b, &a, code, code, ++n);
    }
    hn_automaton_add_state(s->b, &a, true);
    hn_automaton_close(s->b, &a);
    hn_build_bytes(s->b, from, '"', '"', begin);
    hn_automaton_emit(s->b, &a, HN_SPELLED_JSON, begin, last);
    hn_build_bytes(s->b, last, '"', '"', to);
    hn_automaton_free(&a);
}
