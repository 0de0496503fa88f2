/* gemma2: norms before and after both branches, gated tanh-GELU, soft caps, every second layer
 * within a window. Its norms hold gain - 1. */
#include "models/models.h"
#include "nn/blocks.h"

#include <math.h>

static const char *const classes[] = { "Gemma2ForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    { "token_embd.weight",           "@embed_tokens.weight",                "V,C",   HN_W_PAD,      HN_ALWAYS },
    { "output_norm.weight",          "@norm.weight",                        "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { "output.weight",               "lm_head.weight",                      "V,C",   HN_W_PAD,      HN_IF_OWN_HEAD },
    HN_ROW_DIVISORS,
    HN_ROW_LONGROPE,
    { ".attn_norm.weight",           ".input_layernorm.weight",             "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".attn_q.weight",              ".self_attn.q_proj.weight",            "H*D,C", 0,             HN_ALWAYS },
    { ".attn_k.weight",              ".self_attn.k_proj.weight",            "G*D,C", 0,             HN_ALWAYS },
    { ".attn_v.weight",              ".self_attn.v_proj.weight",            "G*U,C", 0,             HN_ALWAYS },
    { ".attn_output.weight",         ".self_attn.o_proj.weight",            "C,H*U", 0,             HN_ALWAYS },
    { ".post_attention_norm.weight", ".post_attention_layernorm.weight",    "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".ffn_norm.weight",            ".pre_feedforward_layernorm.weight",   "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
    HN_ROWS_ATTENTION_BIAS(0, HN_IF_ATTN_BIAS),
    { ".attn_output.bias",           ".self_attn.o_proj.bias",              "C",     0,             HN_IF_ATTN_BIAS },
    { ".post_ffw_norm.weight",       ".post_feedforward_layernorm.weight",  "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { 0 },
};
/* clang-format on */

static void set_pattern(hn_hparams *hp)
{
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->is_sliding[i] = i % 2 == 0;
    hp->has_pattern = true;
}

/* clang-format off */
static const hn_key_row keys[] = {
    { .to = HN_HP_window, .absent = "4096" }, { .to = HN_HP_attn_softcap, .absent = "50" },
    { .to = HN_HP_final_softcap, .absent = "30", HN_ABOVE_0 },
    HN_KEY_MODEL_TYPE(NULL, "gemma2"),
    HN_KEYS_SHAPE(NULL, "256000", "2304", "9216", "26", "8", , "4", "8192"),
    HN_KEY_HEAD_DIM(HN_IS_INT, "256"),
    HN_KEYS_RMS_EPS(NULL, "1e-6"),
    HN_KEYS_ROPE(NULL, "10000"),
    HN_KEY_ACTIVATION("hidden_activation", "gelu_pytorch_tanh"),
    HN_NEEDLESS("hidden_act", HN_IS_ANY, "Gemma2Config reads hidden_activation", HN_ALL),
    HN_ASKED("attention_bias", HN_IS_FLAG, "false", HN_ALL),
    HN_USED("sliding_window", HN_IS_INT, window, "4096", HN_COUNT),
    HN_ASKED("layer_types", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    HN_USED("attn_logit_softcapping", HN_IS_REAL | HN_IS_NULL, attn_softcap, "50", HN_ANY_SIGN),
    HN_USED("final_logit_softcapping", HN_IS_REAL | HN_IS_NULL, final_softcap, "30", HN_ANY_SIGN),
    HN_ASKED("query_pre_attn_scalar", HN_IS_INT, "256", HN_COUNT),
    HN_ONLY("use_bidirectional_attention", HN_IS_FLAG | HN_IS_NULL, "false|null", "a decoder alone is computed", HN_ALL),
    HN_ASKED("tie_word_embeddings", HN_IS_FLAG, "true", HN_ALL),
    HN_NEEDLESS("attention_dropout", HN_IS_NUM | HN_IS_NULL, "of training alone", HN_ALL),
    HN_NEEDLESS("cache_implementation", HN_IS_WORD | HN_IS_NULL, "how a program computes, not what", HN_ALL),
    HN_GGUF_SCALAR("hone.gemma2.query_pre_attn_scalar"), HN_GGUF_PATTERN, HN_GGUF_ONE_ROPE,
    { .gguf = "hone.gemma2.attn_uncapped|hone.gemma2.final_uncapped", .is = HN_IS_FLAG },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    HN_TRY(hn_gemma_read_caps(config, hp));
    HN_HP_SET(hp, value_dim, hp->head_dim);
    HN_TRY(hn_config_num(config, "query_pre_attn_scalar", &hp->attn_scalar, NULL));
    if (hp->rope_base == 10000)
        hp->has[HN_HP_rope_base] = false; /* it goes without saying */
    if (!hp->has_pattern)
        set_pattern(hp);
    return HN_OK;
}

/* GGUF's gemma2 caps where it says nothing; and has no key for the attention scale: llama.cpp tells the 27B by its layers. */
static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    HN_TRY(hn_window_write_layers(hp, 2, meta));
    if (hp->attn_softcap == 0)
        HN_TRY(hn_meta_set_bool(meta, "hone.gemma2.attn_uncapped", true));
    if (hp->final_softcap == 0)
        HN_TRY(hn_meta_set_bool(meta, "hone.gemma2.final_uncapped", true));
    const double expected = hp->n_layer == 46 ? (double)(hp->width / hp->n_head[0])
                                              : (double)hp->head_dim;
    return hp->attn_scalar == expected
               ? HN_OK
               : hn_meta_set_double(meta, "hone.gemma2.query_pre_attn_scalar", HN_META_F32,
                                    hp->attn_scalar);
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    const double usual = hp->n_layer == 46 ? (double)(hp->width / hp->n_head[0])
                                           : (double)hp->head_dim;
    bool is_free;
    HN_TRY(hn_meta_bool(meta, "hone.gemma2.attn_uncapped", false, &is_free));
    if (is_free)
        hp->attn_softcap = 0;
    HN_TRY(hn_meta_bool(meta, "hone.gemma2.final_uncapped", false, &is_free));
    if (is_free)
        hp->final_softcap = 0;
    if (!hp->has_pattern)
        set_pattern(hp);
    return hn_meta_double(meta, "hone.gemma2.query_pre_attn_scalar", usual, &hp->attn_scalar);
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, window, 4096);
    HN_HP_DEFAULT(hp, attn_softcap, 50);
    HN_HP_DEFAULT(hp, final_softcap, 30);
    hp->attn_scalar = (double)hp->head_dim;
    hp->is_tied = true;
    set_pattern(hp);
    return HN_OK;
}

static hn_node *build(nn_build *b)
{
    const hn_hparams *hp = b->hp;
    hn_node *x = nn_scale(b, nn_embed(b), nn_constant(b, sqrt((double)hp->width)));
    for (b->layer = 0; b->layer < hp->n_layer; b->layer++) {
        x = nn_layer_begin(b, x);
        const nn_attention_options attention = {
            .window = hp->is_sliding[b->layer] ? hp->window : 0,
            .scale = (float)(1 / sqrt(hp->attn_scalar)),
            .softcap = (float)hp->attn_softcap,
        };
        hn_node *h = nn_attention(b, nn_rms_norm_once(b, x, ".attn_norm.weight"), &attention);
        x = nn_add(b, x, nn_rms_norm_once(b, h, ".post_attention_norm.weight"));
        h = nn_geglu(b, nn_rms_norm_once(b, x, ".ffn_norm.weight"));
        x = nn_add(b, x, nn_rms_norm_once(b, h, ".post_ffw_norm.weight"));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm_once(b, x, "output_norm.weight"), (float)hp->final_softcap, 0);
}

const hn_arch hn_arch_gemma2 = {
    .name = "gemma2", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
