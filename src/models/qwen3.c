/* qwen3: llama with an RMS norm on every query and key head before rope. */
#include "models/models.h"
#include "nn/blocks.h"

static const char *const classes[] = { "Qwen3ForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROW_DIVISORS,
    HN_ROW_LONGROPE,
    HN_ROWS_ATTENTION(0),
    HN_ROWS_ATTENTION_BIAS(0, HN_IF_ATTN_BIAS),
    { ".attn_output.bias",   ".self_attn.o_proj.bias",           "C", 0, HN_IF_ATTN_BIAS },
    { ".attn_q_norm.weight", ".self_attn.q_norm.weight",         "D", 0, HN_ALWAYS },
    { ".attn_k_norm.weight", ".self_attn.k_norm.weight",         "D", 0, HN_ALWAYS },
    { ".ffn_norm.weight",    ".post_attention_layernorm.weight", "C", 0, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
    { 0 },
};
/* clang-format on */

/* clang-format off */
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE(NULL, "qwen3"),
    HN_KEYS_SHAPE(NULL, "151936", "4096", "22016", "32", "32", HN_OR_NONE, "32", "32768"),
    HN_KEY_HEAD_DIM(HN_IS_INT, "128"),
    HN_ASKED("attention_bias", HN_IS_FLAG, "false", HN_ALL),
    HN_KEYS_RMS_EPS(NULL, "1e-6"),
    HN_KEYS_ROPE(NULL, "10000"),
    HN_KEY_ACTIVATION("hidden_act", "silu"),
    HN_KEYS_QWEN_WINDOW,
    HN_ASKED("max_window_layers", HN_IS_INT, "28", HN_ALL),
    HN_ASKED("layer_types", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    return hn_window_read_config(config, hp);
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 1e6);
    return HN_OK;
}

static hn_node *attention(nn_build *b, hn_node *x)
{
    return nn_attention(b, x, &(nn_attention_options){ .norms_heads = true, .window = nn_window(b) });
}

static hn_node *build(nn_build *b) { return nn_pre_norm(b, attention, nn_swiglu); }

const hn_arch hn_arch_qwen3 = {
    .name = "qwen3", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .tables = tables, .read_config = read_config,
    .defaults = defaults, .build = build, .has_bf16 = true,
};
