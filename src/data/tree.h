/* tree.h: JSON values put together in memory, out of new ones and of parts of what was read.
 *
 * A copy of a value shares what is below it, so what it was copied from must outlive it.
 * Failure is sticky, as a string's is: hn_tree_status says so once, at the end. */
#ifndef HN_DATA_TREE_H
#define HN_DATA_TREE_H

#include "base/json.h"

enum { HN_TREE_BLOCK = 128 };

typedef struct hn_tree_block {
    struct hn_tree_block *next;
    hn_json values[HN_TREE_BLOCK];
} hn_tree_block;

typedef struct hn_tree {
    hn_heap *heap;
    hn_tree_block *first, *last;
    size_t n;                  /* used of the last block */
    struct hn_tree_held *held; /* texts that it owns */
    hn_status status;
} hn_tree;

/* A container being filled. */
typedef struct hn_tree_node {
    hn_json *value, *last;
} hn_tree_node;

hn_tree hn_tree_on(hn_heap *heap); /* allocates nothing */
void hn_tree_free(hn_tree *tree);
void hn_tree_clear(hn_tree *tree); /* keeps its room */
hn_status hn_tree_status(const hn_tree *tree);

/* `kind` is HN_JSON_ARRAY or HN_JSON_OBJECT. */
hn_tree_node hn_tree_new(hn_tree *tree, hn_json_kind kind);
/* Adds a copy of `value`, with this key in an object; NULL adds nothing. Keys and texts are not
 * copied. */
void hn_tree_add(hn_tree *tree, hn_tree_node *to, const char *key, const hn_json *value);
void hn_tree_add_text(hn_tree *tree, hn_tree_node *to, const char *key, const char *text,
                      size_t bytes);

/* The same of a text that is copied. */
void hn_tree_copy_text(hn_tree *tree, hn_tree_node *to, const char *key, const char *text,
                       size_t bytes);
/* JSON that is written inside of a string; lives until the tree is cleared. `what` begins
 * messages. */
hn_status hn_tree_read(hn_tree *tree, const char *what, const hn_json *string,
                       const hn_json **out);

#endif
