/* granite: llama with four multipliers: embedding, attention, residual, logits. */
#include "models/granite.h"
#include "nn/blocks.h"

#include <stddef.h>

static const char *const classes[] = { "GraniteForCausalLM", NULL };

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
    HN_TRY(hn_granite_multipliers(config, hp));
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_HP_SET(hp, rope_dim, hp->width / hp->n_head[0]);
    hp->has[HN_HP_head_dim] = hp->has[HN_HP_value_dim] = false;
    return HN_OK;
}

hn_status hn_granite_multipliers(const hn_json *config, hn_hparams *hp)
{
    static const struct {
        const char *name;
        hn_hp which;
        size_t at;
    } known[] = {
        { "attention_multiplier", HN_HP_attn_scale, offsetof(hn_hparams, attn_scale) },
        { "embedding_multiplier", HN_HP_embd_scale, offsetof(hn_hparams, embd_scale) },
        { "residual_multiplier", HN_HP_residual_scale, offsetof(hn_hparams, residual_scale) },
        { "logits_scaling", HN_HP_logit_scale, offsetof(hn_hparams, logit_scale) },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double value;
        HN_TRY(hn_config_num(config, known[i].name, 1, &value));
        *(double *)(void *)((char *)hp + known[i].at) = value;
        hp->has[known[i].which] = true;
    }
    return HN_OK;
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
static hn_node *build(nn_build *b)
{
    const hn_hparams *hp = b->hp;
    const float residual = (float)hp->residual_scale;
    hn_node *x = nn_scale(b, nn_embed(b), (float)hp->embd_scale);
    hn_node *divisors = nn_weight_of(b, "rope_freqs.weight");
    for (b->layer = 0; b->layer < hp->n_layer; b->layer++) {
        const nn_attention_options attention = { .scale = (float)hp->attn_scale,
                                                 .divisors = divisors };
        x = nn_layer_begin(b, x);
        hn_node *h = nn_rms_norm(b, x, ".attn_norm.weight");
        x = nn_add(b, x, nn_scale(b, nn_attention(b, h, &attention), residual));
        h = nn_rms_norm(b, x, ".ffn_norm.weight");
        x = nn_add(b, x, nn_scale(b, nn_swiglu(b, h), residual));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm(b, x, "output_norm.weight"), 0, (float)hp->logit_scale);
}

const hn_arch hn_arch_granite = {
    .name = "granite", .classes = classes, .prefixes = hn_decoder_prefixes,
    .layers = "layers.", .ignored = hn_decoder_ignored, .weights = weights,
    .read_config = read_config, .defaults = hn_granite_defaults,
    .build = build, .has_bf16 = true,
};
