/* phi3, phi4 and phi4-mini: fused q, k, v and fused gate and up, partial rope, longrope. */
#include "models/models.h"
#include "nn/blocks.h"

static const char *const classes[] = { "Phi3ForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    { "rope_factors_long.weight",  NULL, "R", HN_W_CONSTANT | HN_W_F32, HN_IF_LONGROPE },
    { "rope_factors_short.weight", NULL, "R", HN_W_CONSTANT | HN_W_F32, HN_IF_LONGROPE },
    { ".attn_norm.weight",   ".input_layernorm.weight",          "C",             0, HN_ALWAYS },
    { ".attn_qkv.weight",    ".self_attn.qkv_proj.weight",       "H*D+G*D+G*U,C", 0, HN_ALWAYS },
    { ".attn_output.weight", ".self_attn.o_proj.weight",         "C,H*U",         0, HN_ALWAYS },
    { ".ffn_norm.weight",    ".post_attention_layernorm.weight", "C",             0, HN_ALWAYS },
    { ".ffn_up.weight",      ".mlp.gate_up_proj.weight",         "2*F,C",         0, HN_ALWAYS },
    { ".ffn_down.weight",    ".mlp.down_proj.weight",            "C,F",           0, HN_ALWAYS },
    { 0 },
};
/* clang-format on */

/* clang-format off */
static const hn_key_row keys[] = {
    { .to = HN_HP_window, .absent = "0", .low = 0, .high = 2147483647 },
    HN_KEY_MODEL_TYPE(NULL, "phi3"),
    HN_KEYS_SHAPE(NULL, "32064", "3072", "8192", "32", "32", HN_OR_NONE, NULL, "4096"),
    HN_KEYS_RMS_EPS(NULL, "1e-5"),
    HN_ASKED("partial_rotary_factor", HN_IS_NUM, "1", .low = 0x1p-20, .high = 1),
    HN_ASKED("original_max_position_embeddings", HN_IS_INT, "4096", HN_COUNT),
    HN_ASKED("rope_parameters", HN_IS_OBJECT | HN_IS_NULL, NULL, .within = hn_rope_beside_keys),
    HN_ASKED("rope_scaling", HN_IS_OBJECT | HN_IS_NULL, NULL, .within = hn_rope_beside_keys),
    { .to = HN_HP_rope_attn_factor, .low = 0x1p-32, .high = 0x1p32 }, /* of longrope: both sides of a score have it */
    HN_KEYS_ROPE(NULL, "10000"),
    HN_KEY_ACTIVATION("hidden_act", "silu"),
    HN_NEEDLESS("embd_pdrop", HN_IS_NUM, "of training alone", HN_ALL),
    HN_NEEDLESS("resid_pdrop", HN_IS_NUM, "of training alone", .low = 0, .high = 1),
    HN_ONLY("attention_bias", HN_IS_FLAG, "false", "the class has no biases", HN_ALL),
    HN_USED("sliding_window", HN_IS_INT | HN_IS_NULL, window, NULL, HN_COUNT),
    HN_ASKED("pad_token_id", HN_IS_INT | HN_IS_NULL, "32000", HN_ALL),
    HN_ONLY("full_attn_mod|interpolate_factor|lm_head_bias|mlp_bias", HN_IS_ANY, "1|false|null|0", "Phi3Config has none", HN_ALL),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    (void)config;
    HN_HP_SET(hp, window, hp->window);
    HN_HP_SET(hp, rope_dim,
              (int64_t)(hp->rope_partial * (double)hp->width) / hp->n_head[0]);
    HN_HP_SET(hp, rope_orig_ctx, hp->rope_orig_ctx ? hp->rope_orig_ctx : hp->n_ctx);
    HN_REQUIRE(!hp->n_rope_factors || hp->n_rope_factors == hp->rope_dim / 2, HN_ERR_FORMAT,
               "config.json: %d rope factors: expected %lld", hp->n_rope_factors,
               (long long)(hp->rope_dim / 2));
    hp->has[HN_HP_rope_limit] = false; /* GGUF's phi3 has both kinds of factors, and chooses */
    hp->rope_is_stated = false;
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-5);
    HN_HP_DEFAULT(hp, rope_base, 10000);
    HN_HP_SET(hp, rope_dim, hp->head_dim);
    HN_HP_SET(hp, rope_orig_ctx, hp->n_ctx);
    hp->has[HN_HP_head_dim] = hp->has[HN_HP_value_dim] = false;
    return HN_OK;
}

/* Gate above up in one matrix. */
static hn_node *mlp(nn_build *b, hn_node *x)
{
    const int64_t n = b->hp->ffn[b->layer];
    hn_node *both = nn_linear(b, x, ".ffn_up");
    hn_node *gate = nn_columns(b, both, 0, n), *up = nn_columns(b, both, n, 2 * n);
    return nn_linear(b, nn_gate(b, HN_ACT_SILU, gate, up), ".ffn_down");
}

static hn_node *attention(nn_build *b, hn_node *x)
{
    return nn_attention(b, x, &(nn_attention_options){ .window = b->hp->window });
}

static hn_node *build(nn_build *b) { return nn_pre_norm(b, attention, mlp); }

const hn_arch hn_arch_phi3 = {
    .name = "phi3", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .tables = tables, .read_config = read_config,
    .defaults = defaults, .build = build, .has_bf16 = true,
};
