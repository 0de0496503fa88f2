/* smollm3: llama without rope in every fourth layer. */
#include "models/models.h"
#include "nn/blocks.h"

static const char *const classes[] = { "SmolLM3ForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROW_DIVISORS,
    HN_ROW_LONGROPE,
    HN_ROWS_ATTENTION(HN_W_PERMUTE),
    HN_ROWS_ATTENTION_BIAS(HN_W_PERMUTE, HN_IF_ATTN_BIAS),
    { ".attn_output.bias", ".self_attn.o_proj.bias",          "C", 0, HN_IF_ATTN_BIAS },
    HN_ROWS_MLP_BIAS,
    { ".ffn_norm.weight", ".post_attention_layernorm.weight", "C", 0, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
    { 0 },
};
/* clang-format on */

/* clang-format off */
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE(NULL, "smollm3"),
    HN_KEYS_SHAPE(NULL, "128256", "2048", "11008", "36", "16", HN_OR_NONE, "4", "32768"),
    HN_KEY_HEAD_DIM(HN_IS_INT, NULL),
    HN_KEYS_RMS_EPS(NULL, "1e-6"),
    HN_KEYS_ROPE(NULL, "2000000"),
    HN_KEY_ACTIVATION("hidden_act", "silu"),
    HN_ASKED("attention_bias", HN_IS_FLAG, "false", HN_ALL),
    HN_ASKED("mlp_bias", HN_IS_FLAG, "false", HN_ALL),
    HN_ASKED("use_sliding_window", HN_IS_FLAG, "false", HN_ALL),
    HN_ASKED("sliding_window", HN_IS_INT | HN_IS_NULL, NULL, HN_ALL),
    HN_NEEDLESS("max_window_layers", HN_IS_INT, "layer_types say it", HN_ALL),
    HN_ASKED("layer_types", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    HN_ASKED("no_rope_layers", HN_IS_LIST | HN_IS_NULL, NULL, .low = 0, .high = 1),
    HN_ASKED("no_rope_layer_interval", HN_IS_INT, "4", HN_COUNT),
    HN_ASKED("tie_word_embeddings", HN_IS_FLAG, "true", HN_ALL),
    HN_ASKED("pad_token_id", HN_IS_INT | HN_IS_NULL, "128004", HN_ALL),
    { .gguf = "hone.smollm3.no_rope_layers", .is = HN_ITEMS(HN_IS_INT), .low = 0, .high = 1 },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

/* Layers without rope are those with the window, where nothing else is said. */
static hn_status read_window(const hn_config *config, hn_hparams *hp)
{
    bool slides, has_window;
    HN_TRY(hn_config_flag(config, "use_sliding_window", &slides));
    HN_TRY(hn_config_int(config, "sliding_window", &hp->window, &has_window));
    for (int64_t i = 0; !hp->has_pattern && i < hp->n_layer; i++)
        hp->is_sliding[i] = slides && has_window && hp->has_no_rope[i];
    return hn_window_settle(slides && has_window, hp);
}

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    int64_t interval;
    const hn_json *layers;
    HN_TRY(hn_config_json(config, "no_rope_layers", &layers));
    HN_TRY(hn_config_int(config, "no_rope_layer_interval", &interval, NULL));
    HN_REQUIRE(!layers || (int64_t)hn_json_count(layers) >= hp->n_layer, HN_ERR_FORMAT,
               "config.json: no_rope_layers: expected one for each of %lld layers",
               (long long)hp->n_layer);
    for (int64_t i = 0; i < hp->n_layer; i++) {
        int64_t has_rope = (i + 1) % interval != 0;
        if (layers)
            HN_TRY(hn_json_want_int(hn_json_at(layers, (size_t)i), "config.json: no_rope_layers",
                                    &has_rope));
        hp->has_no_rope[i] = !has_rope;
    }
    HN_TRY(read_window(config, hp));
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_HP_SET(hp, rope_dim, hp->has[HN_HP_head_dim] ? hp->head_dim : hp->width / hp->n_head[0]);
    return HN_OK;
}

static void set_rope(hn_hparams *hp)
{
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->has_no_rope[i] = (i + 1) % 4 == 0;
}

/* GGUF's smollm3 takes every fourth for granted. */
static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    bool is_usual = true;
    int64_t list[HN_MAX_LAYERS];
    for (int64_t i = 0; i < hp->n_layer; i++) {
        list[i] = hp->has_no_rope[i];
        is_usual = is_usual && list[i] == ((i + 1) % 4 == 0);
    }
    return is_usual ? HN_OK
                    : hn_meta_set_ints(meta, "hone.smollm3.no_rope_layers", HN_META_U8, list,
                                       (size_t)hp->n_layer);
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    const hn_meta_value *list;
    set_rope(hp);
    HN_TRY(hn_meta_array(meta, "hone.smollm3.no_rope_layers", HN_META_U8, &list));
    HN_REQUIRE(!list || list->n == (uint64_t)hp->n_layer, HN_ERR_FORMAT,
               "%s: key hone.smollm3.no_rope_layers: expected one for each of %lld layers",
               meta->name, (long long)hp->n_layer);
    for (uint64_t i = 0; list && i < list->n; i++)
        hp->has_no_rope[i] = list->data[i] != 0;
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 5e6);
    set_rope(hp);
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    return HN_OK;
}

static hn_node *build(nn_build *b)
{
    hn_node *x = nn_embed(b);
    for (b->layer = 0; b->layer < b->hp->n_layer; b->layer++) {
        const nn_attention_options attention = { .has_no_rope = b->hp->has_no_rope[b->layer],
                                                 .window = nn_window(b) };
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
    .layers = "layers.", .ignored = hn_decoder_ignored, .weights = weights, .tables = tables,
    .read_config = read_config, .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
