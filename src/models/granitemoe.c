/* granitemoe: granite with experts, whose gates and ups lie in one tensor, and, in some, one
 * shared expert. */
#include "models/granite.h"

static const char *const classes[] = { "GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM",
                                       NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROW_DIVISORS,
    HN_ROWS_ATTENTION(HN_W_PERMUTE),
    { ".ffn_norm.weight",       ".post_attention_layernorm.weight",             "C",     0,           HN_ALWAYS },
    { ".ffn_gate_inp.weight",   ".block_sparse_moe.router.layer.weight",        "E,C",   HN_W_F32,    HN_ALWAYS },
    { ".ffn_gate_exps.weight",  ".block_sparse_moe.input_linear.weight",        "E,X,C", HN_W_FIRST,  HN_ALWAYS },
    { ".ffn_up_exps.weight",    ".block_sparse_moe.input_linear.weight",        "E,X,C", HN_W_SECOND, HN_ALWAYS },
    { ".ffn_down_exps.weight",  ".block_sparse_moe.output_linear.weight",       "E,C,X", 0,           HN_ALWAYS },
    { ".ffn_gate_shexp.weight", ".shared_mlp.input_linear.weight",              "S,C",   HN_W_FIRST,  HN_IF_SHARED },
    { ".ffn_up_shexp.weight",   ".shared_mlp.input_linear.weight",              "S,C",   HN_W_SECOND, HN_IF_SHARED },
    { ".ffn_down_shexp.weight", ".shared_mlp.output_linear.weight",             "C,S",   0,           HN_IF_SHARED },
    { 0 },
};
/* clang-format on */

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    HN_TRY(hn_granite_multipliers(config, hp));
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_HP_SET(hp, rope_dim, hp->width / hp->n_head[0]);
    hp->has[HN_HP_head_dim] = hp->has[HN_HP_value_dim] = false;
    hp->expert_ffn = hp->ffn[0];
    HN_TRY(hn_config_int(config, "shared_intermediate_size", 0, &hp->shared_ffn));
    hp->has[HN_HP_shared_ffn] = hp->shared_ffn > 0;
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)meta, (void)all;
    if (!hp->has[HN_HP_expert_ffn])
        hp->expert_ffn = hp->ffn[0];
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    hp->expert_ffn = hp->ffn[0];
    hp->has[HN_HP_expert_ffn] = false;
    return hn_granite_defaults(hp);
}

const hn_arch hn_arch_granitemoe = {
    .name = "granitemoe", .classes = classes, .prefixes = hn_decoder_prefixes,
    .layers = "layers.", .ignored = hn_decoder_ignored, .weights = weights,
    .read_config = read_config, .read_meta = read_meta, .defaults = defaults,
};
