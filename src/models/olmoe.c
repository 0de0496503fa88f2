/* olmoe: queries and keys normed over the whole projection, 64 experts whose weights are not
 * renormalised. */
#include "models/models.h"
#include "nn/blocks.h"

static const char *const classes[] = { "OlmoeForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROW_DIVISORS,
    HN_ROW_LONGROPE,
    HN_ROWS_ATTENTION(0),
    { ".attn_q_norm.weight", ".self_attn.q_norm.weight",         "H*D", 0, HN_ALWAYS },
    { ".attn_k_norm.weight", ".self_attn.k_norm.weight",         "G*D", 0, HN_ALWAYS },
    { ".ffn_norm.weight",    ".post_attention_layernorm.weight", "C",   0, HN_ALWAYS },
    HN_ROWS_EXPERTS,
    { 0 },
};
/* clang-format on */

/* Its experts' width is the model's feed-forward width. */
/* clang-format off */
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE(NULL, "olmoe"),
    HN_KEYS_SHAPE(NULL, "50304", "2048", "2048", "16", "16", HN_OR_NONE, NULL, "4096"),
    HN_USED("rms_norm_eps", HN_IS_REAL, rms_eps, "1e-5", HN_FROM_0),
    HN_KEYS_ROPE(NULL, "10000"),
    HN_KEY_ACTIVATION("hidden_act", "silu"),
    HN_ONLY("attention_bias", HN_IS_FLAG, "false", "GGUF's olmoe has no biases", HN_ALL),
    HN_ONLY("clip_qkv", HN_IS_NUM | HN_IS_NULL, "null", "not supported for olmoe", HN_ALL),
    HN_ASKED("norm_topk_prob", HN_IS_FLAG, "false", HN_ALL),
    HN_USED("num_experts|num_local_experts", HN_IS_INT, n_expert, "64", HN_COUNT),
    HN_USED("num_experts_per_tok", HN_IS_INT, n_used, "8", HN_COUNT),
    HN_KEYS_ROUTER_TRAINING,
    { .to = HN_HP_head_dim }, { .to = HN_HP_value_dim }, { .to = HN_HP_expert_ffn },
    { .gguf = "hone.olmoe.expert_weights_norm", .is = HN_IS_FLAG },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    hp->expert_ffn = hp->ffn[0];
    return hn_config_flag(config, "norm_topk_prob", &hp->expert_norm);
}

/* GGUF's olmoe never renormalises. */
static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    return hp->expert_norm ? hn_meta_set_bool(meta, "hone.olmoe.expert_weights_norm", true) : HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    if (!hp->has[HN_HP_expert_ffn])
        hp->expert_ffn = hp->ffn[0];
    return hn_meta_bool(meta, "hone.olmoe.expert_weights_norm", false, &hp->expert_norm);
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-5);
    HN_HP_DEFAULT(hp, rope_base, 10000);
    hp->expert_ffn = hp->ffn[0];
    hp->has[HN_HP_expert_ffn] = false;
    return HN_OK;
}

static hn_node *attention(nn_build *b, hn_node *x)
{
    return nn_attention(b, x, &(nn_attention_options){ .norms_whole = true });
}

static hn_node *experts(nn_build *b, hn_node *x)
{
    return nn_experts(b, x, b->hp->expert_norm, true);
}

static hn_node *build(nn_build *b) { return nn_pre_norm(b, attention, experts); }

const hn_arch hn_arch_olmoe = {
    .name = "olmoe", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
