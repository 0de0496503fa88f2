/* granite: llama with four multipliers: embedding, attention, residual, logits. */
#include "models/granite.h"
#include "nn/blocks.h"

#include <stdio.h>

static const char *const classes[] = { "GraniteForCausalLM", NULL };

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
    HN_KEY_MODEL_TYPE(NULL, "granite"),
    HN_KEYS_GRANITE,
    HN_KEY_ACTIVATION("hidden_act", "silu"),
    HN_ASKED("attention_bias", HN_IS_FLAG, "false", HN_ALL),
    HN_ASKED("mlp_bias", HN_IS_FLAG, "false", HN_ALL),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    (void)config;
    hn_granite_widths(hp);
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    return HN_OK;
}

/* GGUF has no key for the width of a head where it is the usual one. */
void hn_granite_widths(hn_hparams *hp)
{
    const int64_t usual = hp->width / hp->n_head[0];
    if (!hp->has[HN_HP_head_dim] || hp->head_dim == usual)
        hp->has[HN_HP_head_dim] = hp->has[HN_HP_value_dim] = false;
    HN_HP_SET(hp, rope_dim, hp->has[HN_HP_head_dim] ? hp->head_dim : usual);
}

hn_status hn_granite_read_meta(const char *arch, const hn_meta *meta, hn_hparams *hp)
{
    char key[80];
    bool has_rope;
    if (hp->embd_scale == 0)
        hp->embd_scale = 1;
    if (hp->residual_scale == 0)
        hp->residual_scale = 1;
    snprintf(key, sizeof key, "%s.rope.scaling.finetuned", arch);
    HN_TRY(hn_meta_bool(meta, key, true, &has_rope));
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->has_no_rope[i] = !has_rope;
    return HN_OK;
}

hn_status hn_granite_write_meta(const hn_hparams *hp, hn_meta *meta)
{
    HN_REQUIRE(hp->embd_scale != 0 && hp->residual_scale != 0, HN_ERR_UNSUPPORTED,
               "%s: a multiplier of 0 is none in GGUF", meta->name);
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    return hn_granite_read_meta("granite", meta, hp);
}

hn_status hn_granite_defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-5);
    HN_HP_DEFAULT(hp, rope_base, 10000);
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_HP_DEFAULT(hp, attn_scale, 1.0 / (double)hp->head_dim);
    HN_HP_DEFAULT(hp, embd_scale, 12);
    HN_HP_DEFAULT(hp, residual_scale, 0.22);
    HN_HP_DEFAULT(hp, logit_scale, 8);
    return HN_OK;
}

/* The multipliers: of the embedding, of the scores, of each branch, and under the logits. */
hn_node *hn_granite_build(nn_build *b, hn_granite_mlp *mlp)
{
    const hn_hparams *hp = b->hp;
    const float residual = (float)hp->residual_scale;
    hn_node *x = nn_scale(b, nn_embed(b), (float)hp->embd_scale);
    for (b->layer = 0; b->layer < hp->n_layer; b->layer++) {
        const nn_attention_options attention = { .scale = (float)hp->attn_scale,
                                                 .has_no_rope = hp->has_no_rope[b->layer] };
        x = nn_layer_begin(b, x);
        hn_node *h = nn_rms_norm(b, x, ".attn_norm.weight");
        x = nn_add(b, x, nn_scale(b, nn_attention(b, h, &attention), residual));
        h = nn_rms_norm(b, x, ".ffn_norm.weight");
        x = nn_add(b, x, nn_scale(b, mlp(b, h), residual));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm(b, x, "output_norm.weight"), 0, (float)hp->logit_scale);
}

static hn_node *build(nn_build *b) { return hn_granite_build(b, nn_swiglu); }

const hn_arch hn_arch_granite = {
    .name = "granite", .classes = classes, .prefixes = hn_decoder_prefixes,
    .layers = "layers.", .ignored = hn_decoder_ignored, .weights = weights, .tables = tables,
    .read_config = read_config, .read_meta = read_meta, .write_meta = hn_granite_write_meta,
    .defaults = hn_granite_defaults,
    .build = build, .has_bf16 = true,
};
