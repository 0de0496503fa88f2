/* gpt2: learned positions, layer norms with biases, one fused projection for q, k and v. Its
 * files hold matrices as [in, out]. */
#include "models/models.h"
#include "nn/blocks.h"

#include <math.h>

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
    { "output.weight",        "lm_head.weight",      "V,C",   HN_W_PAD,       HN_IF_UNTIED },
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
    HN_NEEDLESS("n_ctx", HN_IS_ANY, "GPT2Config reads n_positions", HN_ALL),
    HN_USED("n_inner", HN_IS_INT | HN_IS_NULL, ffn, NULL, HN_COUNT),
    HN_USED("layer_norm_epsilon", HN_IS_REAL, norm_eps, "1e-5", HN_ABOVE_0),
    HN_KEY_ACTIVATION("activation_function", "gelu_new"),
    HN_ONLY("scale_attn_weights", HN_IS_FLAG, "true", "GGUF's gpt2 always scales", HN_ALL),
    HN_ONLY("scale_attn_by_inverse_layer_idx", HN_IS_FLAG, "false", "GGUF's gpt2 cannot", HN_ALL),
    HN_NEEDLESS("reorder_and_upcast_attn", HN_IS_FLAG, "how a program computes, not what", HN_ALL),
    HN_NEEDLESS("attn_pdrop|embd_pdrop|resid_pdrop", HN_IS_NUM, "of training alone", .low = 0, .high = 1),
    HN_NEEDLESS("summary_type", HN_IS_WORD, "of classes with another head", HN_ALL),
    HN_NEEDLESS("summary_use_proj|summary_proj_to_labels", HN_IS_FLAG, "of classes with another head", HN_ALL),
    HN_NEEDLESS("summary_activation", HN_IS_WORD | HN_IS_NULL, "of classes with another head", HN_ALL),
    HN_NEEDLESS("summary_first_dropout", HN_IS_NUM, "of classes with another head", HN_ALL),
    HN_ASKED("tie_word_embeddings", HN_IS_FLAG, "true", HN_ALL),
    { .gguf = "rope.*", .is = HN_IS_ANY, .note = "positions are learned" },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    (void)config;
    hp->has_table = true;
    if (!hp->has[HN_HP_ffn])
        hn_hparams_fill(hp, HN_HP_ffn, 4 * hp->width);
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)meta;
    (void)all;
    hp->has_table = true;
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, norm_eps, 1e-5);
    if (!hp->has[HN_HP_ffn])
        hn_hparams_fill(hp, HN_HP_ffn, 4 * hp->width);
    hp->has[HN_HP_head_dim] = hp->has[HN_HP_value_dim] = hp->has[HN_HP_n_kv_head] = false;
    hp->is_tied = hp->has_table = true;
    return HN_OK;
}

/* Queries, keys and values lie one after the other in what one product gives. */
static hn_node *part(nn_build *b, hn_node *qkv, int64_t i)
{
    const int64_t heads = b->hp->n_head[b->layer], width = b->hp->width;
    hn_node *own = hn_contiguous(b->g, hn_slice(b->g, qkv, 1, i * width, (i + 1) * width, 1));
    return hn_reshape(b->g, own, (hn_ints){ 3, { -1, heads, width / heads } });
}

static hn_node *attention(nn_build *b, hn_node *x)
{
    hn_node *qkv = nn_linear(b, x, ".attn_qkv");
    const nn_keys seen = nn_remember(b, (nn_keys){ part(b, qkv, 1), part(b, qkv, 2), NULL }, 0);
    const nn_score_options scores = { .window = 0 };
    hn_node *y = nn_attend(b, part(b, qkv, 0), seen, &scores);
    return nn_linear(b, hn_reshape(b->g, y, (hn_ints){ 2, { -1, b->hp->width } }), ".attn_output");
}

/* NewGELUActivation writes tanh-GELU out: in bf16 each of its steps is stored. */
static hn_node *activate(nn_build *b, hn_node *x)
{
    if (b->o.numerics != HN_NUMERICS_BF16 || b->hp->activation)
        return nn_activate(b, HN_ACT_GELU_TANH, x);
    hn_node *cube = nn_scale(b, nn_mul(b, nn_mul(b, x, x), x), 0.044715f);
    hn_node *inner = nn_scale(b, nn_add(b, x, cube), (float)sqrt(2 / 3.14159265358979323846));
    hn_node *above = nn_round(b, hn_scale(b->g, nn_round(b, hn_tanh(b->g, inner)), 1, 1));
    return nn_mul(b, nn_scale(b, x, 0.5f), above);
}

static hn_node *build(nn_build *b)
{
    hn_node *places = hn_gather(b->g, nn_want(b, "position_embd.weight"), b->positions);
    hn_node *x = nn_add(b, nn_embed(b), hn_cast(b->g, places, HN_F32));
    for (b->layer = 0; b->layer < b->hp->n_layer; b->layer++) {
        x = nn_layer_begin(b, x);
        x = nn_add(b, x, attention(b, nn_layer_norm(b, x, ".attn_norm")));
        hn_node *h = nn_linear(b, nn_layer_norm(b, x, ".ffn_norm"), ".ffn_up");
        x = nn_add(b, x, nn_linear(b, activate(b, h), ".ffn_down"));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_layer_norm(b, x, "output_norm"), 0, 0);
}

const hn_arch hn_arch_gpt2 = {
    .name = "gpt2", .classes = classes, .prefixes = prefixes, .layers = "h.",
    .ignored = ignored, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
