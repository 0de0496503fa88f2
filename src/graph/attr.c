/* Attributes come from command lines and foreign callers: a value is read whole or refused. */
#include "graph/attr.h"

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
        const float number = strtof(value, &end);
        HN_REQUIRE(*value && !*end && !isnan(number), HN_ERR_ARGUMENT,
                   "%s: attribute %s=%s: expected a number", op, attr->name, value);
        *(float *)field = number;
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

/* The next "key=value"; *at moves past it. */
static hn_status read_pair(const char *op, const hn_attr *table, const char **at, void *out,
                           uint64_t *given)
{
    const char *key = *at, *end = key + strcspn(key, " ");
    const char *equals = memchr(key, '=', (size_t)(end - key));
    HN_REQUIRE(equals, HN_ERR_ARGUMENT, "%s: '%.*s': expected key=value", op,
               (int)(end - key > 60 ? 60 : end - key), key);
    const size_t key_bytes = (size_t)(equals - key), value_bytes = (size_t)(end - equals - 1);
    const int i = find(table, key, key_bytes);
    HN_REQUIRE(i >= 0, HN_ERR_ARGUMENT, "%s: unknown attribute '%.*s'", op,
               (int)(key_bytes > 60 ? 60 : key_bytes), key);
    HN_REQUIRE(!(*given >> i & 1), HN_ERR_ARGUMENT, "%s: attribute %s given twice", op,
               table[i].name);
    *given |= UINT64_C(1) << i;
    char value[VALUE_BYTES];
    HN_REQUIRE(value_bytes < sizeof value, HN_ERR_ARGUMENT, "%s: attribute %s: value too long", op,
               table[i].name);
    memcpy(value, equals + 1, value_bytes);
    value[value_bytes] = 0;
    *at = end;
    return read_value(op, &table[i], value, out);
}

hn_status hn_attrs_parse(const char *op, const hn_attr *table, const char *text, void *out)
{
    for (int i = 0; table && table[i].kind != HN_ATTR_KIND_END; i++)
        if (table[i].fallback)
            HN_TRY(read_value(op, &table[i], table[i].fallback, out));
    uint64_t given = 0;
    const char *at = text ? text : "";
    for (at += strspn(at, " "); *at; at += strspn(at, " "))
        HN_TRY(read_pair(op, table, &at, out, &given));
    for (int i = 0; table && table[i].kind != HN_ATTR_KIND_END; i++)
        HN_REQUIRE(table[i].fallback || given >> i & 1, HN_ERR_ARGUMENT,
                   "%s: attribute %s must be given", op, table[i].name);
    return HN_OK;
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
        return snprintf(text, bytes, "%.9g", (double)*(const float *)field);
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
