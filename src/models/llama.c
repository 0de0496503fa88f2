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
    HN_ROW_LONGROPE,
    HN_ROWS_ATTENTION_BIAS(HN_W_PERMUTE, HN_IF_ATTN_BIAS),
    { ".attn_output.bias",   ".self_attn.o_proj.bias",           "C", 0, HN_IF_ATTN_BIAS },
    { ".ffn_norm.weight",    ".post_attention_layernorm.weight", "C", 0, HN_ALWAYS },
    HN_ROWS_MLP(HN_IF_DENSE),
    { ".ffn_gate.bias",      ".mlp.gate_proj.bias",              "F", 0, HN_IF_MLP_BIAS },
    { ".ffn_up.bias",        ".mlp.up_proj.bias",                "F", 0, HN_IF_MLP_BIAS },
    { ".ffn_down.bias",      ".mlp.down_proj.bias",              "C", 0, HN_IF_MLP_BIAS },
    { ".ffn_gate_inp.weight",  ".block_sparse_moe.gate.weight",         "E,C",   HN_W_F32,   HN_IF_MOE },
    { ".ffn_gate_exps.weight", ".block_sparse_moe.experts.#.w1.weight", "E,X,C", HN_W_STACK, HN_IF_MOE },
    { ".ffn_up_exps.weight",   ".block_sparse_moe.experts.#.w3.weight", "E,X,C", HN_W_STACK, HN_IF_MOE },
    { ".ffn_down_exps.weight", ".block_sparse_moe.experts.#.w2.weight", "E,C,X", HN_W_STACK, HN_IF_MOE },
    /* Mixtral as Transformers 5 writes it */
    HN_ROWS_EXPERTS,
    { 0 },
};
/* clang-format on */

/* clang-format off */
#define LLAMA "Llama|LLaMA"
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE(LLAMA, "llama"), HN_KEY_MODEL_TYPE("Mistral", "mistral"), HN_KEY_MODEL_TYPE("Mixtral", "mixtral"),
    HN_KEYS_SHAPE(LLAMA,     "32000", "4096", "11008", "32", "32", HN_OR_NONE, NULL, "2048"),
    HN_KEYS_SHAPE("Mistral", "32000", "4096", "14336", "32", "32", , "8", "131072"),
    HN_KEYS_SHAPE("Mixtral", "32000", "4096", "14336", "32", "32", , "8", "131072"),
    HN_USED("head_dim", HN_IS_INT | HN_IS_NULL, head_dim, "null", .of = "Mixtral", HN_COUNT),
    HN_KEY_HEAD_DIM(HN_IS_INT | HN_IS_NULL, NULL),
    HN_KEYS_RMS_EPS("Llama|LLaMA|Mistral", "1e-6"), HN_KEYS_RMS_EPS("Mixtral", "1e-5"),
    HN_KEYS_ROPE("Llama|LLaMA|Mistral", "10000"), HN_KEYS_ROPE("Mixtral", "1000000"),
    HN_KEY_ACTIVATION("hidden_act", "silu"),
    HN_ASKED("attention_bias", HN_IS_FLAG, "false", .of = LLAMA),
    HN_ASKED("mlp_bias", HN_IS_FLAG, "false", .of = LLAMA),
    HN_ONLY("attention_bias|mlp_bias", HN_IS_FLAG, "false", "the class has no biases", .of = "Mis|Mix"),
    HN_ASKED("sliding_window", HN_IS_INT | HN_IS_NULL, "4096", .of = "Mistral", HN_COUNT),
    HN_ASKED("sliding_window", HN_IS_INT | HN_IS_NULL, NULL, .of = "Mixtral", HN_COUNT),
    HN_NEEDLESS("sliding_window", HN_IS_INT | HN_IS_NULL, "LlamaConfig has none", .of = LLAMA),
    HN_USED("num_local_experts|num_experts", HN_IS_INT, n_expert, "8", .of = "Mixtral", HN_COUNT),
    HN_USED("num_experts_per_tok", HN_IS_INT, n_used, "2", .of = "Mixtral", HN_COUNT),
    HN_NEEDLESS("router_jitter_noise", HN_IS_REAL, "noise of training", .of = "Mixtral"),
    HN_NEEDLESS("output_router_logits", HN_IS_FLAG, "an output beside the logits", .of = "Mixtral"),
    HN_NEEDLESS("router_aux_loss_coef", HN_IS_REAL, "of a loss in training", .of = "Mixtral"),
    HN_NEEDLESS("initializer_range", HN_IS_REAL, "of training alone", .of = LLAMA, .low = 0, .high = 1),
    HN_NEEDLESS("attention_dropout", HN_IS_NUM | HN_IS_NULL, "of training alone", .of = LLAMA),
    { .to = HN_HP_vocab_size }, { .to = HN_HP_expert_ffn }, { .gguf = "hone.llama.sliding_window", .is = HN_IS_INT, HN_COUNT },
    HN_GGUF_SAID("expert_weights_norm", HN_IS_FLAG, "true", "Mixtral's weights add up to 1"),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_HP_SET(hp, rope_dim, hp->has[HN_HP_head_dim] ? hp->head_dim : hp->width / hp->n_head[0]);
    hp->expert_ffn = hp->ffn[0]; /* Mixtral's experts: not a key of its own */
    const hn_key_row *window = hn_key_named(config->tables, config->class, "sliding_window");
    return window->note ? HN_OK : hn_config_int(config, "sliding_window", &hp->window, NULL);
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

static hn_node *attention(nn_build *b, hn_node *x)
{
    return nn_attention(b, x, &(nn_attention_options){ .window = b->hp->window });
}

static hn_node *feed_forward(nn_build *b, hn_node *x)
{
    return b->hp->n_expert ? nn_experts(b, x, true, false) : nn_swiglu(b, x);
}

static hn_node *build(nn_build *b) { return nn_pre_norm(b, attention, feed_forward); }

const hn_arch hn_arch_llama = {
    .name = "llama", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
