/* In f32 every verb here is its op and nothing more. In bf16 it rounds what PyTorch would store; what is no tensor
 * of its own there is not rounded here either. */
#include "nn/rounding.h"

#include "base/half.h"
#include "ops/attrs.h"

#include <math.h>
#include <string.h>

static bool is_bf16(const nn_build *b) { return b->o.numerics == HN_NUMERICS_BF16; }

hn_node *nn_round(nn_build *b, hn_node *x) { return is_bf16(b) ? hn_round_to(b->g, x, HN_BF16) : x; }

static bool chooses_experts(const nn_weight *w) { return strstr(w->name, ".ffn_gate_inp.") != NULL; }

bool nn_is_narrow(const nn_build *b, const nn_weight *w)
{
    if (b->o.numerics == HN_NUMERICS_MIXED_1)
        return w->type.dtype == HN_BF16;
    return b->o.numerics == HN_NUMERICS_MIXED && !chooses_experts(w);
}

hn_sums nn_sums(const nn_build *b, const nn_weight *w)
{
    const bool is_mixed = b->o.numerics == HN_NUMERICS_MIXED && nn_is_narrow(b, w);
    return is_mixed || (is_bf16(b) && !hn_is_block(w->type.dtype)) ? HN_SUMS_BLOCKS : HN_SUMS_CHAIN;
}

/* Queries, keys and values are made of the same x: it is rounded once. */
hn_node *nn_product_in(nn_build *b, hn_node *x, const nn_weight *w)
{
    if (!nn_is_narrow(b, w))
        return x;
    if (b->wide != x) {
        b->wide = x;
        b->narrow = hn_round_to(b->g, x, HN_BF16);
    }
    return b->narrow;
}

hn_node *nn_product_out(nn_build *b, hn_node *y, const nn_weight *w)
{
    return nn_is_narrow(b, w) ? hn_round_back(b->g, y, HN_BF16) : y;
}

static bool is_whole(nn_build *b, const nn_weight *w)
{
    const bool is = b->o.numerics == HN_NUMERICS_INT8 && hn_is_block(w->type.dtype) && !chooses_experts(w);
    b->has_whole = b->has_whole || is;
    return is;
}

hn_node *nn_product(nn_build *b, hn_node *x, const nn_weight *w, int64_t pairs)
{
    return is_whole(b, w)
               ? hn_linear_int8(b->g, x, nn_leaf(b, w), pairs)
               : HN_APPLY(b->g, &hn_op_linear, &((linear_attrs){ pairs, (int)nn_sums(b, w) }), x, nn_leaf(b, w));
}

hn_node *nn_product_id(nn_build *b, hn_node *x, const nn_weight *w, hn_node *ids)
{
    return is_whole(b, w)
               ? hn_linear_id_int8(b->g, x, nn_leaf(b, w), ids)
               : HN_APPLY(b->g, &hn_op_linear_id, &((linear_id_attrs){ (int)nn_sums(b, w) }), x, nn_leaf(b, w), ids);
}

float nn_constant(const nn_build *b, double value)
{
    return is_bf16(b) ? hn_bf16_to_f32(hn_f32_to_bf16((float)value)) : (float)value;
}

hn_node *nn_add(nn_build *b, hn_node *x, hn_node *y) { return nn_round(b, hn_add(b->g, x, y)); }

hn_node *nn_mul(nn_build *b, hn_node *x, hn_node *y) { return nn_round(b, hn_mul(b->g, x, y)); }

hn_node *nn_scale(nn_build *b, hn_node *x, float a) { return nn_round(b, hn_scale(b->g, x, a, 0)); }

hn_node *nn_gelu(nn_build *b, hn_node *x) { return nn_round(b, hn_gelu(b->g, x, 0)); }

hn_node *nn_silu(nn_build *b, hn_node *x) { return nn_round(b, hn_silu(b->g, x)); }

hn_node *nn_softcap(nn_build *b, hn_node *x, float cap)
{
    if (!is_bf16(b))
        return hn_softcap(b->g, x, cap);
    x = nn_round(b, hn_div(b->g, x, hn_graph_scalar(b->g, cap)));
    return nn_scale(b, nn_round(b, hn_tanh(b->g, x)), cap);
}

hn_node *nn_rms_norm(nn_build *b, hn_node *x, const char *name)
{
    const float eps = (float)b->hp->rms_eps;
    hn_node *gain = nn_want(b, name);
    if (!is_bf16(b))
        return hn_rms_norm(b->g, x, gain, eps);
    return nn_mul(b, nn_round(b, hn_rms_norm(b->g, x, NULL, eps)), gain);
}

hn_node *nn_rms_norm_once(nn_build *b, hn_node *x, const char *name)
{
    hn_node *gain = name ? nn_want(b, name) : NULL;
    return nn_round(b, hn_rms_norm(b->g, x, gain, (float)b->hp->rms_eps));
}

hn_node *nn_layer_norm(nn_build *b, hn_node *x, const char *name)
{
    hn_node *gain = nn_want(b, nn_name(b, name, ".weight")), *bias = nn_want(b, nn_name(b, name, ".bias"));
    return nn_round(b, hn_layer_norm(b->g, x, gain, bias, (float)b->hp->norm_eps));
}

/* ---- attention ---- */

/* [T, H, D] as [H, T, D], or back. */
static hn_node *swap_heads(nn_build *b, hn_node *x) { return hn_contiguous(b->g, hn_transpose(b->g, x, 0, 1)); }

/* Of scores [H, T, N], -inf where a token does not see a key. A sink is one more score of a
 * head, and the reference subtracts the largest of all before the softmax, in bf16. */
static hn_node *with_sinks(nn_build *b, hn_node *scores, hn_node *mask, hn_node *sinks)
{
    hn_graph *g = b->g;
    const hn_ints rows = { 3, { -1, 1, 1 } };
    scores = hn_add(g, scores, mask);
    hn_node *sink = hn_reshape(g, sinks, rows);
    hn_node *most = hn_max(g, hn_reduce_max(g, scores, 2, true), sink);
    hn_node *left = nn_round(b, hn_sub(g, sink, most)); /* [H, T, 1] */
    hn_node *place = hn_reshape(g, left, (hn_ints){ 2, { 0, -1 } });
    return hn_softmax(g, nn_round(b, hn_sub(g, scores, most)), NULL, place, 1);
}

hn_node *nn_attend(nn_build *b, hn_node *q, nn_keys keys, const nn_score_options *o)
{
    hn_graph *g = b->g;
    /* Layers that are fed may be differentiated: they keep the steps, which give the same bits. */
    if (is_bf16(b) && !b->o.feeds_layers)
        return hn_attention_eager(g, q, keys.k, keys.v, o->sinks, b->segments, keys.table, o->window, o->scale,
                                  o->softcap);
    if (keys.table)
        return hn_attention_blocks(g, q, keys.k, keys.v, o->sinks, b->segments, keys.table, o->window, o->scale,
                                   o->softcap);
    if (!is_bf16(b) || hn_is_poison(g, q))
        return hn_attention(g, q, keys.k, keys.v, o->sinks, b->segments, true, o->window, o->scale, o->softcap);
    const float scale = o->scale != 0 ? o->scale : (float)(1 / sqrt((double)q->type.dim[2]));
    hn_node *mask = hn_attention_mask(g, q, keys.k, b->segments, true, o->window);
    hn_node *k = swap_heads(b, hn_cast(g, keys.k, HN_F32));
    hn_node *v = swap_heads(b, hn_cast(g, keys.v, HN_F32));
    hn_node *scores = nn_round(b, hn_matmul(g, swap_heads(b, q), k, false, true));
    scores = nn_scale(b, scores, scale);
    if (o->softcap > 0)
        scores = nn_softcap(b, scores, o->softcap);
    hn_node *p = o->sinks ? with_sinks(b, scores, mask, o->sinks) : hn_softmax(g, scores, mask, NULL, 1);
    return swap_heads(b, nn_round(b, hn_matmul(g, nn_round(b, p), v, false, false)));
}

/* ---- experts ---- */

nn_chosen nn_choose(nn_build *b, hn_node *logits, const nn_choose_options *o)
{
    hn_graph *g = b->g;
    const int64_t n_used = b->hp->n_used;
    const bool has_groups = o->n_group > 1;
    hn_node *weights =
        hn_router(g, logits, o->bias, o->expert_scale, o->score, n_used, o->renormalises, has_groups ? o->n_group : 1,
                  has_groups ? o->k_group : 1, has_groups ? o->group_best : 2, o->factor != 0 ? o->factor : 1, o->eps);
    nn_chosen chosen = { weights, hn_output(weights, 1) };
    if (is_bf16(b)) {
        hn_node *ids = hn_cast(g, chosen.ids, HN_F32);
        hn_node *order = hn_top_k(g, hn_neg(g, ids), n_used);
        chosen.weights = hn_take(g, weights, order);
        chosen.ids = hn_cast(g, hn_take(g, ids, order), HN_I32);
        if (o->rounds_weights)
            chosen.weights = nn_round(b, chosen.weights);
    }
    nn_note_route(b, logits, chosen.ids, o->score);
    return chosen;
}

static hn_node *slot(nn_build *b, hn_node *x, int64_t i)
{
    hn_node *one = hn_contiguous(b->g, hn_slice(b->g, x, 1, i, i + 1, 1));
    return hn_reshape(b->g, one, (hn_ints){ 2, { -1, x->type.dim[2] } });
}

hn_node *nn_combine(nn_build *b, hn_node *x, nn_chosen chosen)
{
    hn_graph *g = b->g;
    if (!is_bf16(b) || hn_is_poison(g, x))
        return hn_combine(g, x, chosen.weights);
    const hn_ints shape = { 3, { -1, b->hp->n_used, 1 } };
    hn_node *weighted = nn_mul(b, x, hn_reshape(g, chosen.weights, shape));
    hn_node *sum = slot(b, weighted, 0);
    for (int64_t i = 1; i < b->hp->n_used; i++)
        sum = nn_add(b, sum, slot(b, weighted, i));
    return sum;
}
