/* gpt2: learned positions, layer norms with biases, one fused projection for q, k and v. Its
 * files hold matrices as [in, out]. */
#include "models/models.h"

static const char *const classes[] = { "GPT2LMHeadModel", NULL };
static const char *const prefixes[] = { "transformer.", "", NULL };
static const char *const ignored[] = { "*.attn.bias", "*.attn.masked_bias", "lm_head.weight",
                                       NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    { "token_embd.weight",    "@wte.weight",         "V,C",   HN_W_PAD,       HN_ALWAYS },
    { "position_embd.weight", "@wpe.weight",         "T,C",   HN_W_F32,       HN_ALWAYS },
    { "output_norm.weight",   "@ln_f.weight",        "C",     0,              HN_ALWAYS },
    { "output_norm.bias",     "@ln_f.bias",          "C",     0,              HN_ALWAYS },
    { ".attn_norm.weight",    ".ln_1.weight",        "C",     0,              HN_ALWAYS },
    { ".attn_norm.bias",      ".ln_1.bias",          "C",     0,              HN_ALWAYS },
    { ".attn_qkv.weight",     ".attn.c_attn.weight", "3*C,C", HN_W_TRANSPOSE, HN_ALWAYS },
    { ".attn_qkv.bias",       ".attn.c_attn.bias",   "3*C",   0,              HN_ALWAYS },
    { ".attn_output.weight",  ".attn.c_proj.weight", "C,C",   HN_W_TRANSPOSE, HN_ALWAYS },
    { ".attn_output.bias",    ".attn.c_proj.bias",   "C",     0,              HN_ALWAYS },
    { ".ffn_norm.weight",     ".ln_2.weight",        "C",     0,              HN_ALWAYS },
    { ".ffn_norm.bias",       ".ln_2.bias",          "C",     0,              HN_ALWAYS },
    { ".ffn_up.weight",       ".mlp.c_fc.weight",    "F,C",   HN_W_TRANSPOSE, HN_ALWAYS },
    { ".ffn_up.bias",         ".mlp.c_fc.bias",      "F",     0,              HN_ALWAYS },
    { ".ffn_down.weight",     ".mlp.c_proj.weight",  "C,F",   HN_W_TRANSPOSE, HN_ALWAYS },
    { ".ffn_down.bias",       ".mlp.c_proj.bias",    "C",     0,              HN_ALWAYS },
    { 0 },
};
/* clang-format on */

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    int64_t positions;
    HN_TRY(hn_config_int(config, "n_positions|n_ctx", 1024, &positions));
    HN_HP_SET(hp, n_ctx, positions);
    if (!hp->has[HN_HP_ffn])
        hn_hparams_fill(hp, HN_HP_ffn, 4 * hp->width);
    HN_REQUIRE(hp->ffn[0] == 4 * hp->width, HN_ERR_UNSUPPORTED,
               "config.json: n_inner is %lld: GGUF's gpt2 knows only 4 times the width",
               (long long)hp->ffn[0]);
    HN_TRY(hn_config_num(config, "layer_norm_epsilon", 1e-5, &hp->norm_eps));
    HN_HP_SET(hp, norm_eps, hp->norm_eps);
    hp->has[HN_HP_rope_base] = false;
    hp->is_tied = true;
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, norm_eps, 1e-5);
    if (!hp->has[HN_HP_ffn])
        hn_hparams_fill(hp, HN_HP_ffn, 4 * hp->width);
    hp->has[HN_HP_head_dim] = hp->has[HN_HP_value_dim] = hp->has[HN_HP_n_kv_head] = false;
    hp->is_tied = true;
    return HN_OK;
}

const hn_arch hn_arch_gpt2 = {
    .name = "gpt2", .classes = classes, .prefixes = prefixes, .layers = "h.",
    .ignored = ignored, .weights = weights, .read_config = read_config, .defaults = defaults,
};
