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

/* clang-format off */
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE(NULL, "gpt2"),
    HN_ASKED("vocab_size", HN_IS_INT, "50257", HN_COUNT),
    HN_USED("n_embd|hidden_size", HN_IS_INT, width, "768", HN_COUNT),
    HN_USED("n_layer|num_hidden_layers", HN_IS_INT, n_layer, "12", HN_COUNT),
    HN_USED("n_head|num_attention_heads", HN_IS_INT, n_head, "12", HN_COUNT),
    HN_USED("n_positions|max_position_embeddings", HN_IS_INT, n_ctx, "1024", HN_COUNT),
    HN_NEEDLESS("n_ctx", HN_IS_INT, "GPT2Config reads n_positions", HN_ALL),
    HN_USED("n_inner", HN_IS_INT | HN_IS_NULL, ffn, NULL, HN_COUNT),
    HN_USED("layer_norm_epsilon", HN_IS_REAL, norm_eps, "1e-5", HN_ABOVE_0),
    HN_ONLY("activation_function", HN_IS_WORD, "gelu_new", "GGUF's gpt2 knows no other", HN_ALL),
    HN_ONLY("scale_attn_weights", HN_IS_FLAG, "true", "GGUF's gpt2 always scales", HN_ALL),
    HN_ONLY("scale_attn_by_inverse_layer_idx", HN_IS_FLAG, "false", "GGUF's gpt2 cannot", HN_ALL),
    HN_NEEDLESS("reorder_and_upcast_attn", HN_IS_FLAG, "how a program computes, not what", HN_ALL),
    HN_NEEDLESS("summary_type|summary_use_proj|summary_activation|summary_proj_to_labels|summary_first_dropout",
                HN_IS_ANY, "of classes with another head", HN_ALL),
    HN_ONLY("tie_word_embeddings", HN_IS_FLAG, "true", "GGUF's gpt2 has no other head", .otherwise = "true"),
    { .gguf = "rope.*", .is = HN_IS_ANY, .note = "positions are learned" },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    (void)config;
    if (!hp->has[HN_HP_ffn])
        hn_hparams_fill(hp, HN_HP_ffn, 4 * hp->width);
    HN_REQUIRE(hp->ffn[0] == 4 * hp->width, HN_ERR_UNSUPPORTED,
               "config.json: n_inner is %lld: GGUF's gpt2 knows only 4 times the width",
               (long long)hp->ffn[0]);
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
    .ignored = ignored, .weights = weights, .tables = tables, .read_config = read_config, .defaults = defaults,
};
