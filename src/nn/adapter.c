/* The product comes first, then what is added to it, in the order of the adapters: so without one the graph has no
 * node more. Drop-out is of the input, by the tensor's name and the step, and not by where the graph has it. */
#include "nn/adapter.h"

#include "base/rng.h"
#include "nn/build.h"
#include "nn/rounding.h"
#include "ops/dropout_key.h"

#include <stdio.h>
#include <string.h>

static hn_node *drop(nn_build *b, hn_node *x, const nn_weight *w, const nn_lora *lora)
{
    if (!(lora->dropout > 0) || !b->places)
        return x;
    const hn_dropout_attrs attrs = { lora->dropout, (int64_t)lora->seed,
                                     (int64_t)(hn_hash_text(w->name) & 0x7fffffff) };
    return HN_APPLY(b->g, &hn_op_dropout, &attrs, x, b->places, b->step);
}

/* m / n: see adapter.h. It depends on no token. */
static hn_node *magnitudes(nn_build *b, const nn_weight *w, const nn_lora *lora)
{
    hn_graph *g = b->g;
    hn_node *base = nn_leaf(b, w);
    hn_node *wide = base->type.dtype == HN_F32 ? base : hn_cast(g, base, HN_F32);
    if (w->is_permuted)
        wide = nn_in_order(b, wide);
    hn_node *change = hn_matmul(g, nn_leaf(b, lora->b), nn_leaf(b, lora->a), false, false);
    hn_node *sum = hn_add(g, wide, hn_scale(g, change, lora->scale, 0));
    hn_node *norms = hn_sqrt(g, hn_sum(g, hn_sqr(g, sum), NULL, 1, false));
    return hn_div(g, nn_leaf(b, lora->magnitude), hn_stop_gradient(g, norms));
}

static hn_node *adapt(nn_build *b, hn_node *y, hn_node *x, const nn_weight *w, const nn_lora *lora,
                      hn_node *ids)
{
    hn_graph *g = b->g;
    hn_node *first = lora->magnitude ? nn_leaf_plain(b, lora->a) : nn_leaf(b, lora->a); /* magnitudes multiply them */
    hn_node *second = lora->magnitude ? nn_leaf_plain(b, lora->b) : nn_leaf(b, lora->b);
    x = drop(b, x, w, lora);
    hn_node *low = ids ? hn_linear_id(g, x, first, ids) : hn_linear(g, x, first);
    low = hn_scale(g, low, lora->scale, 0);
    y = hn_add(g, y, ids ? hn_linear_id(g, low, second, ids) : hn_linear(g, low, second));
    if (!lora->magnitude)
        return y;
    return hn_mul(g, nn_product_out(b, y, w), magnitudes(b, w, lora));
}

static bool is_head(const nn_weight *w)
{
    return !strcmp(w->name, "output.weight");
}

static bool has_room(const nn_build *b, const nn_weight *w, hn_node *y)
{
    const int rank = w->type.rank;
    if (!b->o.bank.n || hn_is_poison(b->g, y) || y->type.rank != rank)
        return false;
    if (!strncmp(w->name, "blk.", 4))
        return rank == 2 || (rank == 3 && b->o.bank.has_experts);
    return b->o.bank.has_head && is_head(w);
}

static hn_node *bank_leaf(nn_build *b, hn_leaf_kind kind, const nn_weight *w, const char *what, hn_dtype dtype,
                          hn_ints dim)
{
    return nn_leaf_here(b, kind, nn_name(b, w->name, what), dtype, dim.n, dim.at);
}

/* Each row's own adapter, after those of all rows. */
static hn_node *bank(nn_build *b, hn_node *y, hn_node *x, const nn_weight *w, hn_node *ids)
{
    const int64_t n = b->o.bank.n, rank = b->o.bank.rank, *dim = w->type.dim;
    const hn_ints list = { 1, { n } };
    nn_banked of = { .weight = w };
    of.ranks = bank_leaf(b, HN_LEAF_INPUT, w, ".bank_ranks", HN_I32, list);
    of.scales = bank_leaf(b, HN_LEAF_INPUT, w, ".bank_scales", HN_F32, list);
    of.a = bank_leaf(b, HN_LEAF_WEIGHT, w, ".bank_a", HN_F32,
                     ids ? (hn_ints){ 4, { n, dim[0], rank, dim[2] } } : (hn_ints){ 3, { n, rank, dim[1] } });
    of.b = bank_leaf(b, HN_LEAF_WEIGHT, w, ".bank_b", HN_F32,
                     ids ? (hn_ints){ 4, { n, dim[0], dim[1], rank } } : (hn_ints){ 3, { n, dim[0], rank } });
    nn_note_banked(b, &of);
    hn_node *adapters = is_head(w) && b->row_adapters ? b->row_adapters : b->adapter_ids;
    return hn_low_rank(b->g, y, x, adapters, of.ranks, of.scales, of.a, of.b, ids);
}

hn_node *nn_adapt(nn_build *b, hn_node *y, hn_node *x, const nn_weight *w, hn_node *ids)
{
    bool is_scaled = false; /* then the product's gradient is rounded below the magnitude */
    for (int i = 0; i < b->o.n_adapters; i++) {
        const nn_adapter *all = &b->o.adapters[i];
        const nn_lora *lora = all->find(all->self, w);
        if (!lora)
            continue;
        y = adapt(b, y, x, w, lora, ids);
        is_scaled = is_scaled || lora->magnitude;
    }
    if (has_room(b, w, y))
        y = bank(b, y, x, w, ids);
    return is_scaled ? y : nn_product_out(b, y, w);
}

hn_node *nn_adapt_rows(nn_build *b, hn_node *y, const nn_weight *w, hn_node *ids)
{
    hn_graph *g = b->g;
    for (int i = 0; i < b->o.n_adapters; i++) {
        const nn_adapter *all = &b->o.adapters[i];
        const nn_lora *lora = all->find(all->self, w);
        if (!lora)
            continue;
        hn_node *low = hn_scale(g, hn_gather(g, nn_leaf(b, lora->a), ids), lora->scale, 0);
        y = hn_add(g, y, hn_linear(g, low, nn_leaf(b, lora->b)));
    }
    return y;
}

bool nn_is_adapted_whole(const nn_build *b, const nn_weight *w)
{
    for (int i = 0; i < b->o.n_adapters; i++) {
        const nn_lora *lora = b->o.adapters[i].find(b->o.adapters[i].self, w);
        if (lora && lora->magnitude)
            return true;
    }
    return false;
}

bool nn_is_adapted(const nn_build *b, const nn_weight *w)
{
    for (int i = 0; i < b->o.n_adapters; i++)
        if (b->o.adapters[i].find(b->o.adapters[i].self, w))
            return true;
    return false;
}
