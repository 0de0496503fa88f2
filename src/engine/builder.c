/* Public building: names and texts in, nodes out; the graph is sticky on error by itself. */
#include "base/word_list.h"
#include "diff/diff.h"
#include "engine/engine.h"
#include "graph/layout.h"

#include <string.h>

hn_status hn_builder_new(hn_builder **out, hn_engine *engine)
{
    HN_ENTER();
    HN_REQUIRE(out && engine, HN_ERR_ARGUMENT, "hn_builder_new: NULL given");
    *out = NULL;
    hn_builder *b = hn_alloc(&engine->heap, HN_TAG_GRAPH, sizeof *b);
    if (!b)
        return HN_ERR_MEMORY;
    b->engine = engine;
    atomic_init(&b->n_holders, 1);
    const hn_status status = hn_graph_new(&b->g, &engine->heap);
    if (status != HN_OK) {
        hn_free(&engine->heap, b);
        return status;
    }
    *out = b;
    return HN_OK;
}

hn_builder *hn_builder_hold(hn_builder *b)
{
    atomic_fetch_add(&b->n_holders, 1);
    return b;
}

void hn_builder_let_go(hn_builder *b)
{
    if (!b || atomic_fetch_sub(&b->n_holders, 1) > 1)
        return;
    hn_heap *heap = &b->engine->heap;
    hn_graph_free(b->g);
    hn_free(heap, b);
}

void hn_builder_free(hn_builder *b)
{
    HN_ENTER();
    hn_builder_let_go(b);
}

hn_status hn_builder_status(const hn_builder *b)
{
    HN_ENTER();
    HN_REQUIRE(b, HN_ERR_ARGUMENT, "no builder given");
    return hn_graph_finish(b->g);
}

int32_t hn_builder_extent(hn_builder *b, const char *name, int64_t max)
{
    HN_ENTER();
    return b ? hn_graph_extent(b->g, name ? name : "extent", max) : 0;
}

/* Kinds that a caller can make: NULL of the others. */
static const char *const kinds[] = { [HN_LEAF_INPUT] = "input", [HN_LEAF_STEP] = "step", [HN_LEAF_WEIGHT] = "weight",
                                     [HN_LEAF_STATE] = "state" };

const char *hn_leaf_kind_name(hn_leaf_kind kind) { return kinds[kind]; }

hn_status hn_leaf_kind_parse(const char *word, hn_leaf_kind *out)
{
    for (size_t i = 0; word && i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i] && !strcmp(word, kinds[i])) {
            *out = (hn_leaf_kind)i;
            return HN_OK;
        }
    const char *made[sizeof kinds / sizeof *kinds];
    hn_word_text all;
    int n = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i])
            made[n++] = kinds[i];
    return hn_fail(HN_ERR_ARGUMENT, "leaf kind '%.40s': expected %s", word ? word : "NULL", hn_words_or(n, made, &all));
}

hn_status hn_builder_check_given(const hn_builder *b, int n, hn_node *const *nodes)
{
    for (int i = 0; i < n; i++)
        HN_REQUIRE(nodes[i], HN_ERR_ARGUMENT, "node %d of %d is NULL", i, n);
    return hn_builder_check_own(b, n, nodes);
}

hn_status hn_builder_check_own(const hn_builder *b, int n, hn_node *const *nodes)
{
    for (int i = 0; i < n; i++)
        HN_REQUIRE(!nodes[i] || nodes[i]->graph == b->g, HN_ERR_ARGUMENT,
                   "%s is a node of another builder",
                   nodes[i]->leaf && nodes[i]->leaf->name ? nodes[i]->leaf->name : "what was given");
    return HN_OK;
}

static hn_status check_building(const hn_builder *b)
{
    HN_REQUIRE(!b->is_taken, HN_ERR_ARGUMENT, "a trainer has taken this builder's graph");
    return HN_OK;
}

/* "q4_k" or "q4_k@panel16". */
static hn_status leaf_type(const char *text, hn_dtype *dtype, const hn_layout **layout)
{
    const char *at = strchr(text, '@');
    HN_TRY(hn_dtype_parse(text, at ? (size_t)(at - text) : strlen(text), dtype));
    return at ? hn_layout_find(at + 1, layout) : HN_OK;
}

hn_node *hn_builder_leaf(hn_builder *b, const char *kind, const char *name, const char *type,
                         int32_t rank, const int64_t *dim)
{
    HN_ENTER();
    if (!b)
        return NULL;
    hn_leaf_kind leaf = HN_LEAF_INPUT;
    hn_dtype dtype = HN_F32;
    const hn_layout *layout = NULL;
    hn_status status = check_building(b);
    if (status == HN_OK)
        status = hn_leaf_kind_parse(kind, &leaf);
    if (status == HN_OK)
        status = type ? leaf_type(type, &dtype, &layout)
                      : hn_fail(HN_ERR_ARGUMENT, "no element type given");
    if (status == HN_OK && layout && leaf != HN_LEAF_WEIGHT)
        status = hn_fail(HN_ERR_ARGUMENT, "leaf type '%s': only weights are packed", type);
    if (status == HN_OK && (rank < 0 || rank > HN_MAX_RANK || (rank && !dim)))
        status = hn_fail(HN_ERR_SHAPE, "rank %d: expected 0 to %d, and dimensions", rank, HN_MAX_RANK);
    if (status != HN_OK)
        return hn_graph_failed(b->g, status);
    if (layout)
        return hn_graph_weight(b->g, name ? name : "leaf", dtype, layout, rank, dim);
    return hn_graph_leaf(b->g, leaf, name ? name : "leaf", dtype, rank, dim);
}

void hn_builder_place(hn_builder *b, hn_node *leaf, int32_t device)
{
    HN_ENTER();
    if (!b || !leaf || hn_is_poison(b->g, leaf))
        return;
    const hn_status status = hn_builder_check_own(b, 1, &leaf);
    if (status != HN_OK)
        hn_graph_failed(b->g, status);
    else if (!leaf->leaf || device < 0 || device >= b->engine->n_devices)
        hn_graph_fail(b->g, HN_ERR_ARGUMENT, "device %d of %d, for %s", device,
                      b->engine->n_devices, leaf->leaf ? leaf->leaf->name : "what is no leaf");
    else
        leaf->leaf->device = device;
}

hn_node *hn_builder_constant(hn_builder *b, const char *type, int32_t rank, const int64_t *dim,
                             const void *data)
{
    HN_ENTER();
    if (!b)
        return NULL;
    hn_dtype dtype = HN_F32;
    hn_type full = { 0 };
    hn_status status = check_building(b);
    if (status == HN_OK && (!type || !data || (rank && !dim)))
        status = hn_fail(HN_ERR_ARGUMENT, "a constant needs a type, dimensions and data");
    if (status == HN_OK)
        status = hn_dtype_parse(type, strlen(type), &dtype);
    if (status == HN_OK)
        status = hn_type_make(&full, dtype, rank, dim);
    if (status != HN_OK)
        return hn_graph_failed(b->g, status);
    return hn_graph_constant(b->g, "constant", &full, data);
}

static hn_status check_op(const hn_builder *b, const char *op, int32_t n_in, hn_node *const *in)
{
    HN_TRY(check_building(b));
    HN_REQUIRE(op && n_in >= 0 && n_in <= HN_MAX_IN && (in || !n_in), HN_ERR_ARGUMENT,
               "%.40s: %d inputs: expected 0 to %d", op ? op : "NULL", n_in, HN_MAX_IN);
    return HN_OK;
}

hn_node *hn_builder_op(hn_builder *b, const char *op, const char *attributes, int32_t n_in,
                       hn_node *const *in)
{
    HN_ENTER();
    if (!b)
        return NULL;
    const hn_status status = check_op(b, op, n_in, in);
    return status == HN_OK ? hn_apply_named(b->g, op, attributes, n_in, in)
                           : hn_graph_failed(b->g, status);
}

hn_node *hn_builder_apply(hn_builder *b, const char *op, int32_t n_attributes,
                          const hn_attribute *attributes, int32_t n_in, hn_node *const *in)
{
    HN_ENTER();
    enum { MOST = 32 };
    hn_attr_value values[MOST];
    if (!b)
        return NULL;
    hn_status status = check_op(b, op, n_in, in);
    if (status == HN_OK && (n_attributes < 0 || n_attributes > MOST || (n_attributes && !attributes)))
        status = hn_fail(HN_ERR_ARGUMENT, "%.40s: %d attributes: expected 0 to %d", op, n_attributes, MOST);
    if (status != HN_OK)
        return hn_graph_failed(b->g, status);
    for (int i = 0; i < n_attributes; i++) {
        hn_attribute a;
        status = hn_take_element("hn_attribute", attributes, (size_t)i, sizeof a, &a);
        if (status != HN_OK)
            return hn_graph_failed(b->g, status);
        values[i] = (hn_attr_value){ .name = a.name, .given = (hn_attr_given)a.kind,
                                     .number = a.number, .integer = a.integer,
                                     .integers = a.integers, .n_integers = a.n_integers,
                                     .word = a.word };
    }
    return hn_apply_values(b->g, op, n_attributes, values, n_in, in);
}

hn_node *hn_builder_output(hn_node *node, int32_t index)
{
    return node && index >= 0 ? hn_output(node, index) : node;
}

void hn_builder_scope(hn_builder *b, const char *scope)
{
    HN_ENTER();
    if (b)
        hn_graph_scope(b->g, "%s", scope ? scope : "");
}

hn_node *hn_builder_boundary(hn_builder *b, hn_node *node)
{
    HN_ENTER();
    if (!b || !node)
        return node;
    const hn_status status = hn_builder_check_own(b, 1, &node);
    return status == HN_OK ? hn_graph_boundary(b->g, node) : hn_graph_failed(b->g, status);
}

hn_status hn_builder_gradients(hn_builder *b, hn_node *loss, int32_t n, hn_node *const *params,
                               int32_t recompute_every, hn_node **gradients)
{
    HN_ENTER();
    HN_REQUIRE(b && loss && n > 0 && params && gradients && recompute_every >= 0, HN_ERR_ARGUMENT,
               "hn_builder_gradients: NULL, or nothing to differentiate by");
    HN_TRY(hn_engine_check(b->engine));
    HN_TRY(check_building(b));
    const hn_diff_options options = { .recompute_every = recompute_every };
    HN_TRY(hn_graph_finish(b->g));
    HN_TRY(hn_builder_check_own(b, 1, &loss));
    HN_TRY(hn_builder_check_given(b, n, params));
    return hn_diff(b->g, loss, n, params, &options, gradients);
}

hn_status hn_node_shape(const hn_node *node, hn_shape *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_shape, out, to, size);
    HN_REQUIRE(node && to, HN_ERR_ARGUMENT, "no node given");
    out->rank = node->type.rank;
    memcpy(out->dim, node->type.dim, sizeof out->dim);
    return HN_OK;
}

const char *hn_node_type(const hn_node *node)
{
    return node ? hn_dtype_name(node->type.dtype) : "";
}
