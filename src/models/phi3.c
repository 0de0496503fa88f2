/* phi3 and phi4-mini: fused q, k, v and fused gate and up, partial rope, longrope. */
#include "models/models.h"

#include <math.h>

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

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    HN_TRY(hn_config_int(config, "sliding_window", 0, &hp->window));
    HN_HP_SET(hp, window, hp->window);
    HN_HP_SET(hp, rope_dim,
              (int64_t)(hp->rope_partial * (double)hp->width) / hp->n_head[0]);
    HN_HP_SET(hp, rope_orig_ctx, hp->rope_orig_ctx ? hp->rope_orig_ctx : hp->n_ctx);
    hp->has[HN_HP_head_dim] = hp->has[HN_HP_value_dim] = false; /* GGUF's phi3 has no key for it */
    HN_REQUIRE(!hp->n_rope_factors || hp->n_rope_factors == hp->rope_dim / 2, HN_ERR_FORMAT,
               "config.json: %d rope factors: expected %lld", hp->n_rope_factors,
               (long long)(hp->rope_dim / 2));
    const double scale = (double)hp->n_ctx / (double)hp->rope_orig_ctx;
    if (hp->n_rope_factors)
        HN_HP_SET(hp, rope_attn_factor,
                  scale > 1 ? sqrt(1 + log(scale) / log((double)hp->rope_orig_ctx)) : 1.0);
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

const hn_arch hn_arch_phi3 = {
    .name = "phi3", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .read_config = read_config,
    .defaults = defaults,
};
