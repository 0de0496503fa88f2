/* Blocks ask for weights by name and for numbers by the present layer, so a model's file is the order of its
 * blocks and little else. */
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
    const int64_t stated = slides && hp->has[HN_HP_rope_dim_swa] ? hp->rope_dim_swa : hp->rope_dim;
    hn_rope_spec s = {
        .width = stated ? stated : hn_layer_head_dim(hp, b->layer),
        .base = (float)(slides ? hp->rope_base_swa : hp->has[HN_HP_rope_base] ? hp->rope_base : 10000),
        .factor = 1,
    };
    if (slides) { /* local layers are never stretched, but for a factor of GGUF's for all */
        s.attn_factor = hp->n_rope_factors ? 0 : (float)hp->rope_attn_factor;
        return s;
    }
    if (hp->rope_scaling == HN_ROPE_LINEAR || hp->rope_scaling == HN_ROPE_YARN) {
        s.scaling = (int)hp->rope_scaling;
        s.factor = (float)hp->rope_factor;
        s.original = hp->rope_orig_ctx ? hp->rope_orig_ctx : hp->n_ctx;
        s.beta_fast = (float)hp->yarn_beta_fast;
        s.beta_slow = (float)hp->yarn_beta_slow;
        s.attn_factor = (float)hp->yarn_attn_factor;
        s.fractional = hp->rope_fractional;
    }
    if (hp->rope_attn_factor != 0 && hp->rope_attn_factor != 1)
        s.attn_factor = (float)(hn_rope_magnitude(&s) * hp->rope_attn_factor);
    return s;
}

hn_node *nn_columns(nn_build *b, hn_node *x, int64_t begin, int64_t end)
{
    return hn_contiguous(b->g, hn_slice(b->g, x, 1, begin, end, 1));
}

static hn_node *split_heads(nn_build *b, hn_node *x, int64_t heads, int64_t width)
{
    return hn_reshape(b->g, x, (hn_ints){ 3, { -1, heads, width } });
}

hn_node *nn_rope_divisors(nn_build *b)
{
    if (b->hp->is_sliding[b->layer] && b->hp->rope_base_swa > 0)
        return NULL;
    hn_node *factors = nn_weight_of(b, "rope_freqs.weight"); /* first, as in llama.cpp */
    return factors ? factors : nn_weight_of(b, "rope_factors_short.weight");
}

int64_t nn_window(const nn_build *b)
{
    return b->hp->is_sliding[b->layer] ? b->hp->window : 0;
}

/* Queries, keys and values, of one product where the model has one matrix of all. */
static void project(nn_build *b, hn_node *x, int64_t n_q, int64_t n_k, int64_t n_v, hn_node *out[3])
{
    const bool is_one = nn_find(b, nn_name(b, ".attn_qkv", ".weight"));
    hn_node *all = is_one ? nn_linear(b, x, ".attn_qkv") : NULL;
    out[0] = is_one ? nn_columns(b, all, 0, n_q) : nn_linear(b, x, ".attn_q");
    out[1] = is_one ? nn_columns(b, all, n_q, n_q + n_k) : nn_linear(b, x, ".attn_k");
    out[2] = is_one ? nn_columns(b, all, n_q + n_k, n_q + n_k + n_v) : nn_linear(b, x, ".attn_v");
}

hn_node *nn_attention(nn_build *b, hn_node *x, const nn_attention_options *o)
{
    hn_graph *g = b->g;
    const int64_t heads = b->hp->n_head[b->layer], groups = b->hp->n_kv_head[b->layer];
    const int64_t width = hn_layer_head_dim(b->hp, b->layer);
    const int64_t value = hn_layer_value_dim(b->hp, b->layer);
    hn_node *parts[3];
    project(b, x, heads * width, groups * width, groups * value, parts);
    if (o->norms_whole) {
        parts[0] = nn_rms_norm(b, parts[0], ".attn_q_norm.weight");
        parts[1] = nn_rms_norm(b, parts[1], ".attn_k_norm.weight");
    }
    hn_node *q = split_heads(b, parts[0], heads, width);
    hn_node *k = split_heads(b, parts[1], groups, width);
    hn_node *v = split_heads(b, parts[2], groups, value);
    if (o->norms_heads) {
        hn_node *(*norm)(nn_build *, hn_node *, const char *) =
            o->rounds_norms_once ? nn_rms_norm_once : nn_rms_norm;
        q = norm(b, q, ".attn_q_norm.weight");
        k = norm(b, k, ".attn_k_norm.weight");
    }
    if (!o->has_no_rope) {
        const hn_rope_spec spec = nn_rope_spec(b);
        hn_node *factors = nn_rope_divisors(b);
        q = nn_rope(b, q, factors, &spec);
        k = nn_rope(b, k, factors, &spec);
    }
    const nn_score_options scores = { .window = o->window, .scale = o->scale,
                                      .softcap = o->softcap,
                                      .sinks = nn_weight_of(b, ".attn_sinks.weight") };
    hn_node *y = nn_attend(b, q, nn_remember(b, (nn_keys){ k, v, NULL }, o->window), &scores);
    y = hn_reshape(g, y, (hn_ints){ 2, { -1, heads * value } });
    return nn_linear(b, y, ".attn_output");
}

/* With s = sigmoid(x) and r = sigmoid(-x) it is x s (1 + r) / (1 + r^2), and nothing cancels. */
static hn_node *mish(nn_build *b, hn_node *x)
{
    hn_graph *g = b->g;
    hn_node *s = hn_sigmoid(g, x), *r = hn_sigmoid(g, hn_scale(g, x, -1, 0));
    hn_node *above = hn_mul(g, hn_mul(g, x, s), hn_scale(g, r, 1, 1));
    return nn_round(b, hn_div(g, above, hn_scale(g, hn_mul(g, r, r), 1, 1)));
}

hn_node *nn_activate(nn_build *b, hn_activation usual, hn_node *x)
{
    enum { GELU_WITH_ERF = 1 };
    hn_graph *g = b->g;
    switch (b->hp->activation ? b->hp->activation : usual) {
    case HN_ACT_GELU_TANH: return nn_gelu(b, x);
    case HN_ACT_GELU: return nn_round(b, hn_gelu(g, x, GELU_WITH_ERF));
    case HN_ACT_QUICK_GELU: return nn_mul(b, x, nn_round(b, hn_sigmoid(g, nn_scale(b, x, 1.702f))));
    case HN_ACT_RELU: return hn_relu(g, x);
    case HN_ACT_MISH: return mish(b, x);
    case HN_ACT_TANH: return nn_round(b, hn_tanh(g, x));
    case HN_ACT_RELU2: return nn_mul(b, hn_relu(g, x), hn_relu(g, x));
    default: return nn_silu(b, x);
    }
}

/* silu and tanh-GELU of a pair are one op each, but in bf16, where what is between is rounded. */
hn_node *nn_gate(nn_build *b, hn_activation usual, hn_node *gate, hn_node *up)
{
    const hn_activation is = b->hp->activation ? b->hp->activation : usual;
    if (b->o.numerics != HN_NUMERICS_BF16 && is == HN_ACT_SILU)
        return hn_swiglu(b->g, gate, up);
    if (b->o.numerics != HN_NUMERICS_BF16 && is == HN_ACT_GELU_TANH)
        return hn_geglu(b->g, gate, up, 0);
    return nn_mul(b, nn_activate(b, usual, gate), up);
}

hn_node *nn_swiglu(nn_build *b, hn_node *x)
{
    hn_node *gate = nn_linear(b, x, ".ffn_gate");
    hn_node *up = nn_linear(b, x, ".ffn_up");
    return nn_linear(b, nn_gate(b, HN_ACT_SILU, gate, up), ".ffn_down");
}

hn_node *nn_geglu(nn_build *b, hn_node *x)
{
    hn_node *gate = nn_linear(b, x, ".ffn_gate");
    hn_node *up = nn_linear(b, x, ".ffn_up");
    return nn_linear(b, nn_gate(b, HN_ACT_GELU_TANH, gate, up), ".ffn_down");
}

hn_node *nn_experts(nn_build *b, hn_node *x, bool renormalises, bool rounds_weights)
{
    return nn_experts_by(b, x, &(nn_choose_options){ .renormalises = renormalises, .rounds_weights = rounds_weights });
}

hn_node *nn_experts_by(nn_build *b, hn_node *x, const nn_choose_options *how)
{
    const nn_chosen chosen = nn_choose(b, nn_linear(b, x, ".ffn_gate_inp"), how);
    hn_node *gate = nn_linear_id(b, x, ".ffn_gate_exps", chosen.ids);
    hn_node *up = nn_linear_id(b, x, ".ffn_up_exps", chosen.ids);
    hn_node *y = nn_linear_id(b, nn_gate(b, HN_ACT_SILU, gate, up), ".ffn_down_exps", chosen.ids);
    return nn_combine(b, y, chosen);
}

/* An adapter of the embedding is not one of the head, even where both are one matrix. */
hn_node *nn_head(nn_build *b, hn_node *x, float softcap, float divisor)
{
    hn_graph *g = b->g;
    const nn_weight *own = nn_find(b, "output.weight");
    const nn_weight *w = own ? own : nn_find(b, "token_embd.weight");
    x = b->state = nn_pick_rows(b, x);
    if (b->o.gives_states)
        return x;
    if (w)
        x = nn_product_in(b, x, w);
    b->head = (nn_head_parts){ x, w, softcap, divisor };
    if (b->o.keeps_head)
        return x;
    if (b->hp->is_headless)
        return hn_graph_fail(g, HN_ERR_UNSUPPORTED, "the model has no head: it embeds, and generates none");
    if (!w)
        return hn_graph_fail(g, HN_ERR_FORMAT, "tensor token_embd.weight is missing");
    nn_note_use(b, w, x, NULL);
    hn_node *y = nn_product(b, x, w, 0);
    y = nn_round(b, own ? nn_adapt(b, y, x, own, NULL) : nn_product_out(b, y, w));
    if (divisor > 0)
        y = nn_round(b, hn_div(g, y, hn_graph_scalar(g, divisor)));
    return softcap > 0 ? nn_softcap(b, y, softcap) : y;
}

hn_node *nn_pre_norm(nn_build *b, nn_part *attention, nn_part *feed_forward)
{
    hn_node *x = nn_embed(b);
    for (b->layer = 0; b->layer < b->hp->n_layer; b->layer++) {
        x = nn_layer_begin(b, x);
        x = nn_add(b, x, attention(b, nn_rms_norm(b, x, ".attn_norm.weight")));
        x = nn_add(b, x, feed_forward(b, nn_rms_norm(b, x, ".ffn_norm.weight")));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm(b, x, "output_norm.weight"), 0, 0);
}
