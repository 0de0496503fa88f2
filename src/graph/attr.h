/* attr.h: the attributes of an op: a C struct described by a table, written as "key=value". */
#ifndef HN_GRAPH_ATTR_H
#define HN_GRAPH_ATTR_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Up to six small integers: shapes, permutations, paddings. */
enum { HN_MAX_INTS = 10 };
typedef struct hn_ints {
    int n;
    int64_t at[HN_MAX_INTS];
} hn_ints;

typedef enum hn_attr_kind {
    HN_ATTR_KIND_END,
    HN_ATTR_KIND_FLOAT, /* float: finite, or infinite where written so; NaN is refused */
    HN_ATTR_KIND_INT,   /* int64_t */
    HN_ATTR_KIND_BOOL,  /* bool: 0 or 1 */
    HN_ATTR_KIND_ENUM,  /* int: index into the words of `choices`, "a|b|c" */
    HN_ATTR_KIND_INTS   /* hn_ints: "1,2,3" */
} hn_attr_kind;

typedef struct hn_attr {
    hn_attr_kind kind;
    const char *name;
    size_t at; /* offset in the op's struct */
    const char *fallback; /* NULL: must be given */
    const char *choices;
} hn_attr;

#define HN_ATTR_FLOAT(type, field, fallback)                                                   \
    { HN_ATTR_KIND_FLOAT, #field, offsetof(type, field), fallback, NULL }
#define HN_ATTR_INT(type, field, fallback)                                                     \
    { HN_ATTR_KIND_INT, #field, offsetof(type, field), fallback, NULL }
#define HN_ATTR_BOOL(type, field, fallback)                                                    \
    { HN_ATTR_KIND_BOOL, #field, offsetof(type, field), fallback, NULL }
#define HN_ATTR_ENUM(type, field, fallback, choices)                                           \
    { HN_ATTR_KIND_ENUM, #field, offsetof(type, field), fallback, choices }
#define HN_ATTR_INTS(type, field, fallback)                                                    \
    { HN_ATTR_KIND_INTS, #field, offsetof(type, field), fallback, NULL }
#define HN_ATTR_END                                                                            \
    {                                                                                          \
        HN_ATTR_KIND_END, NULL, 0, NULL, NULL                                                  \
    }

/* Fills `out` with the defaults, then with "key=value key=value ..." (NULL: none). An unknown key,
 * a key given twice, a malformed value or a missing required one is an error that names `op`. */
hn_status hn_attrs_parse(const char *op, const hn_attr *table, const char *text, void *out);

/* The same of values: nothing passes as text. */
typedef enum hn_attr_given { HN_GIVEN_NUMBER, HN_GIVEN_INTEGER, HN_GIVEN_INTEGERS, HN_GIVEN_WORD } hn_attr_given;

typedef struct hn_attr_value {
    const char *name;
    hn_attr_given given;
    double number; /* of floats */
    int64_t integer; /* of integers and of what is true or false */
    const int64_t *integers;
    int n_integers;
    const char *word; /* of choices */
} hn_attr_value;

hn_status hn_attrs_take(const char *op, const hn_attr *table, int n, const hn_attr_value *values,
                        void *out);

/* Writes every attribute, in table order, so that parsing gives the same bits back. */
void hn_attrs_print(const hn_attr *table, const void *attrs, char *text, size_t bytes);

/* Every attribute has the same bits. */
bool hn_attrs_same(const hn_attr *table, const void *a, const void *b);

#endif
