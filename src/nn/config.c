/* Tables are walked twice: each key of the file for its row, then each question for its value or default. The
 * second cannot ask what the first has not checked, for it asks by row. */
#include "nn/config.h"

#include "base/host.h"

#include "base/str.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 80 };

/* The value, short enough for a message. */
static const char *show(const hn_json *value, char out[SHOWN])
{
    switch (value->kind) {
    case HN_JSON_NULL: return "null";
    case HN_JSON_BOOL: return hn_json_is_true(value) ? "true" : "false";
    case HN_JSON_INT: snprintf(out, SHOWN, "%lld", (long long)hn_json_int(value)); return out;
    case HN_JSON_DOUBLE: hn_text_print(out, SHOWN, "%.9g", hn_json_number(value)); return out;
    case HN_JSON_STRING: snprintf(out, SHOWN, "\"%.60s\"", hn_json_string(value)); return out;
    case HN_JSON_ARRAY: snprintf(out, SHOWN, "an array of %zu", hn_json_count(value)); return out;
    case HN_JSON_OBJECT: snprintf(out, SHOWN, "an object of %zu", hn_json_count(value)); return out;
    }
    return "";
}

static unsigned kind_of(const hn_json *value)
{
    static const unsigned kinds[] = {
        [HN_JSON_NULL] = HN_IS_NULL,   [HN_JSON_BOOL] = HN_IS_FLAG,  [HN_JSON_INT] = HN_IS_INT,
        [HN_JSON_DOUBLE] = HN_IS_REAL, [HN_JSON_STRING] = HN_IS_WORD, [HN_JSON_ARRAY] = HN_IS_LIST,
        [HN_JSON_OBJECT] = HN_IS_OBJECT
    };
    return kinds[value->kind];
}

/* "an integer or null". */
static void show_kinds(unsigned is, char *out, size_t room)
{
    static const struct {
        unsigned is;
        const char *word;
    } words[] = { { HN_IS_NUM, "a number" }, { HN_IS_INT, "an integer" },
                  { HN_IS_REAL, "a number with a fraction" }, { HN_IS_FLAG, "true or false" },
                  { HN_IS_WORD, "a string" }, { HN_IS_LIST, "an array" },
                  { HN_IS_OBJECT, "an object" }, { HN_IS_NULL, "null" } };
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words && n < room; i++)
        if ((is & words[i].is) == words[i].is) {
            n += (size_t)snprintf(out + n, room - n, "%s%s", n ? " or " : "", words[i].word);
            is &= ~words[i].is;
        }
}

static bool is_ignored(const hn_config *c, const char *key)
{
    const size_t n = strlen(c->path);
    for (int i = 0; c->ignored && i < c->ignored->n; i++)
        if (!strncmp(c->ignored->at[i], c->path, n) && !strcmp(c->ignored->at[i] + n, key))
            return true;
    return false;
}

static hn_status refuse(const hn_config *c, const hn_json *value, hn_status code, const char *why)
{
    char shown[SHOWN];
    return hn_fail(code, "config.json: %s%s is %s: %s", c->path, value->key, show(value, shown),
                   why);
}

/* Of "a|b" and "a|[]". */
static bool is_allowed(const hn_json *value, const char *only)
{
    char shown[SHOWN];
    const char *text = show(value, shown);
    if (value->kind == HN_JSON_STRING)
        text = hn_json_string(value);
    if (value->kind == HN_JSON_ARRAY)
        text = hn_json_count(value) ? "" : "[]";
    if (value->kind == HN_JSON_OBJECT)
        text = hn_json_count(value) ? "" : "{}";
    const size_t bytes = strlen(text);
    for (const char *at = only; *at;) {
        const size_t n = strcspn(at, "|");
        if (n == bytes && !memcmp(at, text, n))
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

static hn_status check_number(const hn_config *c, const hn_key_row *row, const hn_json *value,
                              const hn_json *named)
{
    const double x = value->kind == HN_JSON_INT    ? (double)hn_json_int(value)
                     : value->kind == HN_JSON_BOOL ? (double)hn_json_is_true(value)
                                                   : hn_json_number(value);
    char why[120];
    if (!isfinite(x))
        return refuse(c, named, HN_ERR_FORMAT, "expected a finite number");
    if ((row->low == 0 && row->high == 0) || (x >= row->low && x <= row->high))
        return HN_OK;
    if (row->high >= 0x1p127)
        snprintf(why, sizeof why, "%s", row->low == 0 ? "expected 0 or a number above it"
                                     : row->low < 1  ? "expected a number above 0"
                                                     : "expected 1 or a number above it");
    else
        hn_text_print(why, sizeof why, "expected %g to %g", row->low, row->high);
    return refuse(c, named, HN_ERR_FORMAT, why);
}

static hn_status walk(const hn_config *c);

static hn_config inside(const hn_config *c, const hn_key_row *row, const hn_json *value)
{
    hn_config inner = *c;
    inner.object = value;
    inner.tables = row->within;
    if (value)
        snprintf(inner.path, sizeof inner.path, "%.30s%.40s.", c->path, value->key);
    return inner;
}

static hn_status check(const hn_config *c, const hn_json *value)
{
    const hn_key_row *row = hn_key_named(c->tables, c->class, value->key);
    if (!row) {
        char shown[SHOWN];
        return hn_fail(HN_ERR_UNSUPPORTED,
                       "config.json: %s%s is %s: no key that is known of %s (--ignore %s%s "
                       "passes over it)", c->path, value->key, show(value, shown), c->class, c->path,
                       value->key);
    }
    if (!(row->is & kind_of(value))) {
        char why[160] = "expected ";
        show_kinds(row->is, why + 9, sizeof why - 9);
        return refuse(c, value, HN_ERR_FORMAT, why);
    }
    if (row->only && !is_allowed(value, row->only))
        return refuse(c, value, HN_ERR_UNSUPPORTED, row->note);
    if (value->kind == HN_JSON_INT || value->kind == HN_JSON_DOUBLE ||
        (value->kind == HN_JSON_BOOL && row->is & HN_IS_NUM))
        HN_TRY(check_number(c, row, value, value));
    if (value->kind == HN_JSON_ARRAY && !row->only)
        for (const hn_json *v = hn_json_first(value); v; v = v->next)
            if (v->kind == HN_JSON_INT || v->kind == HN_JSON_DOUBLE)
                HN_TRY(check_number(c, row, v, value));
    if (value->kind == HN_JSON_OBJECT && row->within) {
        const hn_config inner = inside(c, row, value);
        return walk(&inner);
    }
    return HN_OK;
}

/* A name of `row` that is not `but`, in the object. */
static const hn_json *other_name(const hn_config *c, const hn_key_row *row, const hn_json *but)
{
    for (const hn_json *v = hn_json_first(c->object); v; v = v->next)
        if (v != but && !is_ignored(c, v->key) && hn_key_named(c->tables, c->class, v->key) == row)
            return v;
    return NULL;
}

static bool is_same(const hn_json *a, const hn_json *b)
{
    char x[SHOWN], y[SHOWN];
    return a->kind == b->kind && a->kind != HN_JSON_ARRAY && a->kind != HN_JSON_OBJECT &&
           !strcmp(show(a, x), show(b, y));
}

static hn_status walk(const hn_config *c)
{
    for (const hn_json *v = hn_json_first(c->object); v; v = v->next) {
        const hn_key_row *row = hn_key_named(c->tables, c->class, v->key);
        if (is_ignored(c, v->key)) {
            HN_REQUIRE(!row || row->note, HN_ERR_ARGUMENT,
                       "--ignore %s%s: %s uses it: it cannot be passed over", c->path, v->key,
                       c->class);
            continue;
        }
        HN_TRY(check(c, v));
        const hn_json *other = strchr(row->name, '|') && !row->note
                                   ? other_name(c, row, v)
                                   : NULL;
        if (other && !is_same(v, other))
            return hn_fail(HN_ERR_FORMAT, "config.json: %s%s and %s are one thing, and differ",
                           c->path, v->key, other->key);
    }
    HN_EACH_KEY_ROW(row, c->tables)
        if (row->name && row->otherwise && !strcmp(row->otherwise, HN_MUST)) {
            char first[64];
            snprintf(first, sizeof first, "%.*s", (int)strcspn(row->name, "|"), row->name);
            if (hn_key_named(c->tables, c->class, first) == row && !other_name(c, row, NULL))
                return hn_fail(HN_ERR_FORMAT, "config.json: %s%s is missing", c->path, first);
        }
    return HN_OK;
}

hn_status hn_config_open(const hn_json *object, const hn_key_row *const *tables, const char *class,
                         const hn_ignored *ignored, hn_config *out)
{
    *out = (hn_config){ .object = object, .tables = tables, .class = class, .ignored = ignored };
    HN_REQUIRE(object->kind == HN_JSON_OBJECT, HN_ERR_FORMAT, "config.json: expected an object");
    return walk(out);
}

hn_status hn_config_check_ignored(const hn_json *root, const hn_ignored *ignored)
{
    for (int i = 0; ignored && i < ignored->n; i++) {
        const hn_json *at = root;
        for (const char *name = ignored->at[i]; at;) {
            char key[128];
            const size_t n = strcspn(name, ".");
            snprintf(key, sizeof key, "%.*s", (int)n, name);
            at = hn_json_get(at, name[n] ? key : name);
            if (!name[n])
                break;
            name += n + 1;
        }
        HN_REQUIRE(at, HN_ERR_ARGUMENT, "--ignore %s: config.json has no such key",
                   ignored->at[i]);
    }
    return HN_OK;
}

bool hn_ignored_lists(const hn_ignored *ignored, const char *key)
{
    for (int i = 0; ignored && i < ignored->n; i++)
        if (!strcmp(ignored->at[i], key))
            return true;
    return false;
}

/* Beside those that were taken down before. */
hn_status hn_ignored_write(const hn_ignored *ignored, hn_meta *meta)
{
    hn_span names[2 * HN_MAX_IGNORED];
    const hn_meta_value *before = hn_meta_find(meta, "hone.ignored");
    size_t n = 0, cursor = 0;
    if (!ignored || !ignored->n)
        return HN_OK;
    for (int i = 0; i < ignored->n; i++)
        names[n++] = (hn_span){ ignored->at[i], strlen(ignored->at[i]) };
    for (uint64_t i = 0; before && before->is_array && before->type == HN_META_STRING &&
                         i < before->n && n < 2 * HN_MAX_IGNORED; i++) {
        const hn_span name = hn_meta_next_string(before, &cursor);
        bool is_new = true;
        for (int k = 0; k < ignored->n; k++)
            is_new = is_new && (names[k].bytes != name.bytes ||
                                memcmp(names[k].data, name.data, name.bytes) != 0);
        if (is_new)
            names[n++] = name;
    }
    return hn_meta_set_strings(meta, "hone.ignored", names, n);
}

bool hn_ignored_has(const hn_meta *meta, const char *key)
{
    const hn_meta_value *list = hn_meta_find(meta, "hone.ignored");
    size_t cursor = 0;
    if (!list || !list->is_array || list->type != HN_META_STRING)
        return false;
    for (uint64_t i = 0; i < list->n; i++) {
        const hn_span name = hn_meta_next_string(list, &cursor);
        if (name.bytes == strlen(key) && !memcmp(name.data, key, name.bytes))
            return true;
    }
    return false;
}

/* Asking. */

static hn_status row_of(const hn_config *c, const char *name, const hn_key_row **out)
{
    *out = hn_key_named(c->tables, c->class, name);
    HN_REQUIRE(*out, HN_ERR_UNSUPPORTED, "config.json: %s%s is in no table of %s", c->path, name,
               c->class);
    return HN_OK;
}

static const hn_json *stated(const hn_config *c, const hn_key_row *row)
{
    const hn_json *found = NULL;
    for (const hn_json *v = hn_json_first(c->object); v; v = v->next)
        if (!is_ignored(c, v->key) && hn_key_named(c->tables, c->class, v->key) == row &&
            (!found || found->kind == HN_JSON_NULL))
            found = v;
    return found;
}

bool hn_config_states(const hn_config *c, const char *name)
{
    const hn_key_row *row = hn_key_named(c->tables, c->class, name);
    return row && stated(c, row);
}

hn_status hn_config_json(const hn_config *c, const char *name, const hn_json **out)
{
    const hn_key_row *row;
    *out = NULL;
    HN_TRY(row_of(c, name, &row));
    const hn_json *found = stated(c, row);
    *out = found && found->kind != HN_JSON_NULL ? found : NULL;
    return HN_OK;
}

/* Decimal digits of the table: few enough that one division or product rounds them once. */
static double number_of(const char *text)
{
    double mantissa = 0, power = 1;
    int exponent = 0, shift = 0;
    const bool is_negative = *text == '-';
    for (text += is_negative; *text && *text != 'e'; text++) {
        if (*text == '.') {
            shift = 1;
            continue;
        }
        mantissa = 10 * mantissa + (*text - '0');
        exponent -= shift;
    }
    if (*text == 'e') {
        const bool is_small = text[1] == '-';
        int n = 0;
        for (text += 1 + is_small; *text; text++)
            n = 10 * n + (*text - '0');
        exponent += is_small ? -n : n;
    }
    for (int i = 0; i < (exponent < 0 ? -exponent : exponent); i++)
        power *= 10;
    const double size = exponent < 0 ? mantissa / power : mantissa * power;
    return is_negative ? -size : size;
}

/* The value, or the row's default, as a scalar. */
static hn_status take(const hn_config *c, const char *name, hn_json *out)
{
    const hn_key_row *row;
    HN_TRY(row_of(c, name, &row));
    const hn_json *found = stated(c, row);
    const char *other = row->otherwise;
    *out = (hn_json){ .kind = HN_JSON_NULL, .key = name };
    if (found) {
        *out = *found;
    } else if (other && strcmp(other, HN_MUST) != 0 && strcmp(other, "null") != 0) {
        if (!strcmp(other, "true") || !strcmp(other, "false")) {
            out->kind = HN_JSON_BOOL;
            out->as.boolean = other[0] == 't';
        } else if ((*other >= '0' && *other <= '9') || *other == '-') {
            const double x = number_of(other);
            const bool is_whole = !strpbrk(other, ".e");
            out->kind = is_whole ? HN_JSON_INT : HN_JSON_DOUBLE;
            if (is_whole)
                out->as.integer = (int64_t)x;
            else
                out->as.real.number = x, out->as.real.source = NULL;
        } else {
            out->kind = HN_JSON_STRING;
            out->as.string.text = other;
            out->as.string.bytes = strlen(other);
        }
    }
    return HN_OK;
}

hn_status hn_config_int(const hn_config *c, const char *name, int64_t *out, bool *is_there)
{
    hn_json value;
    HN_TRY(take(c, name, &value));
    *out = 0;
    if (is_there)
        *is_there = value.kind != HN_JSON_NULL;
    return value.kind == HN_JSON_NULL ? HN_OK : hn_json_want_int(&value, name, out);
}

hn_status hn_config_num(const hn_config *c, const char *name, double *out, bool *is_there)
{
    hn_json value;
    HN_TRY(take(c, name, &value));
    *out = 0;
    if (is_there)
        *is_there = value.kind != HN_JSON_NULL;
    if (value.kind == HN_JSON_BOOL) { /* where the row allows it: Python's True is 1 */
        *out = (double)hn_json_is_true(&value);
        return HN_OK;
    }
    return value.kind == HN_JSON_NULL ? HN_OK : hn_json_want_double(&value, name, out);
}

hn_status hn_config_flag(const hn_config *c, const char *name, bool *out)
{
    hn_json value;
    HN_TRY(take(c, name, &value));
    *out = false;
    return value.kind == HN_JSON_NULL ? HN_OK : hn_json_want_bool(&value, name, out);
}

hn_status hn_config_word(const hn_config *c, const char *name, const char **out)
{
    const hn_key_row *row;
    *out = NULL;
    HN_TRY(row_of(c, name, &row));
    const hn_json *found = stated(c, row);
    if (found)
        return found->kind == HN_JSON_NULL ? HN_OK : hn_json_want_string(found, name, out);
    const char *other = row->otherwise;
    *out = other && strcmp(other, "null") != 0 && strcmp(other, HN_MUST) != 0 ? other : NULL;
    return HN_OK;
}

hn_status hn_config_within(const hn_config *c, const char *name, hn_config *out)
{
    const hn_key_row *row;
    const hn_json *found;
    HN_TRY(row_of(c, name, &row));
    HN_TRY(hn_config_json(c, name, &found));
    *out = inside(c, row, found && found->kind == HN_JSON_OBJECT ? found : NULL);
    return HN_OK;
}

hn_status hn_config_refuse(const hn_config *c, const char *name, hn_status code, const char *why)
{
    const hn_key_row *row;
    HN_TRY(row_of(c, name, &row));
    const hn_json *found = stated(c, row);
    return found ? refuse(c, found, code, why)
                 : hn_fail(code, "config.json: %s%s is missing: %s", c->path, name, why);
}
