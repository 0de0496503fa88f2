/* yaml_make.h: from what a YAML text says to values; for yaml*.c alone. */
#ifndef HN_BASE_YAML_MAKE_H
#define HN_BASE_YAML_MAKE_H

#include "base/yaml_scan.h"

/* Of a plain scalar, by the patterns of YAML 1.1 as PyYAML has them. Changes nothing in the
 * end. */
hn_yaml_tag hn_yaml_resolve(char *text, size_t bytes);

/* A new item at the end of a list (key NULL) or mapping. */
hn_status hn_yaml_append(hn_heap *heap, hn_yaml *to, hn_yaml *key, hn_yaml *value);

/* What a scalar of the tags BOOL to TIMESTAMP is, made of `text`, which this uses up. False if
 * that is none: Python ends there. */
bool hn_yaml_value(hn_yaml *value, char *text, size_t bytes);

/* Makes the values of all nodes that can be reached. Merge keys are replaced by what they
 * stand for. */
hn_status hn_yaml_make(const hn_yaml_scan *s, hn_yaml_text *text);

#endif
