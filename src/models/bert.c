/* bert: post-norm, both directions, learned positions and segments; it embeds, and is not
 * trained. */
#include "models/models.h"
#include "nn/blocks.h"

static const char *const classes[] = { "BertModel", "BertForMaskedLM", NULL };
static const char *const prefixes[] = { "", "bert.", NULL };
static const char *const ignored[] = { "*position_ids", "*pooler.dense.*", "cls.*", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    { "token_embd.weight",        "@embeddings.word_embeddings.weight",       "V,C", HN_W_PAD, HN_ALWAYS },
    { "position_embd.weight",     "@embeddings.position_embeddings.weight",   "T,C", HN_W_F32, HN_ALWAYS },
    { "token_types.weight",       "@embeddings.token_type_embeddings.weight", "W,C", HN_W_F32, HN_ALWAYS },
    { "token_embd_norm.weight",   "@embeddings.LayerNorm.weight",             "C",   0, HN_ALWAYS },
    { "token_embd_norm.bias",     "@embeddings.LayerNorm.bias",               "C",   0, HN_ALWAYS },
    { ".attn_q.weight",           ".attention.self.query.weight",             "C,C", 0, HN_ALWAYS },
    { ".attn_q.bias",             ".attention.self.query.bias",               "C",   0, HN_ALWAYS },
    { ".attn_k.weight",           ".attention.self.key.weight",               "C,C", 0, HN_ALWAYS },
    { ".attn_k.bias",             ".attention.self.key.bias",                 "C",   0, HN_ALWAYS },
    { ".attn_v.weight",           ".attention.self.value.weight",             "C,C", 0, HN_ALWAYS },
    { ".attn_v.bias",             ".attention.self.value.bias",               "C",   0, HN_ALWAYS },
    { ".attn_output.weight",      ".attention.output.dense.weight",           "C,C", 0, HN_ALWAYS },
    { ".attn_output.bias",        ".attention.output.dense.bias",             "C",   0, HN_ALWAYS },
    { ".attn_output_norm.weight", ".attention.output.LayerNorm.weight",       "C",   0, HN_ALWAYS },
    { ".attn_output_norm.bias",   ".attention.output.LayerNorm.bias",         "C",   0, HN_ALWAYS },
    { ".ffn_up.weight",           ".intermediate.dense.weight",               "F,C", 0, HN_ALWAYS },
    { ".ffn_up.bias",             ".intermediate.dense.bias",                 "F",   0, HN_ALWAYS },
    { ".ffn_down.weight",         ".output.dense.weight",                     "C,F", 0, HN_ALWAYS },
    { ".ffn_down.bias",           ".output.dense.bias",                       "C",   0, HN_ALWAYS },
    { ".layer_output_norm.weight", ".output.LayerNorm.weight",                "C",   0, HN_ALWAYS },
    { ".layer_output_norm.bias",  ".output.LayerNorm.bias",                   "C",   0, HN_ALWAYS },
    { 0 },
};
/* clang-format on */

/* clang-format off */
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE(NULL, "bert"),
    HN_ASKED("vocab_size", HN_IS_INT, "30522", HN_COUNT),
    HN_USED("hidden_size", HN_IS_INT, width, "768", HN_COUNT),
    HN_USED("num_hidden_layers", HN_IS_INT, n_layer, "12", HN_COUNT),
    HN_USED("num_attention_heads", HN_IS_INT, n_head, "12", HN_COUNT),
    HN_USED("intermediate_size", HN_IS_INT, ffn, "3072", HN_COUNT),
    HN_USED("max_position_embeddings", HN_IS_INT, n_ctx, "512", HN_COUNT),
    HN_USED("layer_norm_eps", HN_IS_REAL, norm_eps, "1e-12", HN_ABOVE_0),
    HN_ASKED("type_vocab_size", HN_IS_INT, "2", HN_COUNT),
    HN_KEY_ACTIVATION("hidden_act", "gelu"),
    HN_ONLY("position_embedding_type", HN_IS_WORD, "absolute", "positions are learned", HN_ALL),
    HN_ASKED("is_decoder", HN_IS_FLAG, "false", HN_ALL),
    HN_NEEDLESS("tie_word_embeddings", HN_IS_FLAG, "hidden states are given, and no logits", .otherwise = "true"),
    HN_NEEDLESS("hidden_dropout_prob|attention_probs_dropout_prob", HN_IS_NUM, "of training alone", .low = 0, .high = 1),
    HN_NEEDLESS("classifier_dropout", HN_IS_NUM | HN_IS_NULL, "of classes with another head", HN_ALL),
    HN_NEEDLESS("pooler_fc_size|pooler_num_attention_heads|pooler_num_fc_layers|"
                "pooler_size_per_head|pooler_type|directionality|embedding_size", HN_IS_ANY, "of classes with another head", HN_ALL),
    { .to = HN_HP_is_causal, .absent = "1" },
    { .gguf = "rope.*", .is = HN_IS_ANY, .note = "positions are learned" },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    bool is_decoder;
    HN_TRY(hn_config_int(config, "type_vocab_size", &hp->n_token_type, NULL));
    HN_TRY(hn_config_flag(config, "is_decoder", &is_decoder));
    HN_HP_SET(hp, is_causal, is_decoder);
    hp->is_tied = true;
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    hp->is_tied = true;
    return hn_meta_int(meta, "tokenizer.ggml.token_type_count", 2, &hp->n_token_type);
}

static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    return hn_meta_set_int(meta, "tokenizer.ggml.token_type_count", HN_META_U32,
                           hp->n_token_type);
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, norm_eps, 1e-12);
    HN_HP_DEFAULT(hp, is_causal, false);
    HN_HP_DEFAULT(hp, pooling, 1);
    hp->n_token_type = 2;
    hp->has[HN_HP_head_dim] = hp->has[HN_HP_value_dim] = hp->has[HN_HP_n_kv_head] = false;
    hp->is_tied = true;
    return HN_OK;
}

static hn_node *attention(nn_build *b, hn_node *x)
{
    hn_graph *g = b->g;
    const int64_t heads = b->hp->n_head[b->layer], width = b->hp->width / heads;
    const hn_ints split = { 3, { -1, heads, width } };
    hn_node *q = hn_reshape(g, nn_linear(b, x, ".attn_q"), split);
    hn_node *k = hn_reshape(g, nn_linear(b, x, ".attn_k"), split);
    hn_node *v = hn_reshape(g, nn_linear(b, x, ".attn_v"), split);
    hn_node *y = hn_attention(g, q, k, v, NULL, b->segments, b->hp->is_causal, 0, 0, 0);
    return nn_linear(b, hn_reshape(g, y, (hn_ints){ 2, { -1, b->hp->width } }), ".attn_output");
}

/* Hidden states [T, C]: what is embedded, and no logits. All tokens are of the first segment. */
static hn_node *build(nn_build *b)
{
    hn_graph *g = b->g;
    hn_node *kinds = nn_want(b, "token_types.weight");
    hn_node *first = hn_reshape(g, hn_contiguous(g, hn_slice(g, kinds, 0, 0, 1, 1)),
                                (hn_ints){ 1, { b->hp->width } });
    hn_node *x = hn_add(g, nn_embed(b), first);
    x = hn_add(g, x, hn_gather(g, nn_want(b, "position_embd.weight"), b->positions));
    x = nn_layer_norm(b, x, "token_embd_norm");
    for (b->layer = 0; b->layer < b->hp->n_layer; b->layer++) {
        x = nn_layer_norm(b, hn_add(g, attention(b, x), x), ".attn_output_norm");
        hn_node *h = nn_activate(b, HN_ACT_GELU, nn_linear(b, x, ".ffn_up"));
        x = nn_layer_norm(b, hn_add(g, nn_linear(b, h, ".ffn_down"), x), ".layer_output_norm");
    }
    return x;
}

const hn_arch hn_arch_bert = {
    .name = "bert", .classes = classes, .prefixes = prefixes, .layers = "encoder.layer.",
    .ignored = ignored, .weights = weights, .tables = tables, .read_config = read_config, .read_meta = read_meta,
    .write_meta = write_meta, .defaults = defaults, .build = build, .embeds_only = true,
};
