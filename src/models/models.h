/* models.h: the architectures that are known, and the rows that many tables share. */
#ifndef HN_MODELS_MODELS_H
#define HN_MODELS_MODELS_H

#include "models/shared_keys.h"
#include "nn/arch.h"

#define HN_MODEL(name) extern const hn_arch hn_arch_##name;
#include "models/models.def"
#undef HN_MODEL

/* Ended by NULL, in the order of models.def. */
extern const hn_arch *const hn_archs[];

/* By general.architecture, and by a class of config.json; HN_ERR_UNSUPPORTED names it. */
hn_status hn_arch_named(const char *name, const hn_arch **out);
hn_status hn_arch_of_config(const hn_json *config, const hn_arch **out);

/* Soft caps: their sign changes nothing, and 0 is none to divide by. */
hn_status hn_gemma_read_caps(const hn_config *config, hn_hparams *hp);

/* Qwen's windows: layers from max_window_layers on, or those that layer_types names. */
hn_status hn_window_read_config(const hn_config *config, hn_hparams *hp);
/* After is_sliding was set: no window unless `slides`, and none without a width. */
hn_status hn_window_settle(bool slides, hn_hparams *hp);
/* For GGUF's kinds that have no key for it: which layers slide, unless all but every period-th do. */
hn_status hn_window_write_layers(const hn_hparams *hp, int64_t period, hn_meta *meta);

/* The numbers of a model from its files: the common ones, then the architecture's own. */
hn_status hn_arch_read_config(const hn_arch *arch, const hn_json *config,
                              const hn_ignored *ignored, hn_hparams *out);
hn_status hn_arch_read_meta(const hn_arch *arch, const hn_meta *meta, const hn_weights *weights,
                            const hn_ignored *ignored, hn_hparams *out);
hn_status hn_arch_write_meta(const hn_arch *arch, const hn_hparams *hp, hn_meta *meta);

/* clang-format off */
#define HN_ROWS_EMBEDDING                                                                      \
    { "token_embd.weight",   "@embed_tokens.weight", "V,C", HN_W_PAD, HN_ALWAYS },             \
    { "output_norm.weight",  "@norm.weight",         "C",   0,        HN_ALWAYS },             \
    { "output.weight",       "lm_head.weight",       "V,C", HN_W_PAD, HN_IF_UNTIED }

#define HN_ROWS_ATTENTION(qk_how)                                                              \
    { ".attn_norm.weight",   ".input_layernorm.weight",   "C",     0,      HN_ALWAYS },        \
    { ".attn_q.weight",      ".self_attn.q_proj.weight",  "H*D,C", qk_how, HN_ALWAYS },        \
    { ".attn_k.weight",      ".self_attn.k_proj.weight",  "G*D,C", qk_how, HN_ALWAYS },        \
    { ".attn_v.weight",      ".self_attn.v_proj.weight",  "G*U,C", 0,      HN_ALWAYS },        \
    { ".attn_output.weight", ".self_attn.o_proj.weight",  "C,H*U", 0,      HN_ALWAYS }

#define HN_ROWS_ATTENTION_BIAS(qk_how, when)                                                   \
    { ".attn_q.bias",        ".self_attn.q_proj.bias",    "H*D",   qk_how, when },             \
    { ".attn_k.bias",        ".self_attn.k_proj.bias",    "G*D",   qk_how, when },             \
    { ".attn_v.bias",        ".self_attn.v_proj.bias",    "G*U",   0,      when }

#define HN_ROWS_MLP(when)                                                                      \
    { ".ffn_gate.weight",    ".mlp.gate_proj.weight",     "F,C",   0,      when },             \
    { ".ffn_up.weight",      ".mlp.up_proj.weight",       "F,C",   0,      when },             \
    { ".ffn_down.weight",    ".mlp.down_proj.weight",     "C,F",   0,      when }

/* One source an expert, or all in two fused tensors. */
#define HN_ROWS_EXPERTS                                                                        \
    { ".ffn_gate_inp.weight",  ".mlp.gate.weight",                "E,C",   HN_W_F32,     HN_IF_MOE }, \
    { ".ffn_gate_exps.weight", ".mlp.experts.#.gate_proj.weight", "E,X,C", HN_W_STACK,   HN_IF_MOE }, \
    { ".ffn_gate_exps.weight", ".mlp.experts.gate_up_proj",       "E,X,C", HN_W_FIRST,   HN_IF_MOE }, \
    { ".ffn_up_exps.weight",   ".mlp.experts.#.up_proj.weight",   "E,X,C", HN_W_STACK,   HN_IF_MOE }, \
    { ".ffn_up_exps.weight",   ".mlp.experts.gate_up_proj",       "E,X,C", HN_W_SECOND,  HN_IF_MOE }, \
    { ".ffn_down_exps.weight", ".mlp.experts.#.down_proj.weight", "E,C,X", HN_W_STACK,   HN_IF_MOE }, \
    { ".ffn_down_exps.weight", ".mlp.experts.down_proj",          "E,C,X", 0,            HN_IF_MOE }

#define HN_ROWS_MLP_BIAS                                                                       \
    { ".ffn_gate.bias",        ".mlp.gate_proj.bias",     "F",   0,      HN_IF_MLP_BIAS },     \
    { ".ffn_up.bias",          ".mlp.up_proj.bias",       "F",   0,      HN_IF_MLP_BIAS },     \
    { ".ffn_down.bias",        ".mlp.down_proj.bias",     "C",   0,      HN_IF_MLP_BIAS }

#define HN_ROW_LONGROPE                                                                        \
    { "rope_factors_long.weight",  NULL, "R", HN_W_CONSTANT | HN_W_F32, HN_IF_LONGROPE },      \
    { "rope_factors_short.weight", NULL, "R", HN_W_CONSTANT | HN_W_F32, HN_IF_LONGROPE }

#define HN_ROW_DIVISORS                                                                        \
    { "rope_freqs.weight",     NULL, "R", HN_W_CONSTANT | HN_W_F32, HN_IF_DIVISORS }
/* clang-format on */

/* Prefixes of text models, and of the text part of models that see or hear. */
extern const char *const hn_decoder_prefixes[];
/* Buffers that old checkpoints hold, and the towers of other senses. */
extern const char *const hn_decoder_ignored[];

#endif
