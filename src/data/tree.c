/* Values lie in blocks that never move, so links between them hold while the tree grows; a value has its key and
 * the next one in itself, so one that is put somewhere else is copied first, and what is below it is shared. */
#include "data/tree.h"

#include <string.h>

typedef struct hn_tree_held {
    struct hn_tree_held *next;
    hn_json_text *json; /* or NULL */
    char text[];
} hn_tree_held;

hn_tree hn_tree_on(hn_heap *heap) { return (hn_tree){ .heap = heap }; }

static void drop_held(hn_tree *tree)
{
    for (hn_tree_held *h = tree->held, *next; h; h = next) {
        next = h->next;
        hn_json_free(h->json);
        hn_free(tree->heap, h);
    }
    tree->held = NULL;
}

void hn_tree_free(hn_tree *tree)
{
    drop_held(tree);
    for (hn_tree_block *b = tree->first, *next; b; b = next) {
        next = b->next;
        hn_free(tree->heap, b);
    }
    *tree = hn_tree_on(tree->heap);
}

void hn_tree_clear(hn_tree *tree)
{
    drop_held(tree);
    tree->last = tree->first;
    tree->n = 0;
    tree->status = HN_OK;
}

hn_status hn_tree_status(const hn_tree *tree)
{
    return tree->status == HN_OK ? HN_OK : hn_fail(tree->status, "out of memory: the values of an example");
}

/* Blocks stay where they are, so links hold. */
static hn_json *next_value(hn_tree *tree)
{
    if (tree->last && tree->n < HN_TREE_BLOCK)
        return &tree->last->values[tree->n++];
    hn_tree_block *block = tree->last ? tree->last->next : NULL;
    if (!block) {
        block = hn_alloc(tree->heap, HN_TAG_TEXT, sizeof *block);
        if (!block) {
            tree->status = HN_ERR_MEMORY;
            return NULL;
        }
        if (tree->last)
            tree->last->next = block;
        else
            tree->first = block;
    }
    tree->last = block;
    tree->n = 1;
    return &block->values[0];
}

hn_tree_node hn_tree_new(hn_tree *tree, hn_json_kind kind)
{
    hn_json *value = next_value(tree);
    if (value)
        *value = (hn_json){ .kind = kind };
    return (hn_tree_node){ value, NULL };
}

void hn_tree_add(hn_tree *tree, hn_tree_node *to, const char *key, const hn_json *value)
{
    hn_json *copy = value && to->value ? next_value(tree) : NULL;
    if (!copy)
        return;
    *copy = *value;
    copy->key = key;
    copy->key_bytes = key ? (int32_t)strlen(key) : 0;
    copy->next = NULL;
    if (to->last)
        to->last->next = copy;
    else
        to->value->as.children.first = copy;
    to->last = copy;
    to->value->as.children.n++;
}

void hn_tree_add_text(hn_tree *tree, hn_tree_node *to, const char *key, const char *text,
                      size_t bytes)
{
    const hn_json value = hn_json_of_string(text, bytes);
    hn_tree_add(tree, to, key, &value);
}

static hn_tree_held *hold(hn_tree *tree, size_t bytes)
{
    hn_tree_held *held = hn_alloc(tree->heap, HN_TAG_TEXT, sizeof *held + bytes);
    if (!held) {
        tree->status = HN_ERR_MEMORY;
        return NULL;
    }
    held->next = tree->held;
    tree->held = held;
    return held;
}

void hn_tree_copy_text(hn_tree *tree, hn_tree_node *to, const char *key, const char *text,
                       size_t bytes)
{
    hn_tree_held *held = hold(tree, bytes + 1);
    if (!held)
        return;
    memcpy(held->text, text, bytes);
    hn_tree_add_text(tree, to, key, held->text, bytes);
}

hn_status hn_tree_read(hn_tree *tree, const char *what, const hn_json *string,
                       const hn_json **out)
{
    *out = NULL;
    hn_tree_held *held = hold(tree, 0);
    if (!held)
        return hn_tree_status(tree);
    HN_TRY(hn_json_read(tree->heap, what, string->as.string.text, string->as.string.bytes,
                        &held->json));
    *out = hn_json_root(held->json);
    return HN_OK;
}
