/* tree.h: a pattern as a tree, between the parser and the compiler. Private to this folder.
 */
#ifndef HN_TEXT_PATTERN_TREE_H
#define HN_TEXT_PATTERN_TREE_H

#include "text/pattern/regex.h"
#include "text/unicode/charset.h"

typedef enum hn_regex_kind {
    HN_RE_EMPTY,
    HN_RE_CLASS,  /* one character of `set` */
    HN_RE_CHAIN,  /* first, then second */
    HN_RE_EITHER, /* first, or else second */
    HN_RE_REPEAT, /* first, low to high times */
    HN_RE_LOOK,   /* first matches ahead or behind, or not */
    HN_RE_ATOMIC, /* first, without a second thought */
    HN_RE_ANCHOR
} hn_regex_kind;

typedef enum hn_regex_greed { HN_RE_GREEDY, HN_RE_LAZY, HN_RE_POSSESSIVE } hn_regex_greed;
typedef enum hn_regex_anchor {
    HN_RE_LINE_BEGIN,
    HN_RE_LINE_END,
    HN_RE_TEXT_BEGIN,
    HN_RE_TEXT_END,
    HN_RE_LAST_LINE_END
} hn_regex_anchor;

enum { HN_RE_NO_MAXIMUM = 1 << 30, HN_RE_MAX_REPEAT = 1000, HN_RE_MAX_DEPTH = 40 };

typedef struct hn_regex_node {
    hn_regex_kind kind;
    int first, second; /* nodes */
    int set;           /* of a CLASS: which of the tree's */
    int low, high;
    hn_regex_greed greed;
    hn_regex_anchor anchor;
    bool is_behind, is_negative;
} hn_regex_node;

typedef struct hn_regex_tree {
    hn_heap *heap;
    hn_regex_node *nodes;
    size_t n_nodes, node_room;
    hn_ranges *sets;
    size_t n_sets, set_room;
    int root;
} hn_regex_tree;

hn_status hn_regex_parse(hn_heap *heap, const char *pattern, size_t bytes, hn_regex_tree *out);
void hn_regex_tree_free(hn_regex_tree *tree);

/* The parser's place, shared with the part that reads classes. */
typedef struct hn_regex_reader {
    hn_regex_tree *tree;
    const char *pattern;
    const uint8_t *at, *end;
    int depth;
    bool ignores_case;
} hn_regex_reader;

/* Reads [...] whose '[' was read, or an escape whose '\' was read, and adds it to `set`. */
hn_status hn_regex_read_class(hn_regex_reader *r, hn_ranges *set);
hn_status hn_regex_read_escape(hn_regex_reader *r, hn_ranges *set, bool in_class);
hn_status hn_regex_refuse(const hn_regex_reader *r, hn_status code, const char *what);

#endif
