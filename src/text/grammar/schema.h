/* schema.h: JSON schema as rules. Private to this folder.
 *
 * A rule is made for each set of schemas that hold at a place together: what `$ref` and `allOf` name joins the set, `anyOf` and
 * `oneOf` call the rule of each of their sets, and what is left is made by type. The same set is the same rule: so what refers
 * to itself is a rule that calls itself. */
#ifndef HN_TEXT_GRAMMAR_SCHEMA_H
#define HN_TEXT_GRAMMAR_SCHEMA_H

#include "base/json.h"
#include "text/grammar/automaton.h"
#include "text/grammar/numbers.h"

enum { HN_DONE_ANY = 1, HN_DONE_ONE = 2 }; /* of a part: one of its alternatives is in the set */

typedef struct hn_part {
    const hn_json *schema;
    uint32_t done;
} hn_part;

typedef struct hn_parts {
    hn_part *at;
    size_t n, room;
} hn_parts;

typedef enum hn_type_bit {
    HN_TYPE_NULL = 1,
    HN_TYPE_BOOLEAN = 2,
    HN_TYPE_INTEGER = 4,
    HN_TYPE_REAL = 8, /* numbers that are no integers */
    HN_TYPE_STRING = 16,
    HN_TYPE_ARRAY = 32,
    HN_TYPE_OBJECT = 64,
    HN_TYPE_ALL = 127
} hn_type_bit;

typedef struct hn_schema {
    hn_build *b;
    const hn_json *root;
    hn_met keys;      /* sets of parts */
    uint32_t *rules;   /* of each */
    size_t rule_room, n_made;
    uint32_t space, string; /* rules that all share */
    int64_t n_references;
} hn_schema;

/* What refuses a keyword: its JSON pointer, and why. */
void hn_schema_refuse(hn_schema *s, hn_status code, const hn_json *at, const char *why);

void hn_parts_add(hn_schema *s, hn_parts *parts, hn_part part); /* once */
void hn_parts_free(const hn_schema *s, hn_parts *parts);
/* The rule of the set; made later, if it is new. */
uint32_t hn_schema_rule(hn_schema *s, const hn_parts *parts);
const hn_json *hn_part_get(const hn_part *part, const char *keyword);
uint32_t hn_schema_types(hn_schema *s, const hn_json *schema);
/* A count that is not negative; `otherwise` if there is none. */
int64_t hn_schema_count(hn_schema *s, const hn_part *part, const char *keyword, int64_t otherwise);

/* Refuses keywords that are not held, and values that are none of theirs. */
void hn_schema_check(hn_schema *s, const hn_json *schema);
bool hn_part_bounds_numbers(const hn_part *part);
/* Of numbers or of strings. */
bool hn_schema_has_format(const hn_json *name);

/* Between two nodes of the build. */
void hn_schema_string(hn_schema *s, const hn_parts *parts, uint32_t from, uint32_t to);
void hn_schema_number(hn_schema *s, const hn_parts *parts, bool is_integer, uint32_t from, uint32_t to);
void hn_schema_object(hn_schema *s, const hn_parts *parts, uint32_t from, uint32_t to);
void hn_schema_array(hn_schema *s, const hn_parts *parts, uint32_t from, uint32_t to);
/* Those of enum and const that hold; false: there is neither. */
bool hn_schema_values(hn_schema *s, const hn_parts *parts, uint32_t types, uint32_t from, uint32_t to);
bool hn_schema_are_apart(hn_schema *s, const hn_json *a, const hn_json *b); /* nothing can be both */

/* What the strings and numbers of the parts must be; *out is free of all bounds where there is none, and then false. */
bool hn_schema_string_automaton(hn_schema *s, const hn_parts *parts, hn_automaton *out);
void hn_schema_number_automaton(hn_schema *s, const hn_parts *parts, bool is_integer, hn_automaton *out);

/* A string's text, canonically spelled, in its quotes. */
void hn_schema_text(hn_schema *s, const char *text, size_t bytes, uint32_t from, uint32_t to);

#endif
