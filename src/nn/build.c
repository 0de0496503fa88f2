/* A weight becomes a leaf when it is asked for, and the same one however often. Its layout is decided there:
 * panels if products will read it again and again, as the file has it if single rows are looked up. What is bound
 * is written down in order, for whoever runs the graph. */
#include "nn/build.h"

#include "base/half.h"
#include "nn/rounding.h"

#include "ops/attrs.h"

#include <stdio.h>
#include <string.h>

static void make_inputs(nn_build *b)
{
    hn_graph *g = b->g;
    const nn_build_options *options = &b->o;
    b->tokens_extent = hn_graph_extent(g, "tokens", options->max_tokens);
    const int64_t t[2] = { hn_extent_dim(b->tokens_extent), 3 };
    const bool has_cache = options->capacity > 0;
    b->tokens = hn_graph_leaf(g, HN_LEAF_INPUT, "tokens", HN_I32, 1, t);
    b->positions = hn_graph_leaf(g, HN_LEAF_INPUT, "positions", HN_I32, 1, t);
    b->segments = hn_graph_leaf(g, HN_LEAF_INPUT, "segments", HN_I32, has_cache ? 2 : 1, t);
    if (has_cache)
        b->slots = hn_graph_leaf(g, HN_LEAF_INPUT, "slots", HN_I32, 1, t);
    const int64_t table[2] = { options->n_sequences, options->each };
    if (has_cache && options->each)
        b->table = hn_graph_leaf(g, HN_LEAF_INPUT, "table", HN_I32, 2, table);
    if (has_cache && options->window_capacity) {
        b->window_slots = hn_graph_leaf(g, HN_LEAF_INPUT, "window_slots", HN_I32, 1, t);
        b->window_table = hn_graph_leaf(g, HN_LEAF_INPUT, "window_table", HN_I32, 2, table);
    }
    if (options->bank.n)
        b->adapter_ids = hn_graph_leaf(g, HN_LEAF_INPUT, "adapters", HN_I32, 1, t);
    if (!options->max_rows)
        return;
    b->rows_extent = hn_graph_extent(g, "rows", options->max_rows);
    const int64_t r = hn_extent_dim(b->rows_extent);
    b->rows = hn_graph_leaf(g, HN_LEAF_INPUT, "rows", HN_I32, 1, &r);
    if (options->bank.n)
        b->row_adapters = hn_graph_leaf(g, HN_LEAF_INPUT, "row_adapters", HN_I32, 1, &r);
}

static void share_inputs(nn_build *b, const nn_build *from)
{
    b->tokens_extent = from->tokens_extent;
    b->tokens = from->tokens;
    b->positions = from->positions;
    b->segments = from->segments;
    b->slots = from->slots;
    b->table = from->table;
    b->window_slots = from->window_slots;
    b->window_table = from->window_table;
    b->adapter_ids = from->adapter_ids;
    b->row_adapters = from->row_adapters;
    b->rows_extent = from->rows_extent;
    b->rows = from->rows;
    b->angles = from->angles;
    b->bound = hn_graph_alloc(b->g, ((size_t)from->n_bound + 1) * sizeof *b->bound);
    if (!b->bound)
        return;
    memcpy(b->bound, from->bound, (size_t)from->n_bound * sizeof *b->bound);
    b->n_bound = from->n_bound;
    b->bound_room = from->n_bound + 1;
}

void nn_build_begin(nn_build *b, hn_graph *g, const hn_hparams *hp,
                    const nn_build_options *options)
{
    b->g = g;
    b->hp = hp;
    b->o = *options;
    b->layer = -1;
    b->layers = hn_graph_alloc(g, (size_t)(hp->n_layer + 1) * sizeof *b->layers);
    if (options->split.experts && !hp->n_expert)
        hn_graph_fail(g, HN_ERR_ARGUMENT, "the model has no experts that could lie on a device of their own");
    if (options->inputs_of)
        share_inputs(b, options->inputs_of);
    else
        make_inputs(b);
    if (options->has_dropout) {
        const int64_t place[2] = { hn_extent_dim(b->tokens_extent), 2 };
        b->places = hn_graph_leaf(g, HN_LEAF_INPUT, "places", HN_I32, 2, place);
        b->step = hn_graph_leaf(g, HN_LEAF_STEP, "step", HN_I32, 0, NULL);
    }
}

static hn_node *given(nn_build *b, const char *name, hn_node *like)
{
    return hn_graph_leaf(b->g, HN_LEAF_INPUT, nn_name(b, name, ""), HN_F32, like->type.rank, like->type.dim);
}

hn_node *nn_layer_begin(nn_build *b, hn_node *x)
{
    if (!b->layers || hn_is_poison(b->g, x))
        return x;
    nn_layer *layer = &b->layers[b->layer];
    layer->in = x;
    if (b->o.feeds_layers)
        layer->given = given(b, ".in", x);
    return layer->given ? layer->given : x;
}

hn_node *nn_layer_end(nn_build *b, hn_node *x)
{
    x = hn_graph_boundary(b->g, x);
    if (!b->layers || hn_is_poison(b->g, x))
        return x;
    b->layers[b->layer].out = x;
    if (!b->o.feeds_layers || b->layer + 1 < b->hp->n_layer)
        return x;
    return b->layers[b->layer + 1].given = given(b, "head.in", x);
}

hn_node *nn_layer_own(nn_build *b, hn_node *x)
{
    if (!b->layers || hn_is_poison(b->g, x))
        return x;
    nn_layer *layer = &b->layers[b->layer];
    layer->own_in = x;
    if (b->o.feeds_layers)
        layer->own_given = given(b, ".own_in", x);
    return layer->own_given ? layer->own_given : x;
}

static int device_of(const nn_build *b, const char *name)
{
    return nn_split_device(&b->o.split, b->layer, b->hp->n_layer, name);
}

/* Where its layer's weights are. */
static void place(const nn_build *b, hn_node *leaf)
{
    if (nn_split_is_any(&b->o.split) && !hn_is_poison(b->g, leaf))
        leaf->leaf->device = device_of(b, leaf->leaf->name);
}

static hn_node *remember(nn_build *b, const char *name, hn_node *made, bool is_apart)
{
    if (hn_is_poison(b->g, made))
        return made;
    const int64_t dim[3] = { is_apart ? b->o.window_capacity : b->o.capacity, made->type.dim[1],
                             made->type.dim[2] };
    hn_node *state = nn_leaf_here(b, HN_LEAF_STATE, nn_name(b, name, ""), b->o.cache, 3, dim);
    return hn_set_rows(b->g, state, made, is_apart ? b->window_slots : b->slots);
}

nn_keys nn_remember(nn_build *b, nn_keys made, int64_t window)
{
    if (!b->o.capacity)
        return made;
    const bool is_apart = window > 0 && b->o.window_capacity > 0;
    b->has_window = b->has_window || is_apart;
    const char *k = window > 0 ? ".window_k" : ".cache_k",
               *v = window > 0 ? ".window_v" : ".cache_v";
    return (nn_keys){ remember(b, k, made.k, is_apart), remember(b, v, made.v, is_apart),
                      is_apart ? b->window_table : b->table };
}

nn_keys nn_remember_keys(nn_build *b, hn_node *made, hn_node *values)
{
    if (!b->o.capacity || hn_is_poison(b->g, made))
        return (nn_keys){ made, values, NULL };
    hn_node *k = remember(b, ".cache_k", made, false);
    return (nn_keys){ k, hn_slice(b->g, k, 2, 0, values->type.dim[2], 1), b->table };
}

hn_node *nn_pick_rows(nn_build *b, hn_node *x)
{
    return b->rows ? hn_gather(b->g, x, b->rows) : x;
}

const char *nn_name(nn_build *b, const char *name, const char *suffix)
{
    char full[160];
    if (name[0] == '.')
        snprintf(full, sizeof full, "blk.%d%s%s", b->layer, name, suffix);
    else
        snprintf(full, sizeof full, "%s%s", name, suffix);
    return hn_graph_text(b->g, full);
}

/* Room for one more, in memory of the graph: what was there is left to it. */
static void *grow(nn_build *b, void *items, int n, int *room, size_t size)
{
    if (n < *room)
        return items;
    const int grown = *room ? 2 * *room : 64;
    void *bigger = hn_graph_alloc(b->g, (size_t)grown * size);
    if (bigger && n)
        memcpy(bigger, items, (size_t)n * size);
    *room = bigger ? grown : *room;
    return bigger;
}

/* Whether bf16 holds every value, less `shift`, so that the sum comes out the same. */
static bool fits_bf16(const nn_weight *w, float shift)
{
    const hn_tensor t = hn_tensor_at(&w->type, (void *)(uintptr_t)w->data);
    const int64_t n = hn_count(&w->type);
    if (w->type.dtype == HN_F32 && shift == 0) { /* whole matrices */
        const uint8_t *at = w->data;
        uint32_t lost = 0;
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, at + 4 * i, sizeof bits);
            lost |= bits & 0xffffu;
        }
        return !lost;
    }
    for (int64_t i = 0; i < n; i++) {
        const float value = (float)hn_get(&t, i);
        if (hn_bf16_to_f32(hn_f32_to_bf16(value - shift)) + shift != value)
            return false;
    }
    return true;
}

/* The reference in bf16 rounds plain weights as it loads them. Block formats stay as stored. */
static hn_node *value_of(nn_build *b, const nn_weight *w, hn_node *leaf)
{
    hn_graph *g = b->g;
    const hn_dtype dtype = w->type.dtype;
    const float shift = w->is_shifted ? 1 : 0;
    if (b->o.numerics != HN_NUMERICS_BF16 || !w->is_rounded ||
        (dtype != HN_F32 && dtype != HN_F16) || fits_bf16(w, shift))
        return leaf;
    hn_node *x = hn_cast(g, leaf, HN_F32);
    if (!w->is_shifted)
        return nn_round(b, x);
    return hn_scale(g, nn_round(b, hn_scale(g, x, 1, -1)), 1, 1);
}

static int64_t head_dim(const nn_build *b)
{
    const hn_hparams *hp = b->hp;
    return hp->has[HN_HP_head_dim_swa] && hp->is_sliding[b->layer] ? hp->head_dim_swa
                                                                   : hp->head_dim;
}

/* Panels suit what products read again and again: not tables of which a few rows are looked up,
 * and not what is computed with before a product reads it. */
static bool may_pack(const nn_build *b, const nn_weight *w)
{
    if (!b->o.packs || w->type.rank < 2 || w->type.rank > 3 || nn_is_adapted_whole(b, w))
        return false;
    if (!strcmp(w->name, "token_embd.weight"))
        return !nn_find(b, "output.weight");
    const char *end = strstr(w->name, "_embd.weight");
    return !end && strstr(w->name, ".weight");
}

/* Rounded once, while they are packed, not whenever they are read. */
static hn_dtype packed_type(const nn_build *b, const nn_weight *w)
{
    const bool is_wide = w->type.dtype == HN_F32 || w->type.dtype == HN_F16;
    return b->o.numerics == HN_NUMERICS_BF16 && is_wide && w->is_rounded ? HN_BF16
                                                                         : w->type.dtype;
}

static const hn_layout *layout_of(const nn_build *b, const nn_weight *w)
{
    return may_pack(b, w) ? b->o.prefers(b->o.prefers_of, device_of(b, w->name), packed_type(b, w), w->type.rank) : NULL;
}

static bool is_packed(const nn_build *b, const nn_weight *w)
{
    return layout_of(b, w) != NULL;
}

static hn_node *leaf_in(nn_build *b, const nn_weight *w, const hn_layout *layout)
{
    for (int i = 0; i < b->n_bound; i++)
        if (b->bound[i].weight == w)
            return b->bound[i].value;
    nn_bound *bound = grow(b, b->bound, b->n_bound, &b->bound_room, sizeof *bound);
    if (!bound)
        return &b->g->poison;
    b->bound = bound;
    const bool packed = layout != NULL;
    hn_node *leaf = hn_graph_weight(b->g, w->name, packed ? packed_type(b, w) : w->type.dtype, layout, w->type.rank,
                                    w->type.dim);
    place(b, leaf);
    if (b->model.find(b->model.self, w->name) == w && !hn_is_poison(b->g, leaf) &&
        nn_split_streams(&b->o.split, b->layer, b->hp->n_layer, w->name))
        leaf->leaf->stretch = b->layer + 1;
    hn_node *value = packed ? leaf : value_of(b, w, leaf);
    b->bound[b->n_bound++] =
        (nn_bound){ w, leaf, value, packed, packed && w->is_permuted ? head_dim(b) : 0 };
    return value;
}

hn_node *nn_leaf(nn_build *b, const nn_weight *w)
{
    return leaf_in(b, w, layout_of(b, w));
}

hn_node *nn_leaf_plain(nn_build *b, const nn_weight *w)
{
    return leaf_in(b, w, NULL);
}

const nn_weight *nn_find(const nn_build *b, const char *name)
{
    const nn_weights *instead = &b->o.instead;
    const nn_weight *w = instead->find ? instead->find(instead->self, name) : NULL;
    return w ? w : b->model.find(b->model.self, name);
}

static const nn_weight *find(nn_build *b, const char *name, const char *suffix)
{
    const char *full = nn_name(b, name, suffix);
    return full ? nn_find(b, full) : NULL;
}

hn_node *nn_weight_of(nn_build *b, const char *name)
{
    const nn_weight *w = find(b, name, "");
    return w ? nn_leaf(b, w) : NULL;
}

hn_node *nn_want(nn_build *b, const char *name)
{
    hn_node *w = nn_weight_of(b, name);
    return w ? w
             : hn_graph_fail(b->g, HN_ERR_FORMAT, "tensor %s is missing", nn_name(b, name, ""));
}

hn_node *nn_leaf_here(nn_build *b, hn_leaf_kind kind, const char *name, hn_dtype dtype, int rank,
                      const int64_t *dim)
{
    hn_node *leaf = hn_graph_leaf(b->g, kind, name, dtype, rank, dim);
    place(b, leaf);
    return leaf;
}

void nn_note_banked(nn_build *b, const nn_banked *banked)
{
    nn_banked *all = grow(b, b->banked, b->n_banked, &b->banked_room, sizeof *all);
    if (!all)
        return;
    b->banked = all;
    b->banked[b->n_banked++] = *banked;
}

void nn_note_use(nn_build *b, const nn_weight *w, hn_node *x, hn_node *ids)
{
    nn_use *uses = grow(b, b->uses, b->n_uses, &b->uses_room, sizeof *uses);
    if (!uses)
        return;
    b->uses = uses;
    b->uses[b->n_uses++] = (nn_use){ w, x, ids };
}

hn_node *nn_in_order(nn_build *b, hn_node *rows)
{
    hn_graph *g = b->g;
    const int64_t dim = head_dim(b);
    if (rows->type.rank == 1) {
        rows = hn_reshape(g, rows, (hn_ints){ 3, { -1, dim / 2, 2 } });
        return hn_reshape(g, hn_transpose(g, rows, 1, 2), (hn_ints){ 1, { -1 } });
    }
    const int64_t k = hn_last_dim(&rows->type);
    rows = hn_reshape(g, rows, (hn_ints){ 4, { -1, dim / 2, 2, k } });
    return hn_reshape(g, hn_transpose(g, rows, 1, 2), (hn_ints){ 2, { -1, k } });
}

void nn_note_route(nn_build *b, hn_node *logits, hn_node *ids, int score)
{
    nn_route *routes = grow(b, b->routes, b->n_routes, &b->routes_room, sizeof *routes);
    if (!routes)
        return;
    b->routes = routes;
    b->routes[b->n_routes++] = (nn_route){ b->layer, logits, ids, score };
}

hn_node *nn_linear(nn_build *b, hn_node *x, const char *name)
{
    const nn_weight *w = find(b, name, ".weight"), *bias = find(b, name, ".bias");
    if (!w)
        return hn_graph_fail(b->g, HN_ERR_FORMAT, "tensor %s is missing",
                             nn_name(b, name, ".weight"));
    x = nn_product_in(b, x, w);
    nn_note_use(b, w, x, NULL);
    hn_node *y = nn_product(b, x, w, w->is_permuted && !is_packed(b, w) ? head_dim(b) : 0);
    y = nn_adapt(b, y, x, w, NULL);
    if (!bias)
        return nn_round(b, y);
    hn_node *added = nn_leaf(b, bias); /* to the sum in f32: PyTorch's addmm rounds once */
    return nn_add(b, y, bias->is_permuted ? nn_in_order(b, added) : added);
}

hn_node *nn_linear_id(nn_build *b, hn_node *x, const char *name, hn_node *ids)
{
    const nn_weight *w = find(b, name, ".weight"), *bias = find(b, name, ".bias");
    if (!w)
        return hn_graph_fail(b->g, HN_ERR_FORMAT, "tensor %s is missing",
                             nn_name(b, name, ".weight"));
    x = nn_product_in(b, x, w);
    nn_note_use(b, w, x, ids);
    hn_node *y = nn_adapt(b, nn_product_id(b, x, w, ids), x, w, ids);
    y = nn_round(b, y);
    return bias ? nn_add(b, y, hn_gather(b->g, nn_leaf(b, bias), ids)) : y;
}
