/* llama: LLaMA 1-3, Mistral, Mixtral, SmolLM2, TinyLlama: pre-norm, rope, SwiGLU or experts. */
#include "models/models.h"
#include "nn/blocks.h"

static const char *const classes[] = { "LlamaForCausalLM", "LLaMAForCausalLM",
                                       "MistralForCausalLM", "MixtralForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROW_DIVISORS,
    HN_ROWS_ATTENTION(HN_W_PERMUTE),
    HN_ROWS_ATTENTION_BIAS(HN_W_PERMUTE, HN_IF_FOUND),
    { ".attn_output.bias",   ".self_attn.o_proj.bias",           "C", 0, HN_IF_FOUND },
    { ".ffn_norm.weight",    ".post_attention_layernorm.weight", "C", 0, HN_ALWAYS },
    HN_ROWS_MLP(HN_IF_DENSE),
    { ".ffn_gate.bias",      ".mlp.gate_proj.bias",              "F", 0, HN_IF_FOUND },
    { ".ffn_up.bias",        ".mlp.up_proj.bias",                "F", 0, HN_IF_FOUND },
    { ".ffn_down.bias",      ".mlp.down_proj.bias",              "C", 0, HN_IF_FOUND },
    { ".ffn_gate_inp.weight",  ".block_sparse_moe.gate.weight",         "E,C",   HN_W_F32,   HN_IF_MOE },
    { ".ffn_gate_exps.weight", ".block_sparse_moe.experts.#.w1.weight", "E,X,C", HN_W_STACK, HN_IF_MOE },
    { ".ffn_up_exps.weight",   ".block_sparse_moe.experts.#.w3.weight", "E,X,C", HN_W_STACK, HN_IF_MOE },
    { ".ffn_down_exps.weight", ".block_sparse_moe.experts.#.w2.weight", "E,C,X", HN_W_STACK, HN_IF_MOE },
    /* Mixtral as Transformers 5 writes it */
    HN_ROWS_EXPERTS,
    { 0 },
};
/* clang-format on */

static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_HP_SET(hp, rope_dim, hp->has[HN_HP_head_dim] ? hp->head_dim : hp->width / hp->n_head[0]);
    hp->expert_ffn = hp->ffn[0]; /* Mixtral's experts: not a key of its own */
    return hn_config_int(config, "sliding_window", 0, &hp->window);
}

/* What GGUF's llama has no word for, and Transformers computes: Mistral 0.1's window. */
static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    return hp->window ? hn_meta_set_int(meta, "hone.llama.sliding_window", HN_META_U32,
                                        hp->window)
                      : HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)all;
    if (!hp->has[HN_HP_expert_ffn])
        hp->expert_ffn = hp->ffn[0];
    return hn_meta_int(meta, "hone.llama.sliding_window", 0, &hp->window);
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-5);
    HN_HP_DEFAULT(hp, rope_base, 10000);
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    if (hp->n_expert)
        hp->expert_ffn = hp->ffn[0];
    return HN_OK;
}

static hn_node *build(nn_build *b)
{
    hn_node *x = nn_embed(b), *divisors = nn_weight_of(b, "rope_freqs.weight");
    for (b->layer = 0; b->layer < b->hp->n_layer; b->layer++) {
        const nn_attention_options attention = { .window = b->hp->window, .divisors = divisors };
        x = nn_layer_begin(b, x);
        hn_node *h = nn_rms_norm(b, x, ".attn_norm.weight");
        x = nn_add(b, x, nn_attention(b, h, &attention));
        h = nn_rms_norm(b, x, ".ffn_norm.weight");
        x = nn_add(b, x, b->hp->n_expert ? nn_experts(b, h, true, false) : nn_swiglu(b, h));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm(b, x, "output_norm.weight"), 0, 0);
}

const hn_arch hn_arch_llama = {
    .name = "llama", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
