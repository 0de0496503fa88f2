/* bert: post-norm, both directions, learned positions and segments; it embeds, and is not
 * trained. */
#include "models/models.h"

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

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    HN_TRY(hn_config_int(config, "type_vocab_size", 2, &hp->n_token_type));
    HN_HP_SET(hp, is_causal, false);
    if (!hp->has[HN_HP_norm_eps])
        HN_HP_SET(hp, norm_eps, 1e-12);
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
    HN_HP_SET(hp, norm_eps, 1e-12);
    HN_HP_SET(hp, is_causal, false);
    HN_HP_SET(hp, pooling, 1);
    hp->n_token_type = 2;
    hp->has[HN_HP_head_dim] = hp->has[HN_HP_value_dim] = hp->has[HN_HP_n_kv_head] = false;
    hp->is_tied = true;
    return HN_OK;
}

const hn_arch hn_arch_bert = {
    .name = "bert", .classes = classes, .prefixes = prefixes, .layers = "encoder.layer.",
    .ignored = ignored, .weights = weights, .read_config = read_config, .read_meta = read_meta,
    .write_meta = write_meta, .defaults = defaults,
};
