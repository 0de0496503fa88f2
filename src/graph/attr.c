/* Attributes come from command lines and foreign callers: a value is read whole or refused. */
#include "graph/attr.h"

#include "base/host.h"
#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_BYTES = 160 };

static hn_status read_enum(const char *op, const hn_attr *attr, const char *value, int *out)
{
    const size_t length = strlen(value);
    int index = 0;
    for (const char *word = attr->choices; word; index++) {
        const char *bar = strchr(word, '|');
        const size_t n = bar ? (size_t)(bar - word) : strlen(word);
        if (n == length && !memcmp(word, value, n)) {
            *out = index;
            return HN_OK;
        }
        word = bar ? bar + 1 : NULL;
    }
    return hn_fail(HN_ERR_ARGUMENT, "%s: attribute %s=%s: expected %s", op, attr->name, value,
                   attr->choices);
}

static hn_status read_ints(const char *op, const hn_attr *attr, const char *value, hn_ints *out)
{
    *out = (hn_ints){ 0 };
    const char *at = value;
    while (*at) {
        char *end = NULL;
        errno = 0;
        const long long number = strtoll(at, &end, 10);
        HN_REQUIRE(end != at && !errno && (!*end || *end == ',') && out->n < HN_MAX_INTS,
                   HN_ERR_ARGUMENT, "%s: attribute %s=%s: expected up to %d integers, a,b,c", op,
                   attr->name, value, HN_MAX_INTS);
        out->at[out->n++] = number;
        at = *end ? end + 1 : end;
    }
    return HN_OK;
}

static hn_status read_value(const char *op, const hn_attr *attr, const char *value, void *out)
{
    char *end = NULL;
    void *field = (char *)out + attr->at;
    errno = 0;
    switch (attr->kind) {
    case HN_ATTR_KIND_FLOAT: {
        double number;
        HN_REQUIRE(hn_number_parse(value, &number), HN_ERR_ARGUMENT,
                   "%s: attribute %s=%s: expected a number", op, attr->name, value);
        *(float *)field = (float)number;
        return HN_OK;
    }
    case HN_ATTR_KIND_INT: {
        const long long number = strtoll(value, &end, 10);
        HN_REQUIRE(*value && !*end && !errno, HN_ERR_ARGUMENT,
                   "%s: attribute %s=%s: expected an integer", op, attr->name, value);
        *(int64_t *)field = number;
        return HN_OK;
    }
    case HN_ATTR_KIND_BOOL: {
        const bool yes = !strcmp(value, "1") || !strcmp(value, "true");
        HN_REQUIRE(yes || !strcmp(value, "0") || !strcmp(value, "false"), HN_ERR_ARGUMENT,
                   "%s: attribute %s=%s: expected 0 or 1", op, attr->name, value);
        *(bool *)field = yes;
        return HN_OK;
    }
    case HN_ATTR_KIND_ENUM:
        return read_enum(op, attr, value, (int *)field);
    case HN_ATTR_KIND_INTS:
        return read_ints(op, attr, value, (hn_ints *)field);
    case HN_ATTR_KIND_END:
        break;
    }
    return hn_fail(HN_ERR_ARGUMENT, "%s: attribute %s has no kind", op, attr->name);
}

static int find(const hn_attr *table, const char *name, size_t length)
{
    for (int i = 0; table && table[i].kind != HN_ATTR_KIND_END; i++)
        if (strlen(table[i].name) == length && !memcmp(table[i].name, name, length))
            return i;
    return -1;
}

/* Which attribute this is; each may be given once. */
static hn_status take_name(const char *op, const hn_attr *table, const char *name, size_t bytes,
                           uint64_t *given, const hn_attr **out)
{
    const int i = find(table, name, bytes);
    HN_REQUIRE(i >= 0, HN_ERR_ARGUMENT, "%s: unknown attribute '%.*s'", op,
               (int)(bytes > 60 ? 60 : bytes), name);
    HN_REQUIRE(!(*given >> i & 1), HN_ERR_ARGUMENT, "%s: attribute %s given twice", op,
               table[i].name);
    *given |= UINT64_C(1) << i;
    *out = &table[i];
    return HN_OK;
}

static hn_status fill_defaults(const char *op, const hn_attr *table, void *out)
{
    for (int i = 0; table && table[i].kind != HN_ATTR_KIND_END; i++)
        if (table[i].fallback)
            HN_TRY(read_value(op, &table[i], table[i].fallback, out));
    return HN_OK;
}

static hn_status check_all(const char *op, const hn_attr *table, uint64_t given)
{
    for (int i = 0; table && table[i].kind != HN_ATTR_KIND_END; i++)
        HN_REQUIRE(table[i].fallback || given >> i & 1, HN_ERR_ARGUMENT,
                   "%s: attribute %s must be given", op, table[i].name);
    return HN_OK;
}

/* The next "key=value"; *at moves past it. */
static hn_status read_pair(const char *op, const hn_attr *table, const char **at, void *out,
                           uint64_t *given)
{
    const hn_attr *attr;
    const char *key = *at, *end = key + strcspn(key, " ");
    const char *equals = memchr(key, '=', (size_t)(end - key));
    HN_REQUIRE(equals, HN_ERR_ARGUMENT, "%s: '%.*s': expected key=value", op,
               (int)(end - key > 60 ? 60 : end - key), key);
    const size_t value_bytes = (size_t)(end - equals - 1);
    HN_TRY(take_name(op, table, key, (size_t)(equals - key), given, &attr));
    char value[VALUE_BYTES];
    HN_REQUIRE(value_bytes < sizeof value, HN_ERR_ARGUMENT, "%s: attribute %s: value too long", op,
               attr->name);
    memcpy(value, equals + 1, value_bytes);
    value[value_bytes] = 0;
    *at = end;
    return read_value(op, attr, value, out);
}

hn_status hn_attrs_parse(const char *op, const hn_attr *table, const char *text, void *out)
{
    uint64_t given = 0;
    HN_TRY(fill_defaults(op, table, out));
    const char *at = text ? text : "";
    for (at += strspn(at, " "); *at; at += strspn(at, " "))
        HN_TRY(read_pair(op, table, &at, out, &given));
    return check_all(op, table, given);
}

static hn_status take_value(const char *op, const hn_attr *attr, const hn_attr_value *v, void *out)
{
    static const char *const words[] = { "a number", "an integer", "integers", "a word" };
    static const hn_attr_given wanted[] = {
        [HN_ATTR_KIND_FLOAT] = HN_GIVEN_NUMBER, [HN_ATTR_KIND_INT] = HN_GIVEN_INTEGER,
        [HN_ATTR_KIND_BOOL] = HN_GIVEN_INTEGER, [HN_ATTR_KIND_ENUM] = HN_GIVEN_WORD,
        [HN_ATTR_KIND_INTS] = HN_GIVEN_INTEGERS,
    };
    void *field = (char *)out + attr->at;
    HN_REQUIRE(v->given == wanted[attr->kind], HN_ERR_ARGUMENT,
               "%s: attribute %s: expected %s, found %s", op, attr->name, words[wanted[attr->kind]],
               v->given <= HN_GIVEN_WORD ? words[v->given] : "something else");
    if (attr->kind == HN_ATTR_KIND_ENUM) {
        HN_REQUIRE(v->word, HN_ERR_ARGUMENT, "%s: attribute %s: NULL", op, attr->name);
        return read_enum(op, attr, v->word, (int *)field);
    }
    if (attr->kind == HN_ATTR_KIND_INTS) {
        HN_REQUIRE(v->n_integers >= 0 && v->n_integers <= HN_MAX_INTS && (v->integers || !v->n_integers),
                   HN_ERR_ARGUMENT, "%s: attribute %s: expected up to %d integers, found %d", op,
                   attr->name, HN_MAX_INTS, v->n_integers);
        hn_ints *ints = field;
        *ints = (hn_ints){ .n = v->n_integers };
        for (int i = 0; i < v->n_integers; i++)
            ints->at[i] = v->integers[i];
    } else if (attr->kind == HN_ATTR_KIND_FLOAT) {
        HN_REQUIRE(!isnan(v->number), HN_ERR_ARGUMENT, "%s: attribute %s: expected a number, found nan",
                   op, attr->name);
        *(float *)field = (float)v->number;
    } else if (attr->kind == HN_ATTR_KIND_INT) {
        *(int64_t *)field = v->integer;
    } else {
        HN_REQUIRE(v->integer == 0 || v->integer == 1, HN_ERR_ARGUMENT,
                   "%s: attribute %s: expected 0 or 1, found %lld", op, attr->name,
                   (long long)v->integer);
        *(bool *)field = v->integer == 1;
    }
    return HN_OK;
}

hn_status hn_attrs_take(const char *op, const hn_attr *table, int n, const hn_attr_value *values,
                        void *out)
{
    uint64_t given = 0;
    HN_TRY(fill_defaults(op, table, out));
    for (int i = 0; i < n; i++) {
        const hn_attr *attr;
        const char *name = values[i].name ? values[i].name : "";
        HN_TRY(take_name(op, table, name, strlen(name), &given, &attr));
        HN_TRY(take_value(op, attr, &values[i], out));
    }
    return check_all(op, table, given);
}

static int print_ints(const hn_ints *ints, char *text, size_t bytes)
{
    int used = 0;
    for (int i = 0; i < ints->n; i++) {
        const size_t left = (size_t)used < bytes ? bytes - (size_t)used : 0;
        used += snprintf(left ? text + used : NULL, left, i ? ",%lld" : "%lld",
                         (long long)ints->at[i]);
    }
    return used;
}

static int print_enum(const char *choices, int index, char *text, size_t bytes)
{
    const char *word = choices;
    for (int i = 0; i < index; i++)
        word = strchr(word, '|') + 1;
    return snprintf(text, bytes, "%.*s", (int)strcspn(word, "|"), word);
}

static int print_value(const hn_attr *attr, const void *field, char *text, size_t bytes)
{
    switch (attr->kind) {
    case HN_ATTR_KIND_FLOAT:
        return hn_text_print(text, bytes, "%.9g", (double)*(const float *)field);
    case HN_ATTR_KIND_INT:
        return snprintf(text, bytes, "%lld", (long long)*(const int64_t *)field);
    case HN_ATTR_KIND_BOOL:
        return snprintf(text, bytes, "%d", *(const bool *)field ? 1 : 0);
    case HN_ATTR_KIND_ENUM:
        return print_enum(attr->choices, *(const int *)field, text, bytes);
    case HN_ATTR_KIND_INTS:
        return print_ints(field, text, bytes);
    case HN_ATTR_KIND_END:
        break;
    }
    return 0;
}

void hn_attrs_print(const hn_attr *table, const void *attrs, char *text, size_t bytes)
{
    size_t used = 0;
    if (bytes)
        text[0] = 0;
    for (int i = 0; table && table[i].kind != HN_ATTR_KIND_END && used < bytes; i++) {
        const int n =
            snprintf(text + used, bytes - used, i ? " %s=" : "%s=", table[i].name);
        used += (size_t)n;
        if (used < bytes)
            used += (size_t)print_value(&table[i], (const char *)attrs + table[i].at, text + used,
                                        bytes - used);
    }
}

static bool is_value_same(hn_attr_kind kind, const void *a, const void *b)
{
    switch (kind) {
    case HN_ATTR_KIND_FLOAT:
        return !memcmp(a, b, sizeof(float));
    case HN_ATTR_KIND_INT:
        return *(const int64_t *)a == *(const int64_t *)b;
    case HN_ATTR_KIND_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case HN_ATTR_KIND_ENUM:
        return *(const int *)a == *(const int *)b;
    case HN_ATTR_KIND_INTS: {
        const hn_ints *x = a, *y = b;
        return x->n == y->n && !memcmp(x->at, y->at, (size_t)x->n * sizeof *x->at);
    }
    case HN_ATTR_KIND_END:
        break;
    }
    return true;
}

bool hn_attrs_same(const hn_attr *table, const void *a, const void *b)
{
    for (int i = 0; table && table[i].kind != HN_ATTR_KIND_END; i++)
        if (!is_value_same(table[i].kind, (const char *)a + table[i].at, (const char *)b + table[i].at))
            return false;
    return true;
}
