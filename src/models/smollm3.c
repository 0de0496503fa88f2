/* smollm3: llama without rope in every fourth layer. */
#include "models/models.h"
#include "nn/blocks.h"

static const char *const classes[] = { "SmolLM3ForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROW_DIVISORS,
    HN_ROWS_ATTENTION(HN_W_PERMUTE),
    { ".ffn_norm.weight", ".post_attention_layernorm.weight", "C", 0, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
    { 0 },
};
/* clang-format on */

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    const hn_json *layers = hn_config_find(config, "no_rope_layers");
    bool slides;
    for (int64_t i = 0; layers && i < hp->n_layer; i++) {
        int64_t has_rope;
        HN_TRY(hn_json_want_int(hn_json_at(layers, (size_t)i), "no_rope_layers", &has_rope));
        HN_REQUIRE(has_rope == ((i + 1) % 4 != 0), HN_ERR_UNSUPPORTED,
                   "config.json: no_rope_layers: only every fourth is supported");
    }
    HN_TRY(hn_config_flag(config, "use_sliding_window", false, &slides));
    HN_REQUIRE(!slides, HN_ERR_UNSUPPORTED,
               "config.json: use_sliding_window: not supported for smollm3");
    hp->has_pattern = false;
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_HP_SET(hp, rope_dim, hp->has[HN_HP_head_dim] ? hp->head_dim : hp->width / hp->n_head[0]);
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 5e6);
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    return HN_OK;
}

static hn_node *build(nn_build *b)
{
    hn_node *x = nn_embed(b), *divisors = nn_weight_of(b, "rope_freqs.weight");
    for (b->layer = 0; b->layer < b->hp->n_layer; b->layer++) {
        const nn_attention_options attention = { .has_no_rope = (b->layer + 1) % 4 == 0,
                                                 .divisors = divisors };
        x = nn_layer_begin(b, x);
        hn_node *h = nn_rms_norm(b, x, ".attn_norm.weight");
        x = nn_add(b, x, nn_attention(b, h, &attention));
        h = nn_rms_norm(b, x, ".ffn_norm.weight");
        x = nn_add(b, x, nn_swiglu(b, h));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm(b, x, "output_norm.weight"), 0, 0);
}

const hn_arch hn_arch_smollm3 = {
    .name = "smollm3", .classes = classes, .prefixes = hn_decoder_prefixes,
    .layers = "layers.", .ignored = hn_decoder_ignored, .weights = weights,
    .read_config = read_config, .defaults = defaults, .build = build, .has_bf16 = true,
};
