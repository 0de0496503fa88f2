#include "nn/blocks.h"

#include "nn/arch.h"

#include <math.h>

hn_node *nn_embed(nn_build *b)
{
    const nn_weight *w = nn_find(b, "token_embd.weight");
    hn_node *x = hn_gather(b->g, nn_want(b, "token_embd.weight"), b->tokens);
    x = x->type.dtype == HN_F32 ? x : hn_cast(b->g, x, HN_F32);
    return w ? nn_adapt_rows(b, x, w, b->tokens) : x;
}

hn_rope_spec nn_rope_spec(const nn_build *b)
{
    const hn_hparams *hp = b->hp;
    const bool slides = hp->is_sliding[b->layer] && hp->rope_base_swa > 0;
    hn_rope_spec s = {
        .base = (float)(slides ? hp->rope_base_swa : hp->has[HN_HP_rope_base] ? hp->rope_base : 10000),
        .n_rot = slides && hp->has[HN_HP_rope_dim_swa] ? hp->rope_dim_swa : hp->rope_dim,
        .layout = HN_ROPE_HALF,
        .factor = 1,
    };
    if (slides) /* local layers are never stretched */
        return s;
    if (hp->rope_scaling == HN_ROPE_LINEAR || hp->rope_scaling == HN_ROPE_YARN) {
        s.scaling = (int)hp->rope_scaling;
        s.factor = (float)hp->rope_factor;
        s.original = hp->rope_orig_ctx ? hp->rope_orig_ctx : hp->n_ctx;
        s.beta_fast = (float)hp->yarn_beta_fast;
        s.beta_slow = (float)hp->yarn_beta_slow;
        s.attn_factor = (float)hp->yarn_attn_factor;
        s.fractional = hp->rope_fractional;
    }
    return s;
}

static hn_node *split_heads(nn_build *b, hn_node *x, int64_t heads, int64_t width)
{
    return hn_reshape(b->g, x, (hn_ints){ 3, { -1, heads, width } });
}

hn_node *nn_attention(nn_build *b, hn_node *x, const nn_attention_options *o)
{
    hn_graph *g = b->g;
    const int64_t heads = b->hp->n_head[b->layer], groups = b->hp->n_kv_head[b->layer];
    const int64_t width = hn_layer_head_dim(b->hp, b->layer);
    const int64_t value = hn_layer_value_dim(b->hp, b->layer);
    hn_node *q = split_heads(b, nn_linear(b, x, ".attn_q"), heads, width);
    hn_node *k = split_heads(b, nn_linear(b, x, ".attn_k"), groups, width);
    hn_node *v = split_heads(b, nn_linear(b, x, ".attn_v"), groups, value);
    if (o->norms_heads) {
        q = nn_rms_norm(b, q, ".attn_q_norm.weight");
        k = nn_rms_norm(b, k, ".attn_k_norm.weight");
    }
    if (!o->has_no_rope) {
        const hn_rope_spec spec = nn_rope_spec(b);
        q = hn_rope(g, q, b->positions, o->divisors, &spec);
        k = hn_rope(g, k, b->positions, o->divisors, &spec);
    }
    hn_node *sinks = nn_weight_of(b, ".attn_sinks.weight");
    const nn_keys seen = nn_remember(b, (nn_keys){ k, v });
    hn_node *y = hn_attention(g, q, seen.k, seen.v, sinks, b->segments, true, o->window, o->scale,
                              o->softcap);
    y = hn_reshape(g, y, (hn_ints){ 2, { -1, heads * value } });
    return nn_linear(b, y, ".attn_output");
}

hn_node *nn_swiglu(nn_build *b, hn_node *x)
{
    hn_node *gate = nn_linear(b, x, ".ffn_gate");
    hn_node *up = nn_linear(b, x, ".ffn_up");
    return nn_linear(b, hn_swiglu(b->g, gate, up), ".ffn_down");
}

hn_node *nn_geglu(nn_build *b, hn_node *x)
{
    hn_node *gate = nn_linear(b, x, ".ffn_gate");
    hn_node *up = nn_linear(b, x, ".ffn_up");
    return nn_linear(b, hn_geglu(b->g, gate, up, 0), ".ffn_down");
}

hn_node *nn_experts(nn_build *b, hn_node *x, bool renormalises)
{
    hn_graph *g = b->g;
    hn_node *logits = nn_linear(b, x, ".ffn_gate_inp");
    hn_node *weights = hn_router(g, logits, NULL, NULL, 0, b->hp->n_used, renormalises, 1, 1, 1, 0);
    hn_node *ids = hn_output(weights, 1);
    nn_note_route(b, logits, ids);
    hn_node *gate = nn_linear_id(b, x, ".ffn_gate_exps", ids);
    hn_node *up = nn_linear_id(b, x, ".ffn_up_exps", ids);
    hn_node *y = nn_linear_id(b, hn_swiglu(g, gate, up), ".ffn_down_exps", ids);
    return hn_combine(g, y, weights);
}

/* An adapter of the embedding is not one of the head, even where both are one matrix. */
hn_node *nn_head(nn_build *b, hn_node *x, float softcap, float divisor)
{
    hn_graph *g = b->g;
    const nn_weight *own = nn_find(b, "output.weight");
    const nn_weight *w = own ? own : nn_find(b, "token_embd.weight");
    x = nn_pick_rows(b, x);
    b->head = (nn_head_parts){ x, w, softcap, divisor };
    if (b->o.keeps_head)
        return x;
    if (!w)
        return hn_graph_fail(g, HN_ERR_FORMAT, "tensor token_embd.weight is missing");
    nn_note_use(b, w, x, NULL);
    hn_node *y = hn_linear(g, x, nn_leaf(b, w));
    if (own)
        y = nn_adapt(b, y, x, own, NULL);
    if (divisor > 0)
        y = hn_div(g, y, hn_graph_scalar(g, divisor));
    return softcap > 0 ? hn_softcap(g, y, softcap) : y;
}
