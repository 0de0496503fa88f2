/* gemma3: gemma2 with normed queries and keys, no caps, and five sliding layers to a full one,
 * each kind with its own rope. */
#include "models/models.h"
#include "nn/blocks.h"

#include <math.h>

static const char *const classes[] = { "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration",
                                       NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    { "token_embd.weight",           "@embed_tokens.weight",               "V,C",   HN_W_PAD,      HN_ALWAYS },
    { "output_norm.weight",          "@norm.weight",                       "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".attn_norm.weight",           ".input_layernorm.weight",            "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".attn_q.weight",              ".self_attn.q_proj.weight",           "H*D,C", 0,             HN_ALWAYS },
    { ".attn_k.weight",              ".self_attn.k_proj.weight",           "G*D,C", 0,             HN_ALWAYS },
    { ".attn_v.weight",              ".self_attn.v_proj.weight",           "G*U,C", 0,             HN_ALWAYS },
    { ".attn_q_norm.weight",         ".self_attn.q_norm.weight",           "D",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".attn_k_norm.weight",         ".self_attn.k_norm.weight",           "D",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".attn_output.weight",         ".self_attn.o_proj.weight",           "C,H*U", 0,             HN_ALWAYS },
    { ".post_attention_norm.weight", ".post_attention_layernorm.weight",   "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".ffn_norm.weight",            ".pre_feedforward_layernorm.weight",  "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
    { ".post_ffw_norm.weight",       ".post_feedforward_layernorm.weight", "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { 0 },
};
/* clang-format on */

static void set_pattern(hn_hparams *hp, int64_t period)
{
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->is_sliding[i] = period > 0 && (i + 1) % period != 0;
    hp->has_pattern = true;
}

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    double base;
    int64_t period;
    const hn_json *cap = hn_config_find(config, "attn_logit_softcapping");
    HN_REQUIRE(!cap, HN_ERR_UNSUPPORTED,
               "config.json: attn_logit_softcapping: not supported for gemma3");
    HN_TRY(hn_config_int(config, "head_dim", 256, &hp->head_dim));
    HN_HP_SET(hp, head_dim, hp->head_dim);
    HN_HP_SET(hp, value_dim, hp->head_dim);
    HN_TRY(hn_config_int(config, "sliding_window", 4096, &hp->window));
    HN_HP_SET(hp, window, hp->window);
    HN_TRY(hn_config_int(config, "max_position_embeddings", 131072, &hp->n_ctx));
    HN_HP_SET(hp, n_ctx, hp->n_ctx);
    HN_TRY(hn_config_num(config, "rms_norm_eps", 1e-6, &hp->rms_eps));
    HN_HP_SET(hp, rms_eps, hp->rms_eps);
    base = hp->has[HN_HP_rope_base] ? hp->rope_base : 1e6;
    HN_HP_SET(hp, rope_base, base);
    if (!hp->has[HN_HP_rope_base_swa])
        hp->rope_base_swa = 10000;
    const hn_json *final = hn_config_find(config, "final_logit_softcapping");
    if (final) {
        HN_TRY(hn_config_num(config, "final_logit_softcapping", 0, &hp->final_softcap));
        HN_HP_SET(hp, final_softcap, hp->final_softcap);
    }
    HN_TRY(hn_config_num(config, "query_pre_attn_scalar", 256, &hp->attn_scalar));
    HN_TRY(hn_config_int(config, "sliding_window_pattern|_sliding_window_pattern", 6, &period));
    if (!hp->has_pattern)
        set_pattern(hp, period);
    hp->is_tied = true;
    return HN_OK;
}

/* llama.cpp knows the 27B by its layers, and one pattern. */
static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    const double expected = hp->n_layer == 62 ? (double)(hp->width / hp->n_head[0])
                                              : (double)hp->head_dim;
    if (hp->attn_scalar != expected)
        HN_TRY(hn_meta_set_double(meta, "hone.gemma3.query_pre_attn_scalar", HN_META_F32,
                                  hp->attn_scalar));
    bool is_usual = true;
    for (int64_t i = 0; i < hp->n_layer; i++)
        is_usual = is_usual && hp->is_sliding[i] == ((i + 1) % 6 != 0);
    if (is_usual)
        return HN_OK;
    int64_t pattern[HN_MAX_LAYERS];
    for (int64_t i = 0; i < hp->n_layer; i++)
        pattern[i] = hp->is_sliding[i];
    return hn_meta_set_ints(meta, "hone.gemma3.sliding_layers", HN_META_U8, pattern,
                            (size_t)hp->n_layer);
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    const double usual = hp->n_layer == 62 ? (double)(hp->width / hp->n_head[0])
                                           : (double)hp->head_dim;
    const hn_meta_value *pattern;
    if (!hp->has[HN_HP_rope_base_swa])
        hp->rope_base_swa = 10000;
    if (!hp->has_pattern)
        set_pattern(hp, 6);
    HN_TRY(hn_meta_array(meta, "hone.gemma3.sliding_layers", HN_META_U8, &pattern));
    for (uint64_t i = 0; pattern && i < pattern->n && i < (uint64_t)hp->n_layer; i++)
        hp->is_sliding[i] = pattern->data[i] != 0;
    return hn_meta_double(meta, "hone.gemma3.query_pre_attn_scalar", usual, &hp->attn_scalar);
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 1e6);
    HN_HP_DEFAULT(hp, rope_base_swa, 10000);
    HN_HP_DEFAULT(hp, window, 1024);
    hp->attn_scalar = (double)hp->head_dim;
    hp->is_tied = true;
    set_pattern(hp, 6);
    return HN_OK;
}

static hn_node *build(nn_build *b)
{
    const hn_hparams *hp = b->hp;
    hn_node *x = nn_scale(b, nn_embed(b), nn_constant(b, sqrt((double)hp->width)));
    for (b->layer = 0; b->layer < hp->n_layer; b->layer++) {
        x = nn_layer_begin(b, x);
        const nn_attention_options attention = {
            .norms_heads = true, .rounds_norms_once = true,
            .window = hp->is_sliding[b->layer] ? hp->window : 0,
            .scale = (float)(1 / sqrt(hp->attn_scalar)),
        };
        hn_node *h = nn_attention(b, nn_rms_norm_once(b, x, ".attn_norm.weight"), &attention);
        x = nn_add(b, x, nn_rms_norm_once(b, h, ".post_attention_norm.weight"));
        h = nn_geglu(b, nn_rms_norm_once(b, x, ".ffn_norm.weight"));
        x = nn_add(b, x, nn_rms_norm_once(b, h, ".post_ffw_norm.weight"));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm_once(b, x, "output_norm.weight"), (float)hp->final_softcap, 0);
}

const hn_arch hn_arch_gemma3 = {
    .name = "gemma3", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
