/* gpt-oss: biases and sinks in attention, a window in every second layer, yarn, and experts with
 * biases and a clamped gate. Its files interleave gate and up. */
#include "models/models.h"
#include "nn/blocks.h"

#include <float.h>

static const char *const classes[] = { "GptOssForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROW_DIVISORS,
    HN_ROW_LONGROPE,
    HN_ROWS_ATTENTION(0),
    HN_ROWS_ATTENTION_BIAS(0, HN_IF_ATTN_BIAS),
    { ".attn_output.bias",          ".self_attn.o_proj.bias",           "C",     0,        HN_IF_ATTN_BIAS },
    { ".attn_sinks.weight",         ".self_attn.sinks",                 "H",     HN_W_F32, HN_ALWAYS },
    { ".post_attention_norm.weight", ".post_attention_layernorm.weight", "C",    0,        HN_ALWAYS },
    { ".ffn_gate_inp.weight",       ".mlp.router.weight",               "E,C",   HN_W_F32, HN_ALWAYS },
    { ".ffn_gate_inp.bias",         ".mlp.router.bias",                 "E",     0,        HN_ALWAYS },
    { ".ffn_gate_exps.weight",      ".mlp.experts.gate_up_proj",        "E,X,C", HN_W_TRANSPOSE | HN_W_EVEN, HN_ALWAYS },
    { ".ffn_gate_exps.weight",      ".mlp.experts.gate_up_proj_blocks", "E,X,C", HN_W_MXFP4 | HN_W_EVEN, HN_ALWAYS },
    { ".ffn_up_exps.weight",        ".mlp.experts.gate_up_proj",        "E,X,C", HN_W_TRANSPOSE | HN_W_ODD, HN_ALWAYS },
    { ".ffn_up_exps.weight",        ".mlp.experts.gate_up_proj_blocks", "E,X,C", HN_W_MXFP4 | HN_W_ODD, HN_ALWAYS },
    { ".ffn_down_exps.weight",      ".mlp.experts.down_proj",           "E,C,X", HN_W_TRANSPOSE, HN_ALWAYS },
    { ".ffn_down_exps.weight",      ".mlp.experts.down_proj_blocks",    "E,C,X", HN_W_MXFP4, HN_ALWAYS },
    { ".ffn_gate_exps.bias",        ".mlp.experts.gate_up_proj_bias",   "E,X",   HN_W_VECTORS | HN_W_EVEN, HN_ALWAYS },
    { ".ffn_up_exps.bias",          ".mlp.experts.gate_up_proj_bias",   "E,X",   HN_W_VECTORS | HN_W_ODD, HN_ALWAYS },
    { ".ffn_down_exps.bias",        ".mlp.experts.down_proj_bias",      "E,C",   0, HN_ALWAYS },
    { 0 },
};
/* clang-format on */

/* Of the gate, where nothing is said. */
static const double LIMIT = 7.0, ALPHA = 1.702;

static void set_pattern(hn_hparams *hp)
{
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->is_sliding[i] = i % 2 == 0;
    hp->has_pattern = true;
}

/* clang-format off */
/* The weights of published files are in MXFP4, and say so. */
static const hn_key_row quantization[] = {
    HN_ONLY("quant_method", HN_IS_WORD, "mxfp4", "weights in another format are not supported", .otherwise = HN_MUST),
    HN_NEEDLESS("modules_to_not_convert", HN_IS_LIST | HN_IS_NULL, "the file says what each tensor is", HN_ALL),
    HN_NEEDLESS("dequantize", HN_IS_FLAG, "how a program computes, not what", HN_ALL),
    { 0 },
};
static const hn_key_row *const quantization_tables[] = { quantization, NULL };

static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE(NULL, "gpt_oss"),
    HN_KEYS_SHAPE(NULL, "201088", "2880", "2880", "36", "64", , "8", "131072"),
    HN_KEY_HEAD_DIM(HN_IS_INT, "64"),
    HN_KEYS_RMS_EPS(NULL, "1e-5"),
    HN_KEYS_ROPE(NULL, "150000"),
    HN_NEEDLESS("hidden_act", HN_IS_WORD, "its experts have a gate of their own", HN_ALL),
    HN_ASKED("attention_bias", HN_IS_FLAG, "true", HN_ALL),
    HN_ASKED("sliding_window", HN_IS_INT | HN_IS_NULL, "128", HN_COUNT),
    HN_ASKED("layer_types", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    HN_USED("num_local_experts|num_experts", HN_IS_INT, n_expert, "128", HN_COUNT),
    HN_USED("num_experts_per_tok|experts_per_token", HN_IS_INT, n_used, "4", HN_COUNT),
    HN_USED("swiglu_limit", HN_IS_REAL, swiglu_limit, "7.0", HN_ABOVE_0),
    HN_USED("swiglu_alpha", HN_IS_REAL, swiglu_alpha, "1.702", .low = -0x1p127, .high = 0x1p127),
    HN_ASKED("quantization_config", HN_IS_OBJECT | HN_IS_NULL, NULL, .within = quantization_tables),
    HN_NEEDLESS("initial_context_length", HN_IS_INT, "rope_parameters say it", HN_ALL),
    HN_KEYS_ROUTER_TRAINING,
    { .to = HN_HP_expert_ffn }, { .to = HN_HP_window }, HN_GGUF_PATTERN, HN_GGUF_ONE_ROPE,
    HN_GGUF_SAID("expert_gating_func", HN_IS_INT, "0|3", "gpt-oss takes the softmax of those it chose"),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

/* Without rope_parameters they are the published ones. */
static void default_rope(hn_hparams *hp)
{
    HN_HP_SET(hp, rope_factor, 32);
    HN_HP_SET(hp, rope_orig_ctx, 4096);
    HN_HP_SET(hp, yarn_beta_fast, 32);
    HN_HP_SET(hp, yarn_beta_slow, 1);
    hp->rope_scaling = HN_ROPE_YARN;
    hp->rope_is_stated = hp->rope_fractional = true;
}

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    const hn_json *rope, *older;
    HN_TRY(hn_config_int(config, "sliding_window", &hp->window, &hp->has[HN_HP_window]));
    HN_HP_SET(hp, expert_ffn, hp->ffn[0]);
    HN_TRY(hn_config_json(config, "rope_parameters", &rope));
    HN_TRY(hn_config_json(config, "rope_scaling", &older));
    if (!rope && !(older && hn_json_count(older)))
        default_rope(hp);
    /* said where they are not what GGUF's gpt-oss takes for granted */
    hp->has[HN_HP_swiglu_limit] = hp->swiglu_limit != LIMIT;
    hp->has[HN_HP_swiglu_alpha] = hp->swiglu_alpha != ALPHA;
    hp->has[HN_HP_rope_fractional] = !hp->rope_fractional;
    if (!hp->has_pattern)
        set_pattern(hp);
    for (int64_t i = 0; i < hp->n_layer; i++)
        HN_REQUIRE(hp->window || !hp->is_sliding[i], HN_ERR_FORMAT,
                   "config.json: sliding_window is null, and layer %lld slides", (long long)i);
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)meta, (void)all;
    if (!hp->has[HN_HP_rope_fractional])
        hp->rope_fractional = true;
    if (!hp->has[HN_HP_swiglu_limit])
        hp->swiglu_limit = LIMIT;
    if (!hp->has[HN_HP_swiglu_alpha])
        hp->swiglu_alpha = ALPHA;
    if (!hp->has_pattern)
        set_pattern(hp);
    return HN_OK;
}

static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    return hn_window_write_layers(hp, 2, meta);
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-5);
    HN_HP_DEFAULT(hp, rope_base, 150000);
    HN_HP_DEFAULT(hp, window, 128);
    HN_HP_DEFAULT(hp, rope_factor, 32);
    HN_HP_DEFAULT(hp, rope_orig_ctx, 4096);
    HN_HP_DEFAULT(hp, yarn_beta_fast, 32);
    HN_HP_DEFAULT(hp, yarn_beta_slow, 1);
    hp->rope_scaling = HN_ROPE_YARN;
    hp->rope_is_stated = hp->rope_fractional = true;
    hp->has_attn_bias = true;
    hp->swiglu_limit = LIMIT;
    hp->swiglu_alpha = ALPHA;
    HN_HP_DEFAULT(hp, expert_ffn, hp->ffn[0]);
    set_pattern(hp);
    return HN_OK;
}

/* (up + 1) * gate * sigmoid(alpha gate), both kept from growing. */
static hn_node *gated(nn_build *b, hn_node *gate, hn_node *up)
{
    hn_graph *g = b->g;
    const float limit = (float)b->hp->swiglu_limit, alpha = (float)b->hp->swiglu_alpha;
    gate = hn_clamp(g, gate, -FLT_MAX, limit);
    up = hn_clamp(g, up, -limit, limit);
    hn_node *open = nn_round(b, hn_sigmoid(g, nn_scale(b, gate, alpha)));
    return nn_mul(b, nn_round(b, hn_scale(g, up, 1, 1)), nn_mul(b, gate, open));
}

static hn_node *experts(nn_build *b, hn_node *x)
{
    const nn_choose_options route = { .score = HN_ROUTER_SOFTMAX_TOPK, .rounds_weights = true };
    const nn_chosen chosen = nn_choose(b, nn_linear(b, x, ".ffn_gate_inp"), &route);
    hn_node *gate = nn_linear_id(b, x, ".ffn_gate_exps", chosen.ids);
    hn_node *up = nn_linear_id(b, x, ".ffn_up_exps", chosen.ids);
    hn_node *y = nn_linear_id(b, gated(b, gate, up), ".ffn_down_exps", chosen.ids);
    return nn_combine(b, y, chosen);
}

static hn_node *build(nn_build *b)
{
    const hn_hparams *hp = b->hp;
    hn_node *x = nn_embed(b);
    for (b->layer = 0; b->layer < hp->n_layer; b->layer++) {
        x = nn_layer_begin(b, x);
        const nn_attention_options attention = { .window = hp->is_sliding[b->layer] ? hp->window
                                                                                    : 0 };
        x = nn_add(b, x, nn_attention(b, nn_rms_norm_once(b, x, ".attn_norm.weight"), &attention));
        x = nn_add(b, x, experts(b, nn_rms_norm_once(b, x, ".post_attention_norm.weight")));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm_once(b, x, "output_norm.weight"), 0, 0);
}

const hn_arch hn_arch_gpt_oss = {
    .name = "gpt-oss", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
