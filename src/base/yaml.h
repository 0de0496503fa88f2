/* yaml.h: YAML 1.1 as PyYAML's safe_load reads it, for model cards.
 *
 * The same texts are read, with the same values, and the same refused, by line. What only
 * hone refuses: more than HN_YAML_MAX_DEPTH levels, aliases and merge keys that repeat more
 * than HN_YAML_MAX_REPEATED bytes and values of the text, and numbers behind !!int and
 * !!float in digits beyond ASCII. Lines end in "\n" and tabs are none: who has others replaces
 * them before, as llama.cpp's converter does.
 *
 * An alias is its anchor's node, so lists and mappings may hold themselves. */
#ifndef HN_BASE_YAML_H
#define HN_BASE_YAML_H

#include "base/heap.h"

enum { HN_YAML_MAX_DEPTH = 400, HN_YAML_MAX_REPEATED = 1 << 20 };

typedef enum hn_yaml_kind {
    HN_YAML_NULL,
    HN_YAML_TEXT,
    HN_YAML_BOOL,  /* `integer` is 0 or 1 */
    HN_YAML_INT,   /* `integer`, or the nearest that there is */
    HN_YAML_FLOAT, /* `number` */
    HN_YAML_LIST,
    HN_YAML_MAP,
    HN_YAML_OTHER /* a date, bytes, a set, or a pair of an ordered mapping */
} hn_yaml_kind;

/* What PyYAML makes the value of, explicit or as it resolves plain scalars. */
typedef enum hn_yaml_tag {
    HN_YAML_TAG_STR,
    HN_YAML_TAG_NULL,
    HN_YAML_TAG_BOOL,
    HN_YAML_TAG_INT,
    HN_YAML_TAG_FLOAT,
    HN_YAML_TAG_BINARY,
    HN_YAML_TAG_TIMESTAMP,
    HN_YAML_TAG_SEQ,
    HN_YAML_TAG_OMAP,
    HN_YAML_TAG_PAIRS,
    HN_YAML_TAG_MAP,
    HN_YAML_TAG_SET,
    HN_YAML_TAG_MERGE, /* the key "<<" */
    HN_YAML_TAG_VALUE, /* the key "=" */
    HN_YAML_TAG_UNKNOWN
} hn_yaml_tag;

typedef enum hn_yaml_shape { HN_YAML_SCALAR, HN_YAML_SEQUENCE, HN_YAML_MAPPING } hn_yaml_shape;

typedef struct hn_yaml hn_yaml;

typedef struct hn_yaml_item {
    hn_yaml *key; /* NULL in lists */
    hn_yaml *value;
} hn_yaml_item;

struct hn_yaml {
    hn_yaml_kind kind;
    int line;
    char *text; /* of scalars, as written: ends in NUL, and may hold others and surrogates */
    size_t bytes;
    int64_t integer;
    double number;
    bool is_empty; /* of HN_YAML_OTHER */
    hn_yaml_item *items;
    size_t n;

    /* for the reader alone */
    hn_yaml_shape shape;
    hn_yaml_tag tag;
    char *tag_text; /* of HN_YAML_TAG_UNKNOWN */
    bool is_made;
    size_t room, weight;
    hn_yaml *made_before; /* all nodes of a text, for freeing */
};

typedef struct hn_yaml_text {
    hn_heap *heap;
    hn_yaml *root;
    hn_yaml *nodes;
} hn_yaml_text;

/* `name` and `line`, the first line's number, begin messages. A text without values gives a
 * root that is HN_YAML_NULL. On failure *out is empty. */
hn_status hn_yaml_read(hn_heap *heap, const char *name, int line, const char *text,
                       size_t bytes, hn_yaml_text *out);
void hn_yaml_free(hn_yaml_text *text);

/* NULL unless `map` is a mapping with this text as a key; of several the last. Takes NULL. */
const hn_yaml *hn_yaml_get(const hn_yaml *map, const char *key);
/* Whether Python takes the value for false. */
bool hn_yaml_is_false(const hn_yaml *value);

#endif
