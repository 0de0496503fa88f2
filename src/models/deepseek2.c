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

static hn_status read_widths(const hn_json *config, hn_hparams *hp)
{
    int64_t nope, rope, value;
    HN_TRY(hn_config_int(config, "qk_nope_head_dim", 128, &nope));
    HN_TRY(hn_config_int(config, "qk_rope_head_dim", 64, &rope));
    HN_TRY(hn_config_int(config, "v_head_dim", 128, &value));
    HN_TRY(hn_config_int(config, "kv_lora_rank", 512, &hp->kv_rank));
    HN_TRY(hn_config_int(config, "q_lora_rank", 0, &hp->q_rank));
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
static hn_status read_gating(const hn_json *config, hn_hparams *hp)
{
    const hn_json *func = hn_config_find(config, "scoring_func");
    const char *word;
    if (!func)
        return HN_OK;
    HN_TRY(hn_json_want_string(func, "scoring_func", &word));
    HN_REQUIRE(!strcmp(word, "sigmoid") || !strcmp(word, "softmax"), HN_ERR_UNSUPPORTED,
               "config.json: scoring_func %s is not supported", word);
    HN_HP_SET(hp, gating, !strcmp(word, "sigmoid") ? 2 : 1);
    return HN_OK;
}

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    HN_TRY(read_widths(config, hp));
    HN_TRY(read_gating(config, hp));
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_TRY(hn_config_int(config, "first_k_dense_replace", hp->n_expert ? 0 : hp->n_layer,
                         &hp->n_dense_first));
    HN_HP_SET(hp, n_dense_first, hp->n_dense_first);
    HN_TRY(hn_config_int(config, "moe_intermediate_size", hp->ffn[0], &hp->expert_ffn));
    HN_HP_SET(hp, expert_ffn, hp->expert_ffn);
    HN_TRY(hn_config_int(config, "n_shared_experts", 0, &hp->n_shared));
    HN_HP_SET(hp, n_shared, hp->n_shared);
    hp->shared_ffn = hp->n_shared * hp->expert_ffn;
    if (hn_config_find(config, "routed_scaling_factor")) {
        HN_TRY(hn_config_num(config, "routed_scaling_factor", 1, &hp->expert_scale));
        HN_HP_SET(hp, expert_scale, hp->expert_scale);
    }
    HN_TRY(hn_config_flag(config, "norm_topk_prob", false, &hp->expert_norm));
    hp->has[HN_HP_expert_norm] = hp->expert_norm;
    if (!hp->has[HN_HP_rms_eps])
        HN_HP_SET(hp, rms_eps, 1e-6);
    if (hp->rope_mscale != 0)
        HN_HP_SET(hp, yarn_log_mul, 0.1 * hp->rope_mscale);
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
    .layers = "layers.", .ignored = hn_decoder_ignored, .weights = weights,
    .read_config = read_config, .read_meta = read_meta, .defaults = defaults,
};
