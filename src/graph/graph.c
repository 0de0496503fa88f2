/* The arena and the leaves. Everything a node points to lives in the same chunks. */
#include "graph/graph.h"

#include "base/rng.h"
#include "graph/apply.h"
#include "graph/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024, SCOPE_BYTES = 96, MESSAGE_BYTES = 512 };

struct hn_chunk {
    struct hn_chunk *next;
    size_t used, bytes;
};

hn_status hn_graph_new(hn_graph **out, hn_heap *heap)
{
    *out = NULL;
    hn_graph *g = hn_alloc(heap, HN_TAG_GRAPH, sizeof *g);
    if (!g)
        return HN_ERR_MEMORY;
    g->heap = heap;
    g->scope = "";
    /* A valid scalar: builders that look at a type before applying stay defined. */
    g->poison.type = (hn_type){ .dtype = HN_F32 };
    g->poison.graph = g;
    *out = g;
    return HN_OK;
}

void hn_graph_free(hn_graph *g)
{
    if (!g)
        return;
    hn_heap *heap = g->heap;
    for (struct hn_chunk *chunk = g->chunks; chunk;) {
        struct hn_chunk *next = chunk->next;
        hn_free(heap, chunk);
        chunk = next;
    }
    hn_free(heap, g->applies);
    hn_free(heap, g->leaves);
    hn_free(heap, g->boundaries);
    hn_free(heap, g->message);
    hn_free(heap, g);
}

hn_status hn_graph_finish(hn_graph *g)
{
    if (g->status != HN_OK)
        return hn_fail(g->status, "%s", g->message ? g->message : "out of memory");
    return HN_OK;
}

hn_node *hn_graph_failed(hn_graph *g, hn_status status)
{
    if (g->status == HN_OK) {
        g->status = status;
        if (status != HN_ERR_MEMORY) /* keeping the words would need memory */
            g->message = hn_strdup(g->heap, HN_TAG_GRAPH, hn_error_message());
    }
    return &g->poison;
}

hn_node *hn_graph_fail(hn_graph *g, hn_status status, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hn_graph_failed(g, hn_fail(status, "%s", text));
}

void *hn_graph_alloc(hn_graph *g, size_t bytes)
{
    const size_t rounded = (bytes + 15) / 16 * 16;
    struct hn_chunk *chunk = g->chunks;
    if (!chunk || chunk->bytes - chunk->used < rounded) {
        const size_t header = 64;
        const size_t room = header + (rounded > CHUNK_BYTES ? rounded : CHUNK_BYTES);
        chunk = hn_alloc(g->heap, HN_TAG_GRAPH, room);
        if (!chunk) {
            hn_graph_failed(g, HN_ERR_MEMORY);
            return NULL;
        }
        *chunk = (struct hn_chunk){ .next = g->chunks, .used = header, .bytes = room };
        g->chunks = chunk;
    }
    void *block = (char *)chunk + chunk->used;
    chunk->used += rounded;
    return block;
}

const char *hn_graph_text(hn_graph *g, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = hn_graph_alloc(g, bytes);
    if (!copy)
        return "";
    memcpy(copy, text, bytes);
    return copy;
}

void hn_graph_scope(hn_graph *g, const char *format, ...)
{
    char text[SCOPE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!strcmp(text, g->scope))
        return;
    g->scope = hn_graph_text(g, text);
    g->in_scope = 0;
}

uint64_t hn_graph_key(const hn_graph *g, const char *op_name)
{
    char text[SCOPE_BYTES + 64];
    snprintf(text, sizeof text, "%s/%s#%d", g->scope, op_name, g->in_scope);
    return hn_hash_text(text);
}

int hn_graph_extent(hn_graph *g, const char *name, int64_t max)
{
    if (g->n_extents == HN_MAX_EXTENTS || max < 1) {
        hn_graph_fail(g, HN_ERR_ARGUMENT, "extent %s: expected at most %d extents, each >= 1",
                      name, HN_MAX_EXTENTS);
        return 0;
    }
    g->extents[g->n_extents] = (hn_extent){ hn_graph_text(g, name), max };
    return g->n_extents++;
}

/* Makes room for one more pointer in a growing list. */
static bool grow(hn_graph *g, void **list, int n, int *room, size_t size)
{
    if (n < *room)
        return true;
    const int more = *room ? *room * 2 : 64;
    void *grown = hn_realloc_array(g->heap, HN_TAG_GRAPH, *list, (size_t)more, size);
    if (!grown) {
        hn_graph_failed(g, HN_ERR_MEMORY);
        return false;
    }
    *list = grown;
    *room = more;
    return true;
}

static bool resolve_dims(hn_graph *g, hn_leaf *leaf, int rank, const int64_t *dim, int64_t *out)
{
    for (int i = 0; i < rank && i < HN_MAX_RANK; i++) {
        out[i] = dim[i];
        if (dim[i] >= 0)
            continue;
        const int64_t extent = -1 - dim[i];
        if (extent >= g->n_extents) {
            hn_graph_fail(g, HN_ERR_SHAPE, "%s: dimension %d is %lld", leaf->name, i,
                          (long long)dim[i]);
            return false;
        }
        leaf->extent[i] = (int)extent + 1;
        out[i] = g->extents[extent].max;
    }
    return true;
}

hn_node *hn_graph_leaf(hn_graph *g, hn_leaf_kind kind, const char *name, hn_dtype dtype, int rank,
                       const int64_t *dim)
{
    if (g->status != HN_OK)
        return &g->poison;
    hn_leaf *leaf = hn_graph_alloc(g, sizeof *leaf);
    hn_node *node = hn_graph_alloc(g, sizeof *node);
    void *list = g->leaves;
    if (!leaf || !node || !grow(g, &list, g->n_leaves, &g->leaves_room, sizeof leaf))
        return &g->poison;
    g->leaves = list;
    *leaf = (hn_leaf){ .kind = kind, .name = hn_graph_text(g, name), .device = HN_ANY_DEVICE };
    int64_t full[HN_MAX_RANK] = { 0 };
    if (!resolve_dims(g, leaf, rank, dim, full))
        return &g->poison;
    const hn_status status = hn_type_make(&leaf->type, dtype, rank, full);
    if (status != HN_OK)
        return hn_graph_failed(g, hn_fail_within(status, "%s: ", name));
    leaf->id = g->n_leaves;
    *node = (hn_node){ .type = leaf->type, .leaf = leaf, .id = g->n_nodes++,
                       .is_per_batch = kind == HN_LEAF_INPUT, .graph = g };
    leaf->node = node;
    g->leaves[g->n_leaves++] = leaf;
    return node;
}

hn_node *hn_graph_weight(hn_graph *g, const char *name, hn_dtype dtype, const hn_layout *layout, int rank,
                         const int64_t *dim)
{
    hn_node *node = hn_graph_leaf(g, HN_LEAF_WEIGHT, name, dtype, rank, dim);
    if (hn_is_poison(g, node) || !layout)
        return node;
    for (int i = 0; i < rank; i++)
        if (node->leaf->extent[i])
            return hn_graph_fail(g, HN_ERR_SHAPE, "%s: packed weights have fixed dimensions",
                                 name);
    const hn_status status = hn_type_set_layout(&node->leaf->type, layout);
    if (status != HN_OK)
        return hn_graph_failed(g, hn_fail_within(status, "%s: ", name));
    node->type = node->leaf->type;
    return node;
}

hn_node *hn_graph_constant(hn_graph *g, const char *name, const hn_type *type, const void *data)
{
    hn_node *node =
        hn_graph_leaf(g, HN_LEAF_CONSTANT, name, type->dtype, type->rank, type->dim);
    if (hn_is_poison(g, node))
        return node;
    const size_t bytes = hn_type_bytes(type);
    void *copy = hn_graph_alloc(g, bytes);
    if (!copy)
        return &g->poison;
    memcpy(copy, data, bytes);
    node->leaf->data = copy;
    return node;
}

hn_node *hn_graph_scalar(hn_graph *g, float value)
{
    return hn_graph_constant(g, "scalar", &(hn_type){ .dtype = HN_F32 }, &value);
}

hn_node *hn_graph_ints(hn_graph *g, int n, const int32_t *values)
{
    const hn_type type = { .dtype = HN_I32, .rank = 1, .dim = { n }, .stride = { 4 } };
    return hn_graph_constant(g, "ints", &type, values);
}

bool hn_graph_add_apply(hn_graph *g, hn_apply *apply)
{
    void *list = g->applies;
    if (!grow(g, &list, g->n_applies, &g->applies_room, sizeof apply))
        return false;
    g->applies = list;
    apply->id = g->n_applies;
    g->applies[g->n_applies++] = apply;
    g->in_scope++;
    return true;
}

hn_node *hn_graph_boundary(hn_graph *g, hn_node *x)
{
    if (g->status != HN_OK)
        return &g->poison;
    void *list = g->boundaries;
    if (!grow(g, &list, g->segment, &g->boundaries_room, sizeof x))
        return &g->poison;
    g->boundaries = list;
    g->boundaries[g->segment++] = x;
    return x;
}

const char *hn_apply_text(const hn_apply *apply, char *text)
{
    snprintf(text, HN_NODE_TEXT, "%s%s%s#%d", apply->scope, *apply->scope ? "/" : "",
             apply->op->name, apply->id);
    return text;
}

const char *hn_node_text(const hn_node *node, char *text)
{
    if (!node->by) {
        snprintf(text, HN_NODE_TEXT, "%s", node->leaf ? node->leaf->name : "poison");
        return text;
    }
    return hn_apply_text(node->by, text);
}
