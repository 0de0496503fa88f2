/* qwen3moe: qwen3's attention, and experts in every layer: softmax over all, the best
 * renormalised. */
#include "models/models.h"
#include "nn/blocks.h"

static const char *const classes[] = { "Qwen3MoeForCausalLM", NULL };

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
    HN_ROWS_EXPERTS,
    { 0 },
};
/* clang-format on */

/* clang-format off */
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE(NULL, "qwen3_moe"),
    HN_KEYS_SHAPE(NULL, "151936", "2048", "6144", "24", "32", , "4", "32768"),
    HN_KEY_HEAD_DIM(HN_IS_INT | HN_IS_NULL, NULL),
    HN_KEYS_RMS_EPS(NULL, "1e-6"),
    HN_KEYS_ROPE(NULL, "10000"),
    HN_KEY_ACTIVATION("hidden_act", "silu"),
    HN_KEYS_QWEN_WINDOW,
    HN_NEEDLESS("max_window_layers", HN_IS_INT, "all layers have the window, or none", HN_ALL),
    HN_ASKED("attention_bias", HN_IS_FLAG, "false", HN_ALL),
    HN_USED("num_local_experts|num_experts", HN_IS_INT, n_expert, "128", HN_COUNT),
    HN_USED("num_experts_per_tok", HN_IS_INT, n_used, "8", HN_COUNT),
    HN_USED("moe_intermediate_size", HN_IS_INT, expert_ffn, "768", HN_COUNT),
    HN_ASKED("norm_topk_prob", HN_IS_FLAG, "false", HN_ALL),
    HN_ASKED("decoder_sparse_step", HN_IS_INT, "1", .low = 1, .high = 1),
    HN_ONLY("mlp_only_layers", HN_IS_LIST | HN_IS_NULL, "[]|null",
            "layers without experts are not supported", HN_ALL),
    HN_ONLY("qkv_bias", HN_IS_FLAG, "false", "Qwen3MoeConfig says attention_bias", HN_ALL),
    HN_ONLY("use_qk_norm", HN_IS_FLAG, "true", "Qwen3MoeConfig has norms of q and k", HN_ALL),
    HN_ONLY("shared_expert_intermediate_size", HN_IS_INT, "0", "Qwen3MoeConfig has no shared expert", HN_ALL),
    HN_KEYS_ROUTER_TRAINING,
    { .gguf = "hone.qwen3moe.expert_weights_norm", .is = HN_IS_FLAG },
    HN_GGUF_SAID("expert_weights_norm", HN_IS_FLAG, "true", "GGUF's qwen3moe always adds them up to 1"),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    bool slides;
    HN_TRY(hn_config_flag(config, "norm_topk_prob", &hp->expert_norm));
    if (!hp->has[HN_HP_head_dim]) {
        HN_HP_SET(hp, head_dim, hp->width / hp->n_head[0]);
        HN_HP_SET(hp, value_dim, hp->head_dim);
    }
    HN_TRY(hn_config_flag(config, "use_sliding_window", &slides));
    bool has_window = false;
    if (slides)
        HN_TRY(hn_config_int(config, "sliding_window", &hp->window, &has_window));
    HN_REQUIRE(!has_window || hp->window > 0, HN_ERR_UNSUPPORTED,
               "config.json: sliding_window is %lld: expected at least 1", (long long)hp->window);
    hp->has_pattern = has_window;
    for (int64_t i = 0; hp->window && i < hp->n_layer; i++)
        hp->is_sliding[i] = true;
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

static hn_node *attention(nn_build *b, hn_node *x)
{
    return nn_attention(b, x, &(nn_attention_options){ .norms_heads = true, .window = nn_window(b) });
}

static hn_node *experts(nn_build *b, hn_node *x)
{
    return nn_experts(b, x, b->hp->expert_norm, true);
}

static hn_node *build(nn_build *b) { return nn_pre_norm(b, attention, experts); }

const hn_arch hn_arch_qwen3moe = {
    .name = "qwen3moe", .classes = classes, .prefixes = hn_decoder_prefixes,
    .layers = "layers.", .ignored = hn_decoder_ignored, .weights = weights, .tables = tables,
    .read_config = read_config, .read_meta = read_meta, .write_meta = write_meta,
    .defaults = defaults, .build = build, .has_bf16 = true,
};
