/* qwen3moe: qwen3's attention, and experts in every layer: softmax over all, the best
 * renormalised. */
#include "models/models.h"
#include "nn/blocks.h"

static const char *const classes[] = { "Qwen3MoeForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROWS_ATTENTION(0),
    HN_ROWS_ATTENTION_BIAS(0, HN_IF_FOUND),
    { ".attn_output.bias",   ".self_attn.o_proj.bias",           "C", 0, HN_IF_FOUND },
    { ".attn_q_norm.weight", ".self_attn.q_norm.weight",         "D", 0, HN_ALWAYS },
    { ".attn_k_norm.weight", ".self_attn.k_norm.weight",         "D", 0, HN_ALWAYS },
    { ".ffn_norm.weight",    ".post_attention_layernorm.weight", "C", 0, HN_ALWAYS },
    HN_ROWS_EXPERTS,
    { 0 },
};
/* clang-format on */

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    int64_t step;
    const hn_json *dense = hn_config_find(config, "mlp_only_layers");
    HN_TRY(hn_config_int(config, "decoder_sparse_step", 1, &step));
    HN_REQUIRE(step == 1 && (!dense || !hn_json_at(dense, 0)), HN_ERR_UNSUPPORTED,
               "config.json: layers without experts are not supported for qwen3moe");
    HN_TRY(hn_config_int(config, "moe_intermediate_size", 768, &hp->expert_ffn));
    HN_HP_SET(hp, expert_ffn, hp->expert_ffn);
    HN_TRY(hn_config_flag(config, "norm_topk_prob", false, &hp->expert_norm));
    if (!hp->has[HN_HP_head_dim]) {
        HN_HP_SET(hp, head_dim, hp->width / hp->n_head[0]);
        HN_HP_SET(hp, value_dim, hp->head_dim);
    }
    return HN_OK;
}

/* llama.cpp always renormalises this architecture; a model that does not says so apart. */
static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    return hp->expert_norm ? HN_OK
                           : hn_meta_set_bool(meta, "hone.qwen3moe.expert_weights_norm", false);
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    return hn_meta_bool(meta, "hone.qwen3moe.expert_weights_norm", true, &hp->expert_norm);
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 1e6);
    hp->expert_norm = true;
    return HN_OK;
}

static hn_node *build(nn_build *b)
{
    hn_node *x = nn_embed(b);
    for (b->layer = 0; b->layer < b->hp->n_layer; b->layer++) {
        const nn_attention_options attention = { .norms_heads = true };
        x = nn_layer_begin(b, x);
        hn_node *h = nn_rms_norm(b, x, ".attn_norm.weight");
        x = nn_add(b, x, nn_attention(b, h, &attention));
        h = nn_rms_norm(b, x, ".ffn_norm.weight");
        x = nn_add(b, x, nn_experts(b, h, b->hp->expert_norm, true));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm(b, x, "output_norm.weight"), 0, 0);
}

const hn_arch hn_arch_qwen3moe = {
    .name = "qwen3moe", .classes = classes, .prefixes = hn_decoder_prefixes,
    .layers = "layers.", .ignored = hn_decoder_ignored, .weights = weights,
    .read_config = read_config, .read_meta = read_meta, .write_meta = write_meta,
    .defaults = defaults, .build = build, .has_bf16 = true,
};
