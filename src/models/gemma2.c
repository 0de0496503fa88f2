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
    { ".attn_norm.weight",           ".input_layernorm.weight",             "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".attn_q.weight",              ".self_attn.q_proj.weight",            "H*D,C", 0,             HN_ALWAYS },
    { ".attn_k.weight",              ".self_attn.k_proj.weight",            "G*D,C", 0,             HN_ALWAYS },
    { ".attn_v.weight",              ".self_attn.v_proj.weight",            "G*U,C", 0,             HN_ALWAYS },
    { ".attn_output.weight",         ".self_attn.o_proj.weight",            "C,H*U", 0,             HN_ALWAYS },
    { ".post_attention_norm.weight", ".post_attention_layernorm.weight",    "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".ffn_norm.weight",            ".pre_feedforward_layernorm.weight",   "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
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

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    double query;
    HN_TRY(hn_config_int(config, "head_dim", 256, &hp->head_dim));
    HN_HP_SET(hp, head_dim, hp->head_dim);
    HN_HP_SET(hp, value_dim, hp->head_dim);
    HN_TRY(hn_config_int(config, "sliding_window", 4096, &hp->window));
    HN_HP_SET(hp, window, hp->window);
    HN_TRY(hn_config_num(config, "attn_logit_softcapping", 50, &hp->attn_softcap));
    HN_TRY(hn_config_num(config, "final_logit_softcapping", 30, &hp->final_softcap));
    HN_HP_SET(hp, attn_softcap, hp->attn_softcap);
    HN_HP_SET(hp, final_softcap, hp->final_softcap);
    HN_TRY(hn_config_num(config, "query_pre_attn_scalar", 256, &query));
    hp->attn_scalar = query;
    hp->is_tied = true;
    hp->has[HN_HP_rope_base] = false; /* 10000, which goes without saying */
    if (!hp->has_pattern)
        set_pattern(hp);
    return HN_OK;
}

/* GGUF's gemma2 has no key for the attention scale: llama.cpp tells the 27B by its layers. */
static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
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
    .ignored = hn_decoder_ignored, .weights = weights, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
