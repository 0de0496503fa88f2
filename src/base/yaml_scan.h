/* yaml_scan.h: a place in a YAML text, and the scalars read there; for yaml.c alone. */
#ifndef HN_BASE_YAML_SCAN_H
#define HN_BASE_YAML_SCAN_H

#include "base/str.h"
#include "base/yaml.h"

typedef struct hn_yaml_scan {
    hn_yaml_text *out;
    const char *name;
    const char *at, *end; /* *end is no part of the text, and never read */
    const char *line_begin;
    int line, depth;
    bool in_flow;
} hn_yaml_scan;

static inline int hn_yaml_column(const hn_yaml_scan *s) { return (int)(s->at - s->line_begin); }

/* The character `ahead` of the place; NUL at the end, and in no text. */
static inline char hn_yaml_peek(const hn_yaml_scan *s, size_t ahead)
{
    return ahead < (size_t)(s->end - s->at) ? s->at[ahead] : '\0';
}

static inline bool hn_yaml_is_blank(char c) { return !c || c == ' ' || c == '\n'; }

hn_status hn_yaml_fail(const hn_yaml_scan *s, const char *what);
void hn_yaml_next_line(hn_yaml_scan *s); /* the place is a line break */
void hn_yaml_skip_spaces(hn_yaml_scan *s);
/* Spaces, comments and line breaks; whether a break was among them. */
bool hn_yaml_skip_blank(hn_yaml_scan *s);

bool hn_yaml_starts_plain(const hn_yaml_scan *s);
/* Whether `KEY:` stands here, on one line. */
bool hn_yaml_starts_key(const hn_yaml_scan *s);

/* A scalar, added to `text`. Lines that go on with a plain one begin right of column `parent`.
 */
hn_status hn_yaml_plain(hn_yaml_scan *s, int parent, bool is_key, hn_str *text);
hn_status hn_yaml_quoted(hn_yaml_scan *s, hn_str *text);
hn_status hn_yaml_block(hn_yaml_scan *s, int parent, hn_str *text);

#endif
