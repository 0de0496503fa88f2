/* gemma3n: gemma3 with plain gains, four streams that predict and correct each other (AltUp), a
 * low-rank side branch (Laurel), per-layer embeddings and shared keys. */
#include "models/models.h"

#include "base/mathfn.h"

#include <math.h>

static const char *const classes[] = { "Gemma3nForConditionalGeneration", "Gemma3nForCausalLM",
                                       NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    { "token_embd.weight",           "@embed_tokens.weight",                "V,C",   HN_W_PAD,      HN_ALWAYS },
    { "output_norm.weight",          "@norm.weight",                        "C",     0,             HN_ALWAYS },
    { "per_layer_token_embd.weight", "@embed_tokens_per_layer.weight",      "V,L*P", HN_W_PAD,      HN_IF_PLE },
    { "per_layer_model_proj.weight", "@per_layer_model_projection.weight",  "L*P,C", 0,             HN_IF_PLE },
    { "per_layer_proj_norm.weight",  "@per_layer_projection_norm.weight",   "P",     0,             HN_IF_PLE },
    { "altup_proj.weight",           "@altup_projections.#.weight",         "3,C,C", HN_W_STACK,    HN_ALWAYS },
    { "altup_unembd_proj.weight",    "@altup_unembed_projections.#.weight", "3,C,C", HN_W_STACK,    HN_ALWAYS },
    { ".attn_norm.weight",           ".input_layernorm.weight",             "C",     0, HN_ALWAYS },
    { ".attn_q.weight",              ".self_attn.q_proj.weight",            "H*D,C", 0, HN_ALWAYS },
    { ".attn_k.weight",              ".self_attn.k_proj.weight",            "G*D,C", 0, HN_IF_OWN_K },
    { ".attn_v.weight",              ".self_attn.v_proj.weight",            "G*U,C", 0, HN_IF_OWN_K },
    { ".attn_q_norm.weight",         ".self_attn.q_norm.weight",            "D",     0, HN_ALWAYS },
    { ".attn_k_norm.weight",         ".self_attn.k_norm.weight",            "D",     0, HN_IF_OWN_K },
    { ".attn_output.weight",         ".self_attn.o_proj.weight",            "C,H*U", 0, HN_ALWAYS },
    { ".post_attention_norm.weight", ".post_attention_layernorm.weight",    "C",     0, HN_ALWAYS },
    { ".ffn_norm.weight",            ".pre_feedforward_layernorm.weight",   "C",     0, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
    { ".post_ffw_norm.weight",       ".post_feedforward_layernorm.weight",  "C",     0, HN_ALWAYS },
    { ".inp_gate.weight",            ".per_layer_input_gate.weight",        "P,C",   0, HN_IF_PLE },
    { ".proj.weight",                ".per_layer_projection.weight",        "C,P",   0, HN_IF_PLE },
    { ".post_norm.weight",           ".post_per_layer_input_norm.weight",   "C",     0, HN_IF_PLE },
    { ".altup_correct_coef.weight",  ".altup.correction_coefs.weight",      "A,A",   HN_W_F32, HN_ALWAYS },
    { ".altup_correct_scale.weight", ".altup.correct_output_scale",         "C",     0, HN_ALWAYS },
    { ".altup_predict_coef.weight",  ".altup.prediction_coefs.weight",      "A*A,A", HN_W_F32, HN_ALWAYS },
    { ".altup_router.weight",        ".altup.modality_router.weight",       "A,C",   0, HN_ALWAYS },
    { ".altup_router_norm.weight",   ".altup.router_norm.weight",           "C",     0, HN_ALWAYS },
    { ".laurel_l.weight",            ".laurel.linear_left.weight",          "Z,C",   0, HN_ALWAYS },
    { ".laurel_r.weight",            ".laurel.linear_right.weight",         "C,Z",   0, HN_ALWAYS },
    { ".laurel_post_norm.weight",    ".laurel.post_laurel_norm.weight",     "C",     0, HN_ALWAYS },
    { 0 },
};
/* clang-format on */

/* The standard normal's quantile as torch computes it: the inverse error function of 2p - 1 times
 * the root of two, each step rounded to f32. Inverted by bisection: it is read once a layer. */
static float normal_quantile(float p)
{
    const double target = (double)(2.0f * p - 1.0f);
    double low = -6, high = 6;
    for (int i = 0; i < 100; i++) {
        const double middle = 0.5 * (low + high);
        if (hn_math_erf(middle) < target)
            low = middle;
        else
            high = middle;
    }
    return (float)low * 1.41421356f;
}

static hn_status read_sparsity(const hn_config *config, hn_hparams *hp)
{
    const hn_json *list;
    HN_TRY(hn_config_json(config, "activation_sparsity_pattern", &list));
    HN_REQUIRE(list && (int64_t)hn_json_count(list) == hp->n_layer,
               HN_ERR_FORMAT, "config.json: activation_sparsity_pattern: expected one a layer");
    int i = 0;
    for (const hn_json *v = hn_json_first(list); v; v = v->next, i++) {
        double share;
        HN_TRY(hn_json_want_double(v, "activation_sparsity_pattern", &share));
        HN_REQUIRE(share >= 0 && share < 1, HN_ERR_FORMAT,
                   "config.json: activation_sparsity_pattern: %g: expected [0, 1)", share);
        hp->sparsity[i] = share > 0 ? (double)normal_quantile((float)share) : -HUGE_VAL;
    }
    hp->n_sparsity = i;
    return HN_OK;
}

/* clang-format off */
static const hn_key_row keys[] = {
    { .to = HN_HP_final_softcap, .absent = "30", HN_ABOVE_0 },
    HN_KEY_MODEL_TYPE(NULL, "gemma3n_text"),
    HN_USED("intermediate_size", HN_IS_INT | HN_IS_LIST, ffn, "16384", HN_COUNT),
    HN_KEYS_SHAPE(NULL, "262400", "2048", "16384", "35", "8", , "2", "32768"),
    HN_KEY_HEAD_DIM(HN_IS_INT, "256"),
    HN_KEYS_RMS_EPS(NULL, "1e-6"),
    HN_KEYS_ROPE_LAYERED(NULL, "1000000", "10000"),
    HN_ONLY("hidden_activation", HN_IS_WORD, "gelu_pytorch_tanh", "GGUF's gemma3n knows no other", HN_ALL),
    HN_NEEDLESS("hidden_act", HN_IS_ANY, "Gemma3nTextConfig reads hidden_activation", HN_ALL),
    HN_ONLY("attention_bias", HN_IS_FLAG, "false", "GGUF's gemma3n has no biases", HN_ALL),
    HN_USED("sliding_window", HN_IS_INT, window, "512", HN_COUNT),
    HN_ASKED("layer_types", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    HN_USED("final_logit_softcapping", HN_IS_REAL, final_softcap, "30", HN_ABOVE_0),
    HN_ASKED("vocab_size_per_layer_input", HN_IS_INT, "262144", HN_COUNT),
    HN_USED("hidden_size_per_layer_input", HN_IS_INT, ple_width, "256", HN_COUNT),
    HN_USED("altup_active_idx", HN_IS_INT, altup_active, "0", .low = 0, .high = 3),
    HN_ONLY("altup_coef_clip", HN_IS_NUM | HN_IS_NULL, "120", "GGUF's gemma3n clips at 120", HN_ALL),
    HN_ONLY("altup_correct_scale", HN_IS_FLAG, "true", "GGUF's gemma3n always scales", HN_ALL),
    HN_USED("altup_num_inputs", HN_IS_INT, altup_inputs, "4", .low = 4, .high = 4),
    HN_USED("num_kv_shared_layers", HN_IS_INT, n_shared_kv, "15", .low = 0, .high = HN_MAX_LAYERS),
    HN_ASKED("laurel_rank", HN_IS_INT, "64", HN_COUNT),
    HN_ASKED("activation_sparsity_pattern", HN_IS_LIST, NULL, HN_ALL),
    HN_ASKED("tie_word_embeddings", HN_IS_FLAG, "true", HN_ALL),
    HN_NEEDLESS("attention_dropout", HN_IS_NUM | HN_IS_NULL, "of training alone", HN_ALL),
    HN_GGUF_PATTERN, { .gguf = "activation_sparsity_scale", .is = HN_ITEMS(HN_IS_REAL) },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

/* clang-format off */
static const hn_key_row outer[] = {
    HN_KEY_MODEL_TYPE(NULL, "gemma3n"),
    HN_KEYS_OUTER(tables),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const outer_tables[] = { outer, hn_keys_every, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    HN_HP_SET(hp, value_dim, hp->head_dim);
    HN_TRY(hn_config_int(config, "laurel_rank", &hp->laurel_rank, NULL));
    HN_TRY(hn_config_int(config, "vocab_size_per_layer_input", &hp->n_ple_vocab, NULL));
    HN_REQUIRE(hp->has_pattern, HN_ERR_FORMAT, "config.json: layer_types is missing");
    return read_sparsity(config, hp);
}

static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    uint8_t pattern[HN_MAX_LAYERS];
    for (int64_t i = 0; i < hp->n_layer; i++)
        pattern[i] = hp->is_sliding[i];
    const hn_meta_value value = { .key = "gemma3n.attention.sliding_window_pattern",
                                  .type = HN_META_BOOL, .is_array = true,
                                  .n = (uint64_t)hp->n_layer, .data = pattern,
                                  .bytes = (size_t)hp->n_layer };
    HN_TRY(hn_meta_set_copy(meta, &value));
    return hn_meta_set_doubles(meta, "gemma3n.activation_sparsity_scale", HN_META_F32,
                               hp->sparsity, (size_t)hp->n_layer);
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    const hn_meta_value *scale;
    HN_TRY(hn_meta_array(meta, "gemma3n.activation_sparsity_scale", HN_META_F32, &scale));
    HN_REQUIRE(scale && scale->n == (uint64_t)hp->n_layer, HN_ERR_FORMAT,
               "%s: key gemma3n.activation_sparsity_scale: expected one a layer", meta->name);
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->sparsity[i] = hn_meta_item_double(scale, (uint64_t)i);
    hp->n_sparsity = (int)hp->n_layer;
    hp->laurel_rank = 64;
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 1e6);
    HN_HP_DEFAULT(hp, window, 512);
    HN_HP_DEFAULT(hp, altup_active, 0);
    HN_HP_DEFAULT(hp, altup_inputs, 4);
    HN_HP_DEFAULT(hp, ple_width, 256);
    HN_HP_SET(hp, n_shared_kv, hp->n_shared_kv);
    HN_HP_DEFAULT(hp, final_softcap, 30);
    hp->laurel_rank = 64;
    hp->is_tied = true;
    for (int64_t i = 0; i < hp->n_layer; i++) {
        hp->is_sliding[i] = (i + 1) % 5 != 0;
        hp->sparsity[i] = i < 10 ? 1.6448535919189453 : -HUGE_VAL; /* as a share of 0.95, or 0 */
    }
    hp->has_pattern = true;
    hp->n_sparsity = (int)hp->n_layer;
    return HN_OK;
}

const hn_arch hn_arch_gemma3n = {
    .name = "gemma3n", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .outer = outer_tables, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults,
};
