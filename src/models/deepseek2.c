/* deepseek2: DeepSeek V2, V3, R1. Keys and values come from one compressed vector (MLA); GGUF
 * holds the expansion of keys transposed, so that it can be absorbed into the query. */
#include "models/models.h"

#include <string.h>

static const char *const classes[] = { "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    { ".attn_norm.weight",      ".input_layernorm.weight",               "C",       0, HN_ALWAYS },
    { ".attn_q.weight",         ".self_attn.q_proj.weight",              "H*M,C",   0, HN_IF_NO_Q_RANK },
    { ".attn_q_a.weight",       ".self_attn.q_a_proj.weight",            "Q,C",     0, HN_IF_Q_RANK },
    { ".attn_q_a_norm.weight",  ".self_attn.q_a_layernorm.weight",       "Q",       0, HN_IF_Q_RANK },
    { ".attn_q_b.weight",       ".self_attn.q_b_proj.weight",            "H*M,Q",   0, HN_IF_Q_RANK },
    { ".attn_kv_a_mqa.weight",  ".self_attn.kv_a_proj_with_mqa.weight",  "K+O,C",   0, HN_ALWAYS },
    { ".attn_kv_a_norm.weight", ".self_attn.kv_a_layernorm.weight",      "K",       0, HN_ALWAYS },
    { ".attn_k_b.weight",       ".self_attn.kv_b_proj.weight",           "H,K,N",   HN_W_NOPE_T, HN_ALWAYS },
    { ".attn_v_b.weight",       ".self_attn.kv_b_proj.weight",           "H,Y,K",   HN_W_VALUE, HN_ALWAYS },
    { ".attn_output.weight",    ".self_attn.o_proj.weight",              "C,H*Y",   0, HN_ALWAYS },
    { ".ffn_norm.weight",       ".post_attention_layernorm.weight",      "C",       0, HN_ALWAYS },
    HN_ROWS_MLP(HN_IF_DENSE),
    HN_ROWS_EXPERTS,
    { ".exp_probs_b.bias",      ".mlp.gate.e_score_correction_bias",     "E",       0, HN_IF_FOUND },
    { ".ffn_gate_shexp.weight", ".mlp.shared_experts.gate_proj.weight",  "S,C",     0, HN_IF_SHARED },
    { ".ffn_up_shexp.weight",   ".mlp.shared_experts.up_proj.weight",    "S,C",     0, HN_IF_SHARED },
    { ".ffn_down_shexp.weight", ".mlp.shared_experts.down_proj.weight",  "C,S",     0, HN_IF_SHARED },
    { 0 },
};
/* clang-format on */

static hn_status read_widths(const hn_config *config, hn_hparams *hp)
{
    int64_t nope, rope, value;
    HN_TRY(hn_config_int(config, "qk_nope_head_dim", &nope, NULL));
    HN_TRY(hn_config_int(config, "qk_rope_head_dim", &rope, NULL));
    HN_TRY(hn_config_int(config, "v_head_dim", &value, NULL));
    HN_TRY(hn_config_int(config, "kv_lora_rank", &hp->kv_rank, NULL));
    HN_TRY(hn_config_int(config, "q_lora_rank", &hp->q_rank, NULL));
    hp->has[HN_HP_q_rank] = hp->q_rank > 0;
    HN_HP_SET(hp, kv_rank, hp->kv_rank);
    HN_HP_SET(hp, head_dim, hp->kv_rank + rope);
    HN_HP_SET(hp, value_dim, hp->kv_rank);
    HN_HP_SET(hp, head_dim_mla, nope + rope);
    HN_HP_SET(hp, value_dim_mla, value);
    HN_HP_SET(hp, rope_dim, rope);
    hn_hparams_fill(hp, HN_HP_n_kv_head, 1);
    return HN_OK;
}

/* 1 softmax, 2 sigmoid: stated only where config.json states it. */
static hn_status read_gating(const hn_config *config, hn_hparams *hp)
{
    const char *word;
    HN_TRY(hn_config_word(config, "scoring_func", &word));
    if (!word)
        return HN_OK;
    HN_HP_SET(hp, gating, !strcmp(word, "sigmoid") ? 2 : 1);
    return HN_OK;
}

/* clang-format off */
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE("DeepseekV2", "deepseek_v2"), HN_KEY_MODEL_TYPE("DeepseekV3", "deepseek_v3"),
    HN_KEYS_SHAPE("DeepseekV2", "102400", "4096", "11008", "32", "32", HN_OR_NONE, NULL, "2048"),
    HN_KEYS_SHAPE("DeepseekV3", "129280", "7168", "18432", "61", "128", HN_OR_NONE, "128", "4096"),
    HN_KEYS_RMS_EPS(NULL, "1e-6"),
    HN_KEYS_ROPE(NULL, "10000"),
    HN_ONLY("hidden_act", HN_IS_WORD, "silu|swish", "GGUF's deepseek2 knows no other", HN_ALL),
    HN_ONLY("attention_bias|mlp_bias", HN_IS_FLAG, "false", "GGUF's deepseek2 has no biases", HN_ALL),
    HN_NEEDLESS("head_dim|qk_head_dim", HN_IS_INT | HN_IS_NULL, "the sum of its parts says it", HN_ALL),
    HN_ASKED("qk_nope_head_dim", HN_IS_INT, "128", HN_COUNT),
    HN_ASKED("qk_rope_head_dim", HN_IS_INT, "64", HN_COUNT),
    HN_ASKED("v_head_dim", HN_IS_INT | HN_IS_NULL, "128", HN_COUNT),
    HN_ASKED("kv_lora_rank", HN_IS_INT, "512", HN_COUNT),
    HN_ASKED("q_lora_rank", HN_IS_INT | HN_IS_NULL, "1536", HN_COUNT),
    HN_USED("n_routed_experts|num_experts|num_local_experts", HN_IS_INT, n_expert, "64", .of = "DeepseekV2", HN_COUNT),
    HN_USED("n_routed_experts|num_experts|num_local_experts", HN_IS_INT, n_expert, "256", .of = "DeepseekV3", HN_COUNT),
    HN_USED("num_experts_per_tok", HN_IS_INT | HN_IS_NULL, n_used, NULL, .of = "DeepseekV2", HN_COUNT),
    HN_USED("num_experts_per_tok", HN_IS_INT | HN_IS_NULL, n_used, "8", .of = "DeepseekV3", HN_COUNT),
    HN_ASKED("n_shared_experts", HN_IS_INT | HN_IS_NULL, "2", .of = "DeepseekV2", HN_COUNT),
    HN_ASKED("n_shared_experts", HN_IS_INT | HN_IS_NULL, "1", .of = "DeepseekV3", HN_COUNT),
    HN_USED("n_group", HN_IS_INT | HN_IS_NULL, n_expert_group, NULL, .of = "DeepseekV2", HN_COUNT),
    HN_USED("n_group", HN_IS_INT | HN_IS_NULL, n_expert_group, "8", .of = "DeepseekV3", HN_COUNT),
    HN_USED("topk_group", HN_IS_INT | HN_IS_NULL, n_group_used, NULL, .of = "DeepseekV2", HN_COUNT),
    HN_USED("topk_group", HN_IS_INT | HN_IS_NULL, n_group_used, "4", .of = "DeepseekV3", HN_COUNT),
    HN_ASKED("first_k_dense_replace", HN_IS_INT | HN_IS_NULL, "0", .of = "DeepseekV2", .low = 0, .high = HN_MAX_LAYERS),
    HN_ASKED("first_k_dense_replace", HN_IS_INT | HN_IS_NULL, "3", .of = "DeepseekV3", .low = 0, .high = HN_MAX_LAYERS),
    HN_ASKED("moe_intermediate_size", HN_IS_INT, "1407", .of = "DeepseekV2", HN_COUNT),
    HN_ASKED("moe_intermediate_size", HN_IS_INT, "2048", .of = "DeepseekV3", HN_COUNT),
    HN_USED("routed_scaling_factor", HN_IS_NUM, expert_scale, "1.0", .of = "DeepseekV2", HN_ABOVE_0),
    HN_USED("routed_scaling_factor", HN_IS_NUM, expert_scale, "2.5", .of = "DeepseekV3", HN_ABOVE_0),
    HN_ASKED("norm_topk_prob", HN_IS_FLAG | HN_IS_NULL, "false", .of = "DeepseekV2"),
    HN_ASKED("norm_topk_prob", HN_IS_FLAG | HN_IS_NULL, "true", .of = "DeepseekV3"),
    HN_ONLY("scoring_func", HN_IS_WORD, "softmax|sigmoid", "expected softmax or sigmoid", .otherwise = NULL),
    HN_NEEDLESS("topk_method", HN_IS_WORD | HN_IS_NULL, "groups and bias say it", HN_ALL),
    HN_ASKED("moe_layer_freq", HN_IS_INT, "1", .low = 1, .high = 1),
    HN_ONLY("rope_interleave", HN_IS_FLAG | HN_IS_NULL, "true|null", "GGUF's deepseek2 knows no other", HN_ALL),
    HN_NEEDLESS("num_nextn_predict_layers|num_mtp_layers|ep_size|seq_aux|aux_loss_alpha", HN_IS_ANY,
                "of training, or of predicting several tokens", HN_ALL),
    HN_KEYS_ROUTER_TRAINING,
    { .to = HN_HP_vocab_size }, { .to = HN_HP_gating }, { .to = HN_HP_expert_norm }, { .to = HN_HP_n_dense_first },
    { .to = HN_HP_expert_ffn }, { .to = HN_HP_n_shared }, { .to = HN_HP_head_dim }, { .to = HN_HP_value_dim },
    { .to = HN_HP_kv_rank }, { .to = HN_HP_q_rank }, { .to = HN_HP_head_dim_mla }, { .to = HN_HP_value_dim_mla },
    { .to = HN_HP_yarn_log_mul },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    bool has_first;
    HN_TRY(read_widths(config, hp));
    HN_TRY(read_gating(config, hp));
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_TRY(hn_config_int(config, "first_k_dense_replace", &hp->n_dense_first, &has_first));
    HN_HP_SET(hp, n_dense_first, hp->n_dense_first);
    HN_TRY(hn_config_int(config, "moe_intermediate_size", &hp->expert_ffn, NULL));
    HN_HP_SET(hp, expert_ffn, hp->expert_ffn);
    HN_TRY(hn_config_int(config, "n_shared_experts", &hp->n_shared, NULL));
    HN_HP_SET(hp, n_shared, hp->n_shared);
    hp->shared_ffn = hp->n_shared * hp->expert_ffn;
    HN_TRY(hn_config_flag(config, "norm_topk_prob", &hp->expert_norm));
    hp->has[HN_HP_expert_norm] = hp->expert_norm;
    if (hp->rope_mscale != 0)
        HN_HP_SET(hp, yarn_log_mul, 0.1 * hp->rope_mscale);
    hp->has[HN_HP_yarn_attn_factor] = false;
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    HN_REQUIRE(hp->has[HN_HP_kv_rank] && hp->has[HN_HP_head_dim_mla], HN_ERR_UNSUPPORTED,
               "%s: a deepseek2 file of the old layout, without attention.key_length_mla",
               meta->name);
    hp->shared_ffn = hp->n_shared * hp->expert_ffn;
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 10000);
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_HP_DEFAULT(hp, kv_rank, 512);
    HN_HP_DEFAULT(hp, head_dim_mla, 192);
    HN_HP_DEFAULT(hp, value_dim_mla, 128);
    HN_HP_DEFAULT(hp, rope_dim, 64);
    HN_HP_SET(hp, head_dim, hp->kv_rank + hp->rope_dim);
    HN_HP_SET(hp, value_dim, hp->kv_rank);
    HN_HP_SET(hp, n_dense_first, hp->n_dense_first);
    HN_HP_SET(hp, n_shared, hp->n_shared);
    hn_hparams_fill(hp, HN_HP_n_kv_head, 1);
    hp->shared_ffn = hp->n_shared * hp->expert_ffn;
    return HN_OK;
}

const hn_arch hn_arch_deepseek2 = {
    .name = "deepseek2", .classes = classes, .prefixes = hn_decoder_prefixes,
    .layers = "layers.", .has_next_layers = true, .ignored = hn_decoder_ignored, .weights = weights, .tables = tables,
    .read_config = read_config, .read_meta = read_meta, .defaults = defaults,
};
