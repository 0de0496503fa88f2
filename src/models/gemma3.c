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
    { "output.weight",               "lm_head.weight",                      "V,C",   HN_W_PAD,      HN_IF_OWN_HEAD },
    HN_ROW_DIVISORS,
    HN_ROW_LONGROPE,
    { ".attn_norm.weight",           ".input_layernorm.weight",             "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".attn_q.weight",              ".self_attn.q_proj.weight",           "H*D,C", 0,             HN_ALWAYS },
    { ".attn_k.weight",              ".self_attn.k_proj.weight",           "G*D,C", 0,             HN_ALWAYS },
    { ".attn_v.weight",              ".self_attn.v_proj.weight",           "G*U,C", 0,             HN_ALWAYS },
    { ".attn_q_norm.weight",         ".self_attn.q_norm.weight",           "D",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".attn_k_norm.weight",         ".self_attn.k_norm.weight",           "D",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".attn_output.weight",         ".self_attn.o_proj.weight",           "C,H*U", 0,             HN_ALWAYS },
    { ".post_attention_norm.weight", ".post_attention_layernorm.weight",   "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    { ".ffn_norm.weight",            ".pre_feedforward_layernorm.weight",  "C",     HN_W_PLUS_ONE, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
    HN_ROWS_ATTENTION_BIAS(0, HN_IF_ATTN_BIAS),
    { ".attn_output.bias",           ".self_attn.o_proj.bias",              "C",     0,             HN_IF_ATTN_BIAS },
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

/* clang-format off */
static const hn_key_row keys[] = {
    { .to = HN_HP_window, .absent = "0", .low = 0, .high = 2147483647 },
    HN_KEY_MODEL_TYPE(NULL, "gemma3_text"),
    HN_KEYS_SHAPE(NULL, "262208", "2304", "9216", "26", "8", , "4", "131072"),
    HN_KEY_HEAD_DIM(HN_IS_INT, "256"),
    HN_KEYS_RMS_EPS(NULL, "1e-6"),
    HN_KEYS_ROPE_LAYERED(NULL, "1000000", "10000"),
    HN_KEY_ACTIVATION("hidden_activation", "gelu_pytorch_tanh"),
    HN_NEEDLESS("hidden_act", HN_IS_ANY, "Gemma3TextConfig reads hidden_activation", HN_ALL),
    HN_ASKED("attention_bias", HN_IS_FLAG, "false", HN_ALL),
    HN_USED("sliding_window", HN_IS_INT, window, "4096", HN_COUNT),
    HN_ASKED("layer_types", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    HN_ASKED("sliding_window_pattern", HN_IS_INT, "6", HN_COUNT),
    HN_NEEDLESS("_sliding_window_pattern", HN_IS_ANY, "Transformers writes it, and reads layer_types", HN_ALL),
    HN_ONLY("attn_logit_softcapping", HN_IS_REAL | HN_IS_NULL, "null", "soft caps of scores are not supported here", HN_ALL),
    HN_USED("final_logit_softcapping", HN_IS_REAL | HN_IS_NULL, final_softcap, NULL, HN_ANY_SIGN),
    HN_ASKED("query_pre_attn_scalar", HN_IS_INT, "256", HN_COUNT),
    HN_ONLY("use_bidirectional_attention", HN_IS_FLAG | HN_IS_NULL, "false|null", "a decoder alone is computed", HN_ALL),
    HN_ASKED("tie_word_embeddings", HN_IS_FLAG, "true", HN_ALL),
    HN_NEEDLESS("attention_dropout", HN_IS_NUM | HN_IS_NULL, "of training alone", HN_ALL),
    HN_NEEDLESS("cache_implementation", HN_IS_WORD | HN_IS_NULL, "how a program computes, not what", HN_ALL),
    HN_GGUF_PATTERN, HN_GGUF_SCALAR("hone.gemma3.query_pre_attn_scalar"),
    { .gguf = "hone.gemma3.sliding_layers", .is = HN_ITEMS(HN_IS_INT), .low = 0, .high = 1 },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

/* clang-format off */
static const hn_key_row outer[] = {
    HN_KEY_MODEL_TYPE(NULL, "gemma3"),
    HN_KEYS_OUTER(tables),
    HN_NEEDLESS("mm_tokens_per_image", HN_IS_INT | HN_IS_NULL, HN_OTHER_SENSE, HN_ALL),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const outer_tables[] = { outer, hn_keys_every, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    int64_t period;
    HN_TRY(hn_gemma_read_caps(config, hp));
    HN_HP_SET(hp, value_dim, hp->head_dim);
    HN_TRY(hn_config_num(config, "query_pre_attn_scalar", &hp->attn_scalar, NULL));
    HN_TRY(hn_config_int(config, "sliding_window_pattern", &period, NULL));
    if (!hp->has_pattern)
        set_pattern(hp, period);
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
    if (!hp->has_pattern)
        set_pattern(hp, 6);
    HN_TRY(hn_meta_array(meta, "hone.gemma3.sliding_layers", HN_META_U8, &pattern));
    HN_REQUIRE(!pattern || pattern->n == (uint64_t)hp->n_layer, HN_ERR_FORMAT,
               "%s: key hone.gemma3.sliding_layers: expected one for each of %lld layers",
               meta->name, (long long)hp->n_layer);
    for (int64_t i = 0; i < hp->n_layer; i++) {
        if (pattern)
            hp->is_sliding[i] = pattern->data[i] != 0;
        hp->is_sliding[i] = hp->is_sliding[i] && hp->window; /* none: all layers are full */
    }
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
    .ignored = hn_decoder_ignored, .outer = outer_tables, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
