/* gemma4: gemma3's frame with plain gains, full layers of wider heads whose values may be their
 * raw keys, layers that share the keys of others, per-layer embeddings, and experts beside the
 * dense branch. */
#include "models/gemma_layers.h"
#include "models/models.h"
#include "nn/blocks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const classes[] = { "Gemma4ForConditionalGeneration", "Gemma4ForCausalLM",
                                       NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    { "token_embd.weight",           "@embed_tokens.weight",               "V,C",     HN_W_PAD, HN_ALWAYS },
    { "output_norm.weight",          "@norm.weight",                       "C",       0, HN_ALWAYS },
    { "output.weight",               "lm_head.weight",                     "V,C",     HN_W_PAD, HN_IF_OWN_HEAD },
    HN_ROW_LONGROPE,
    { "rope_freqs.weight",           NULL,                                 "R", HN_W_CONSTANT | HN_W_F32, HN_ALWAYS },
    { "per_layer_token_embd.weight", "@embed_tokens_per_layer.weight",     "V,L*P",   HN_W_PAD, HN_IF_PLE },
    { "per_layer_model_proj.weight", "@per_layer_model_projection.weight", "L*P,C",   0, HN_IF_PLE },
    { "per_layer_proj_norm.weight",  "@per_layer_projection_norm.weight",  "P",       0, HN_IF_PLE },
    { ".attn_norm.weight",           ".input_layernorm.weight",            "C",       0, HN_ALWAYS },
    { ".attn_q.weight",              ".self_attn.q_proj.weight",           "H*D,C",   0, HN_ALWAYS },
    { ".attn_k.weight",              ".self_attn.k_proj.weight",           "G*D,C",   0, HN_IF_OWN_K },
    { ".attn_v.weight",              ".self_attn.v_proj.weight",           "G*U,C",   0, HN_IF_OWN_V },
    { ".attn_q_norm.weight",         ".self_attn.q_norm.weight",           "D",       0, HN_ALWAYS },
    { ".attn_k_norm.weight",         ".self_attn.k_norm.weight",           "D",       0, HN_IF_OWN_K },
    { ".attn_output.weight",         ".self_attn.o_proj.weight",           "C,H*U",   0, HN_ALWAYS },
    { ".post_attention_norm.weight", ".post_attention_layernorm.weight",   "C",       0, HN_ALWAYS },
    { ".ffn_norm.weight",            ".pre_feedforward_layernorm.weight",  "C",       0, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
    HN_ROWS_ATTENTION_BIAS(0, HN_IF_ATTN_BIAS),
    { ".attn_output.bias",           ".self_attn.o_proj.bias",             "C",       0, HN_IF_ATTN_BIAS },
    { ".post_ffw_norm.weight",       ".post_feedforward_layernorm.weight", "C",       0, HN_ALWAYS },
    { ".layer_output_scale.weight",  ".layer_scalar",                      "1",       0, HN_ALWAYS },
    { ".inp_gate.weight",            ".per_layer_input_gate.weight",       "P,C",     0, HN_IF_PLE },
    { ".proj.weight",                ".per_layer_projection.weight",       "C,P",     0, HN_IF_PLE },
    { ".post_norm.weight",           ".post_per_layer_input_norm.weight",  "C",       0, HN_IF_PLE },
    { ".ffn_gate_inp.weight",        ".router.proj.weight",                "E,C",     HN_W_F32, HN_IF_MOE },
    { ".ffn_gate_inp.scale",         ".router.scale",                      "C",       0, HN_IF_MOE },
    { ".ffn_gate_up_exps.weight",    ".experts.gate_up_proj",              "E,2*X,C", 0, HN_IF_MOE },
    { ".ffn_down_exps.weight",       ".experts.down_proj",                 "E,C,X",   0, HN_IF_MOE },
    { ".ffn_down_exps.scale",        ".router.per_expert_scale",           "E",       0, HN_IF_MOE },
    { ".post_ffw_norm_1.weight",     ".post_feedforward_layernorm_1.weight", "C",     0, HN_IF_MOE },
    { ".pre_ffw_norm_2.weight",      ".pre_feedforward_layernorm_2.weight",  "C",     0, HN_IF_MOE },
    { ".post_ffw_norm_2.weight",     ".post_feedforward_layernorm_2.weight", "C",     0, HN_IF_MOE },
    { 0 },
};
/* clang-format on */

/* The last layer is always a full one. */
static void set_pattern(hn_hparams *hp, int64_t period)
{
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->is_sliding[i] = (i + 1) % period != 0 && i + 1 != hp->n_layer;
    hp->has_pattern = true;
}

/* clang-format off */
/* One a kind of layer; Gemma 4 has no default for their bases. */
static const hn_key_row rope_kinds[] = {
    HN_ASKED("full_attention", HN_IS_OBJECT, HN_MUST, .within = hn_rope_whole_keys),
    HN_ASKED("sliding_attention", HN_IS_OBJECT, HN_MUST, .within = hn_rope_whole_keys),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const rope_tables[] = { rope_kinds, NULL };

/* clang-format off */
static const hn_key_row layer_keys[] = {
    HN_ASKED("head_dim", HN_IS_INT, NULL, HN_COUNT),
    HN_ASKED("num_key_value_heads", HN_IS_INT, NULL, HN_COUNT),
    { 0 },
};
static const hn_key_row *const layer_tables[] = { layer_keys, NULL };

static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE(NULL, "gemma4_text"),
    HN_KEYS_SHAPE(NULL, "262144", "2304", "9216", "30", "8", , "4", "131072"),
    HN_ASKED("head_dim", HN_IS_INT, "256", HN_COUNT),
    HN_ASKED("global_head_dim", HN_IS_INT, "512", HN_COUNT),
    HN_ASKED("num_global_key_value_heads", HN_IS_INT | HN_IS_NULL, NULL, HN_COUNT),
    HN_ASKED("per_layer_config", HN_IS_OBJECT | HN_IS_NULL, NULL, HN_ALL),
    HN_KEYS_RMS_EPS(NULL, "1e-6"),
    HN_ASKED("rope_parameters", HN_IS_OBJECT | HN_IS_NULL, NULL, .within = rope_tables),
    HN_GGUF_ROPE_LAYERED,
    HN_KEY_ACTIVATION("hidden_activation", "gelu_pytorch_tanh"),
    HN_ASKED("attention_bias", HN_IS_FLAG, "false", HN_ALL),
    HN_USED("sliding_window", HN_IS_INT, window, "512", HN_COUNT),
    HN_ASKED("layer_types", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    HN_USED("final_logit_softcapping", HN_IS_REAL | HN_IS_NULL, final_softcap, NULL, HN_ANY_SIGN),
    HN_ONLY("use_bidirectional_attention", HN_IS_WORD | HN_IS_NULL, "null|vision", "a decoder alone is computed", HN_ALL),
    HN_ASKED("vocab_size_per_layer_input", HN_IS_INT, "262144", HN_COUNT),
    HN_USED("hidden_size_per_layer_input", HN_IS_INT, ple_width, "256", .low = 0, .high = 2147483647),
    HN_ASKED("attention_k_eq_v", HN_IS_FLAG, "false", HN_ALL),
    HN_USED("num_kv_shared_layers", HN_IS_INT, n_shared_kv, "0", .low = 0, .high = HN_MAX_LAYERS),
    HN_ASKED("enable_moe_block", HN_IS_FLAG, "false", HN_ALL),
    HN_ASKED("use_double_wide_mlp", HN_IS_FLAG, "false", HN_ALL),
    HN_USED("num_experts", HN_IS_INT | HN_IS_NULL, n_expert, NULL, HN_COUNT),
    HN_USED("top_k_experts", HN_IS_INT | HN_IS_NULL, n_used, NULL, HN_COUNT),
    HN_USED("moe_intermediate_size|expert_intermediate_size", HN_IS_INT | HN_IS_NULL, expert_ffn, NULL, HN_COUNT),
    HN_ASKED("tie_word_embeddings", HN_IS_FLAG, "true", HN_ALL),
    HN_NEEDLESS("attention_dropout", HN_IS_NUM | HN_IS_NULL, "of training alone", HN_ALL),
    { .to = HN_HP_head_dim }, { .to = HN_HP_value_dim }, { .to = HN_HP_head_dim_swa }, { .to = HN_HP_value_dim_swa },
    { .gguf = "attention.sliding_window_pattern", .is = HN_ITEMS(HN_IS_INT | HN_IS_FLAG), .low = 0, .high = 1 },
    HN_GGUF_SAID("expert_weights_norm", HN_IS_FLAG, "true", "gemma4's weights add up to 1"),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

/* clang-format off */
static const hn_key_row outer[] = {
    HN_KEY_MODEL_TYPE(NULL, "gemma4"),
    HN_KEYS_OUTER(tables),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const outer_tables[] = { outer, hn_keys_every, NULL };

/* What one layer has its own way: { "5": { "head_dim": 512, "num_key_value_heads": 2 } }. GGUF
 * knows one head width for all full layers. */
static hn_status read_layer(const hn_config *config, const hn_json *layer, hn_hparams *hp,
                            int64_t *full_dim)
{
    char *end;
    const long i = strtol(layer->key, &end, 10);
    HN_REQUIRE(!*end && layer->key[0] >= '0' && layer->key[0] <= '9' && i < hp->n_layer,
               HN_ERR_FORMAT, "config.json: per_layer_config: %s is no layer", layer->key);
    hn_config own;
    int64_t dim, groups;
    HN_TRY(hn_config_open(layer, layer_tables, config->class, NULL, &own));
    HN_TRY(hn_config_int(&own, "head_dim", &dim, NULL));
    HN_TRY(hn_config_int(&own, "num_key_value_heads", &groups, NULL));
    HN_REQUIRE(!dim || dim == hp->head_dim_swa ||
                   (!hp->is_sliding[i] && (!*full_dim || *full_dim == dim)),
               HN_ERR_UNSUPPORTED,
               "config.json: per_layer_config: layer %ld: only full layers may have another "
               "head_dim, and all the same", i);
    if (dim && !hp->is_sliding[i])
        *full_dim = dim;
    if (groups)
        hp->n_kv_head[i] = groups;
    return HN_OK;
}

/* A full layer that is not named has the width of the others. */
static hn_status check_layers_agree(const hn_json *own, const hn_hparams *hp, int64_t full_dim)
{
    for (int64_t i = 0; full_dim && full_dim != hp->head_dim_swa && i < hp->n_layer; i++) {
        char key[24];
        snprintf(key, sizeof key, "%lld", (long long)i);
        HN_REQUIRE(hp->is_sliding[i] || hn_json_get(hn_json_get(own, key), "head_dim"),
                   HN_ERR_UNSUPPORTED,
                   "config.json: per_layer_config: layer %lld has not the head_dim of the other "
                   "full layers", (long long)i);
    }
    return HN_OK;
}

static hn_status read_heads(const hn_config *config, hn_hparams *hp)
{
    int64_t full_dim, full_kv;
    bool shares_values;
    const hn_json *own;
    HN_TRY(hn_config_int(config, "head_dim", &hp->head_dim_swa, NULL));
    HN_TRY(hn_config_int(config, "global_head_dim", &full_dim, NULL));
    HN_TRY(hn_config_int(config, "num_global_key_value_heads", &full_kv, NULL));
    HN_TRY(hn_config_flag(config, "attention_k_eq_v", &shares_values));
    HN_TRY(hn_config_json(config, "per_layer_config", &own));
    if (hn_config_states(config, "per_layer_config")) { /* the two keys are for files without it */
        full_dim = 0;
        for (const hn_json *v = hn_json_first(own); v; v = v->next)
            HN_TRY(read_layer(config, v, hp, &full_dim));
        HN_TRY(check_layers_agree(own, hp, full_dim));
        full_dim = full_dim ? full_dim : hp->head_dim_swa;
    } else if (full_kv && shares_values) {
        for (int64_t i = 0; i < hp->n_layer; i++)
            if (!hp->is_sliding[i])
                hp->n_kv_head[i] = full_kv;
    }
    HN_HP_SET(hp, head_dim_swa, hp->head_dim_swa);
    HN_HP_SET(hp, value_dim_swa, hp->head_dim_swa);
    HN_HP_SET(hp, head_dim, full_dim);
    HN_HP_SET(hp, value_dim, full_dim);
    HN_HP_SET(hp, rope_dim, full_dim);
    HN_HP_SET(hp, rope_dim_swa, hp->head_dim_swa);
    return HN_OK;
}

/* Without rope_parameters they are the published ones. */
static void default_rope(hn_hparams *hp)
{
    HN_HP_SET(hp, rope_base, 1e6);
    HN_HP_SET(hp, rope_base_swa, 10000);
    hp->rope_scaling = HN_ROPE_PROPORTIONAL;
    hp->rope_partial = 0.25;
    hp->rope_factor = 1;
}

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    bool is_wide, shares_values, has_experts;
    const hn_json *rope;
    if (!hp->has_pattern)
        set_pattern(hp, 6);
    hp->is_sliding[hp->n_layer - 1] = false; /* whatever the file says */
    HN_TRY(read_heads(config, hp));
    HN_TRY(hn_gemma_read_caps(config, hp));
    HN_REQUIRE(hp->n_shared_kv < hp->n_layer, HN_ERR_FORMAT,
               "config.json: num_kv_shared_layers is %lld of %lld layers",
               (long long)hp->n_shared_kv, (long long)hp->n_layer);
    HN_REQUIRE(!hp->n_shared_kv || hp->ple_width, HN_ERR_UNSUPPORTED,
               "config.json: num_kv_shared_layers is %lld: Transformers has it with per-layer "
               "embeddings alone", (long long)hp->n_shared_kv);
    HN_TRY(hn_config_flag(config, "use_double_wide_mlp", &is_wide));
    for (int64_t i = hp->n_layer - hp->n_shared_kv; is_wide && i < hp->n_layer; i++)
        hp->ffn[i] *= 2;
    HN_TRY(hn_config_flag(config, "attention_k_eq_v", &shares_values));
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->is_key_value[i] = shares_values && !hp->is_sliding[i];
    HN_TRY(hn_config_flag(config, "enable_moe_block", &has_experts));
    if (!has_experts)
        hp->n_expert = hp->n_used = hp->expert_ffn = 0,
        hp->has[HN_HP_n_expert] = hp->has[HN_HP_n_used] = hp->has[HN_HP_expert_ffn] = false;
    else
        HN_REQUIRE(hp->n_expert && hp->n_used && hp->expert_ffn, HN_ERR_FORMAT,
                   "config.json: enable_moe_block: num_experts, top_k_experts or "
                   "moe_intermediate_size is missing");
    HN_TRY(hn_config_int(config, "vocab_size_per_layer_input", &hp->n_ple_vocab, NULL));
    HN_TRY(hn_config_json(config, "rope_parameters", &rope));
    if (!rope)
        default_rope(hp);
    return HN_OK;
}

static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    uint8_t pattern[HN_MAX_LAYERS];
    for (int64_t i = 0; i < hp->n_layer; i++)
        pattern[i] = hp->is_sliding[i];
    const hn_meta_value value = { .key = "gemma4.attention.sliding_window_pattern",
                                  .type = HN_META_BOOL, .is_array = true,
                                  .n = (uint64_t)hp->n_layer, .data = pattern,
                                  .bytes = (size_t)hp->n_layer };
    return hn_meta_set_copy(meta, &value);
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)meta;
    for (int i = 0; i < hp->n_layer; i++) { /* no key says it, only what is not there */
        char name[64];
        snprintf(name, sizeof name, "blk.%d.attn_v.weight", i);
        hp->is_key_value[i] = !hn_weights_find(all, name);
    }
    if (hp->rope_scaling != HN_ROPE_LINEAR && hp->rope_scaling != HN_ROPE_YARN)
        hp->rope_scaling = HN_ROPE_PROPORTIONAL;
    if (!hp->has_pattern)
        set_pattern(hp, 6);
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 1e6);
    HN_HP_DEFAULT(hp, rope_base_swa, 10000);
    HN_HP_DEFAULT(hp, window, 512);
    HN_HP_DEFAULT(hp, final_softcap, 30);
    HN_HP_SET(hp, value_dim, hp->head_dim);
    HN_HP_SET(hp, rope_dim, hp->head_dim);
    HN_HP_DEFAULT(hp, head_dim_swa, hp->head_dim / 2);
    HN_HP_SET(hp, value_dim_swa, hp->head_dim_swa);
    HN_HP_SET(hp, rope_dim_swa, hp->head_dim_swa);
    HN_HP_SET(hp, n_shared_kv, hp->n_shared_kv);
    HN_HP_SET(hp, ple_width, hp->ple_width);
    hp->rope_scaling = HN_ROPE_PROPORTIONAL;
    hp->rope_partial = 0.25;
    hp->is_tied = true;
    if (!hp->has_pattern)
        set_pattern(hp, 6);
    return HN_OK;
}

/* Of a full layer the first pairs turn, as many as rope_freqs.weight divides by one number; the
 * rest stand still. Where it holds anything else, they are divisors. */
static hn_rope_spec rope_spec(nn_build *b, hn_node **divisors)
{
    const hn_hparams *hp = b->hp;
    hn_rope_spec spec = nn_rope_spec(b);
    const nn_weight *freqs = nn_find(b, "rope_freqs.weight");
    *divisors = NULL;
    if (hp->is_sliding[b->layer] || !freqs)
        return spec;
    *divisors = nn_weight_of(b, "rope_factors_short.weight");
    if (*divisors)
        return spec;
    const hn_tensor t = hn_tensor_at(&freqs->type, (void *)(uintptr_t)freqs->data);
    const double first = hn_get(&t, 0);
    int64_t turning = 0, still = 0;
    const int64_t n = freqs->type.dim[0];
    while (turning < n && hn_get(&t, turning) == first)
        turning++;
    while (turning + still < n && hn_get(&t, turning + still) >= 1e29)
        still++;
    if (spec.scaling || turning + still < n || first >= 1e29) {
        *divisors = nn_weight_of(b, "rope_freqs.weight");
        return spec;
    }
    spec.scaling = HN_ROPE_PROPORTIONAL;
    spec.width = hn_layer_head_dim(hp, b->layer);
    spec.n_rot = 2 * turning;
    spec.factor = (float)first;
    return spec;
}

static int64_t window_of(const nn_build *b)
{
    return b->hp->is_sliding[b->layer] ? b->hp->window : 0;
}

static nn_keys make_keys(nn_build *b, hn_node *x)
{
    hn_graph *g = b->g;
    const hn_ints heads = { 3, { -1, b->hp->n_kv_head[b->layer], hn_layer_head_dim(b->hp, b->layer) } };
    hn_node *divisors;
    const hn_rope_spec spec = rope_spec(b, &divisors);
    hn_node *raw = hn_reshape(g, nn_linear(b, x, ".attn_k"), heads);
    const bool has_v = nn_find(b, nn_name(b, ".attn_v.weight", "")) != NULL;
    hn_node *v = has_v ? hn_reshape(g, nn_linear(b, x, ".attn_v"), heads) : raw;
    hn_node *k = nn_rms_norm_once(b, raw, ".attn_k_norm.weight");
    const nn_keys made = { nn_rope(b, k, divisors, &spec), nn_rms_norm_once(b, v, NULL), NULL };
    return nn_remember(b, made, window_of(b));
}

static hn_node *attention(nn_build *b, hn_node *x, nn_keys *made)
{
    hn_graph *g = b->g;
    const int64_t heads = b->hp->n_head[b->layer], width = hn_layer_head_dim(b->hp, b->layer);
    const int source = hn_gemma_source_layer(b->hp, b->layer);
    hn_node *divisors;
    const hn_rope_spec spec = rope_spec(b, &divisors);
    if (source == b->layer)
        made[b->layer] = make_keys(b, x);
    hn_node *q = hn_reshape(g, nn_linear(b, x, ".attn_q"), (hn_ints){ 3, { -1, heads, width } });
    q = nn_rope(b, nn_rms_norm_once(b, q, ".attn_q_norm.weight"), divisors, &spec);
    const nn_score_options scores = { .window = window_of(b), .scale = 1 };
    hn_node *y = nn_attend(b, q, made[source], &scores);
    y = hn_reshape(g, y, (hn_ints){ 2, { -1, heads * width } });
    return nn_linear(b, y, ".attn_output");
}

/* The experts run beside the dense branch, on the residual r before any norm of that branch. */
static hn_node *experts(nn_build *b, hn_node *r)
{
    hn_graph *g = b->g;
    const hn_hparams *hp = b->hp;
    hn_node *u = nn_mul(b, nn_rms_norm_once(b, r, NULL), nn_want(b, ".ffn_gate_inp.scale"));
    u = nn_scale(b, u, (float)(1 / sqrt((double)hp->width)));
    const nn_choose_options route = { .expert_scale = nn_want(b, ".ffn_down_exps.scale"),
                                     .renormalises = true };
    const nn_chosen chosen = nn_choose(b, nn_linear(b, u, ".ffn_gate_inp"), &route);
    hn_node *x = nn_rms_norm_once(b, r, ".pre_ffw_norm_2.weight");
    hn_node *both = nn_linear_id(b, x, ".ffn_gate_up_exps", chosen.ids);
    const int64_t n = hp->expert_ffn;
    hn_node *gate = hn_contiguous(g, hn_slice(g, both, 2, 0, n, 1));
    hn_node *up = hn_contiguous(g, hn_slice(g, both, 2, n, 2 * n, 1));
    hn_node *y = nn_linear_id(b, nn_gate(b, HN_ACT_GELU_TANH, gate, up), ".ffn_down_exps", chosen.ids);
    return nn_rms_norm_once(b, nn_combine(b, y, chosen), ".post_ffw_norm_2.weight");
}

static hn_node *feed_forward(nn_build *b, hn_node *r)
{
    hn_node *y = nn_geglu(b, nn_rms_norm_once(b, r, ".ffn_norm.weight"));
    if (b->hp->n_expert)
        y = nn_add(b, nn_rms_norm_once(b, y, ".post_ffw_norm_1.weight"), experts(b, r));
    return nn_add(b, r, nn_rms_norm_once(b, y, ".post_ffw_norm.weight"));
}

static hn_node *build(nn_build *b)
{
    hn_graph *g = b->g;
    const hn_hparams *hp = b->hp;
    nn_keys *made = hn_graph_alloc(g, (size_t)hp->n_layer * sizeof *made);
    hn_node *x = nn_scale(b, nn_embed(b), nn_constant(b, sqrt((double)hp->width)));
    hn_node *inputs = hp->ple_width ? hn_gemma_layer_inputs(b, x, (float)(1 / sqrt((double)hp->width)), (float)sqrt(0.5)) : NULL;
    for (b->layer = 0; made && b->layer < hp->n_layer; b->layer++) {
        x = nn_layer_begin(b, x);
        hn_node *h = attention(b, nn_rms_norm_once(b, x, ".attn_norm.weight"), made);
        x = nn_add(b, x, nn_rms_norm_once(b, h, ".post_attention_norm.weight"));
        x = feed_forward(b, x);
        if (inputs)
            x = nn_add(b, x, hn_gemma_layer_change(b, x, inputs));
        x = nn_mul(b, x, nn_want(b, ".layer_output_scale.weight"));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm_once(b, x, "output_norm.weight"), (float)hp->final_softcap, 0);
}

const hn_arch hn_arch_gemma4 = {
    .name = "gemma4", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .outer = outer_tables, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
