/* yaml.h: the YAML of model cards: a subset of YAML 1.1, read as PyYAML's safe_load reads it.
 *
 * Block and flow lists and mappings, plain, quoted and block scalars, comments. Refused by name
 * and line: anchors, aliases, tags, merge keys, "? " keys, marks of documents, one-pair
 * mappings in flow lists, and all that PyYAML refuses. Plain scalars that YAML 1.1 takes for a
 * truth value, a number or a date ("no", "1.0") are no texts. */
#ifndef HN_BASE_YAML_H
#define HN_BASE_YAML_H

#include "base/heap.h"

enum { HN_YAML_MAX_DEPTH = 48 };

typedef enum hn_yaml_kind {
    HN_YAML_NULL,
    HN_YAML_TEXT,
    HN_YAML_OTHER, /* a truth value, a number or a date; `text` is how it is written */
    HN_YAML_LIST,
    HN_YAML_MAP
} hn_yaml_kind;

typedef struct hn_yaml {
    hn_yaml_kind kind;
    int line;
    char *key;                           /* of a mapping's value; NULL if the key is no text */
    char *text;                          /* ends in NUL and holds no other */
    struct hn_yaml *first, *last, *next; /* of lists and mappings; siblings */
    struct hn_yaml *made_before;         /* all nodes of a text, for freeing */
} hn_yaml;

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
/* NULL unless `map` is a mapping with this key; of several the last. Takes NULL. */
const hn_yaml *hn_yaml_get(const hn_yaml *map, const char *key);

/* Of a plain scalar. */
hn_yaml_kind hn_yaml_kind_of(const char *text);

#endif
