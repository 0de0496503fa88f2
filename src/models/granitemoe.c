/* granitemoe: granite with experts, whose gates and ups lie in one tensor, and, in some, one
 * shared expert. */
#include "models/granite.h"
#include "nn/blocks.h"

static const char *const classes[] = { "GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM",
                                       NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROW_DIVISORS,
    HN_ROW_LONGROPE,
    HN_ROWS_ATTENTION(HN_W_PERMUTE),
    { ".ffn_norm.weight",       ".post_attention_layernorm.weight",             "C",     0,           HN_ALWAYS },
    /* each as files have it, and as Transformers 5 holds it and PEFT names it */
    { ".ffn_gate_inp.weight",   ".block_sparse_moe.router.layer.weight",        "E,C",   HN_W_F32,    HN_ALWAYS },
    { ".ffn_gate_inp.weight",   ".block_sparse_moe.router.weight",              "E,C",   HN_W_F32,    HN_ALWAYS },
    { ".ffn_gate_exps.weight",  ".block_sparse_moe.input_linear.weight",        "E,X,C", HN_W_FIRST,  HN_ALWAYS },
    { ".ffn_gate_exps.weight",  ".block_sparse_moe.experts.gate_up_proj",       "E,X,C", HN_W_FIRST,  HN_ALWAYS },
    { ".ffn_up_exps.weight",    ".block_sparse_moe.input_linear.weight",        "E,X,C", HN_W_SECOND, HN_ALWAYS },
    { ".ffn_up_exps.weight",    ".block_sparse_moe.experts.gate_up_proj",       "E,X,C", HN_W_SECOND, HN_ALWAYS },
    { ".ffn_down_exps.weight",  ".block_sparse_moe.output_linear.weight",       "E,C,X", 0,           HN_ALWAYS },
    { ".ffn_down_exps.weight",  ".block_sparse_moe.experts.down_proj",          "E,C,X", 0,           HN_ALWAYS },
    { ".ffn_gate_shexp.weight", ".shared_mlp.input_linear.weight",              "S,C",   HN_W_FIRST,  HN_IF_SHARED },
    { ".ffn_up_shexp.weight",   ".shared_mlp.input_linear.weight",              "S,C",   HN_W_SECOND, HN_IF_SHARED },
    { ".ffn_down_shexp.weight", ".shared_mlp.output_linear.weight",             "C,S",   0,           HN_IF_SHARED },
    { 0 },
};
/* clang-format on */

/* clang-format off */
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE("GraniteMoeForCausalLM", "granitemoe"), HN_KEY_MODEL_TYPE("GraniteMoeShared", "granitemoeshared"),
    HN_KEYS_GRANITE,
    HN_KEY_ACTIVATION("hidden_act", "silu"),
    HN_ONLY("attention_bias", HN_IS_FLAG, "false", "GGUF's granitemoe has no biases", HN_ALL),
    HN_USED("num_local_experts", HN_IS_INT, n_expert, "8", HN_COUNT),
    HN_USED("num_experts_per_tok", HN_IS_INT, n_used, "2", HN_COUNT),
    HN_ASKED("shared_intermediate_size", HN_IS_INT, "0", .low = 0, .high = 2147483647),
    HN_NEEDLESS("output_router_logits", HN_IS_FLAG | HN_IS_NULL, "an output beside the logits", HN_ALL),
    HN_NEEDLESS("router_aux_loss_coef", HN_IS_REAL | HN_IS_NULL, "of a loss in training", HN_ALL),
    HN_NEEDLESS("attention_dropout", HN_IS_NUM | HN_IS_NULL, "of training alone", HN_ALL),
    { .to = HN_HP_expert_ffn }, { .to = HN_HP_shared_ffn },
    HN_GGUF_SAID("expert_weights_norm", HN_IS_FLAG, "true", "Granite's weights add up to 1"),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    hn_granite_widths(hp);
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    hp->expert_ffn = hp->ffn[0];
    HN_TRY(hn_config_int(config, "shared_intermediate_size", &hp->shared_ffn, NULL));
    hp->has[HN_HP_shared_ffn] = hp->shared_ffn > 0;
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    if (!hp->has[HN_HP_expert_ffn])
        hp->expert_ffn = hp->ffn[0];
    return hn_granite_read_meta("granitemoe", meta, hp);
}

static hn_status defaults(hn_hparams *hp)
{
    hp->expert_ffn = hp->ffn[0];
    hp->has[HN_HP_expert_ffn] = false;
    return hn_granite_defaults(hp);
}

/* Experts by the softmax of those chosen, and the shared one beside them. */
static hn_node *experts(nn_build *b, hn_node *x)
{
    enum { SOFTMAX_TOPK = 2 };
    hn_node *y = nn_experts_by(b, x, &(nn_choose_options){ .score = SOFTMAX_TOPK, .rounds_weights = true });
    if (!b->hp->shared_ffn)
        return y;
    hn_node *gate = nn_linear(b, x, ".ffn_gate_shexp");
    hn_node *up = nn_linear(b, x, ".ffn_up_shexp");
    return nn_add(b, y, nn_linear(b, nn_gate(b, HN_ACT_SILU, gate, up), ".ffn_down_shexp"));
}

static hn_node *build(nn_build *b) { return hn_granite_build(b, experts); }

const hn_arch hn_arch_granitemoe = {
    .name = "granitemoe", .classes = classes, .prefixes = hn_decoder_prefixes,
    .layers = "layers.", .ignored = hn_decoder_ignored, .weights = weights, .tables = tables,
    .read_config = read_config, .read_meta = read_meta, .write_meta = hn_granite_write_meta, .defaults = defaults,
    .build = build, .has_bf16 = true,
};
