/* olmoe: queries and keys normed over the whole projection, 64 experts whose weights are not
 * renormalised. */
#include "models/models.h"

static const char *const classes[] = { "OlmoeForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
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
    HN_ONLY("hidden_act", HN_IS_WORD, "silu|swish", "GGUF's olmoe knows no other", HN_ALL),
    HN_ONLY("attention_bias", HN_IS_FLAG, "false", "GGUF's olmoe has no biases", HN_ALL),
    HN_ONLY("clip_qkv", HN_IS_NUM | HN_IS_NULL, "null", "not supported for olmoe", HN_ALL),
    HN_ONLY("norm_topk_prob", HN_IS_FLAG, "false", "not supported for olmoe", HN_ALL),
    HN_USED("num_experts|num_local_experts", HN_IS_INT, n_expert, "64", HN_COUNT),
    HN_USED("num_experts_per_tok", HN_IS_INT, n_used, "8", HN_COUNT),
    HN_KEYS_ROUTER_TRAINING,
    { .to = HN_HP_head_dim }, { .to = HN_HP_value_dim }, { .to = HN_HP_expert_ffn },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    (void)config;
    HN_HP_SET(hp, rms_eps, 1e-5);
    hp->expert_ffn = hp->ffn[0];
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)meta, (void)all;
    if (!hp->has[HN_HP_expert_ffn])
        hp->expert_ffn = hp->ffn[0];
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-5);
    HN_HP_DEFAULT(hp, rope_base, 10000);
    hp->expert_ffn = hp->ffn[0];
    hp->has[HN_HP_expert_ffn] = false;
    return HN_OK;
}

const hn_arch hn_arch_olmoe = {
    .name = "olmoe", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .defaults = defaults,
};
