/* shared_keys.h: keys that the configurations of many classes have. A class's own table comes
 * before them and may say otherwise. */
#ifndef HN_MODELS_SHARED_KEYS_H
#define HN_MODELS_SHARED_KEYS_H

#include "nn/config.h"

/* Of every class: PreTrainedConfig's, generation's, notes of programs that write files. */
extern const hn_key_row hn_keys_every[];
/* What GGUF's files say beside the numbers of a model, and numbers that but some architectures have:
 * an architecture's own rows come before them. */
extern const hn_key_row hn_keys_tokenizer[];

/* Within rope_parameters and rope_scaling: one rope, one a kind of layer. */
extern const hn_key_row *const hn_rope_keys[];
extern const hn_key_row *const hn_rope_layered_keys[];
/* As the first, with a base that must be there. */
extern const hn_key_row *const hn_rope_whole_keys[];
/* As the first, of a class that has the original context length beside them. */
extern const hn_key_row *const hn_rope_beside_keys[];

#define HN_ALL     .of = NULL
#define HN_COUNT   .low = 1, .high = 2147483647
/* Layers with a window have the rope and the heads of the others. */
#define HN_GGUF_ONE_ROPE                                                                       \
    HN_GGUF_SAID("attention.key_length_swa|attention.value_length_swa|rope.dimension_count_swa|" \
                 "rope.freq_base_swa", HN_IS_NUM, "", "layers with a window are as the others here")
/* Of a table's key in GGUF alone. */
#define HN_GGUF_SAID(key, kinds, values, why) { .gguf = key, .is = (kinds), .only = values, .note = why }
#define HN_GGUF_SCALAR(key) { .gguf = key, .is = HN_IS_NUM, HN_ABOVE_0 }
#define HN_GGUF_PATTERN \
    { .gguf = "attention.sliding_window_pattern", \
      .is = HN_IS_INT | HN_ITEMS(HN_IS_INT | HN_IS_FLAG), .low = 0, .high = 2147483647 }
#define HN_ANY_SIGN .low = -0x1p100, .high = 0x1p100
#define HN_OR_NONE | HN_IS_NULL

/* clang-format off */
/* Embedding, widths, layers, heads, context: as a class defaults them. `g`: of key heads. */
#define HN_KEYS_SHAPE(class, v, c, f, l, h, g_is, g, t)                                        \
    HN_ASKED("vocab_size",              HN_IS_INT, v,            .of = class, HN_COUNT),       \
    HN_USED("hidden_size",              HN_IS_INT, width, c,     .of = class, HN_COUNT),       \
    HN_USED("intermediate_size",        HN_IS_INT, ffn, f,       .of = class, HN_COUNT),       \
    HN_USED("num_hidden_layers",        HN_IS_INT, n_layer, l,   .of = class, HN_COUNT),       \
    HN_USED("num_attention_heads",      HN_IS_INT, n_head, h,    .of = class, HN_COUNT),       \
    HN_USED("num_key_value_heads",      HN_IS_INT g_is, n_kv_head, g, .of = class, HN_COUNT),  \
    HN_USED("max_position_embeddings",  HN_IS_INT, n_ctx, t,     .of = class, .low = -1, .high = 2147483647)

#define HN_KEY_MODEL_TYPE(class, word)                                                         \
    HN_ONLY("model_type", HN_IS_WORD, word, "another class than architectures says",           \
            .of = class, .otherwise = HN_MUST)

#define HN_KEYS_RMS_EPS(class, absent)                                                         \
    HN_USED("rms_norm_eps", HN_IS_REAL, rms_eps, absent, .of = class, HN_FROM_0)

#define HN_KEYS_ROPE(class, theta)                                                             \
    HN_ASKED("rope_theta", HN_IS_NUM, theta, .of = class, HN_FROM_1),                         \
    HN_ASKED("partial_rotary_factor", HN_IS_NUM, "1", .of = class, .low = 1, .high = 1),       \
    HN_ASKED("original_max_position_embeddings", HN_IS_INT, NULL, .of = class, HN_COUNT),      \
    HN_ASKED("rope_parameters", HN_IS_OBJECT | HN_IS_NULL, NULL, .of = class, .within = hn_rope_keys), \
    HN_ASKED("rope_scaling", HN_IS_OBJECT | HN_IS_NULL, NULL, .of = class, .within = hn_rope_keys), \
    HN_GGUF_ROPE

/* One rope for layers with a window, one for the others. */
#define HN_KEYS_ROPE_LAYERED(class, theta, local)                                              \
    HN_ASKED("rope_theta", HN_IS_NUM, theta, .of = class, HN_FROM_1),                         \
    HN_ASKED("rope_local_base_freq", HN_IS_NUM, local, .of = class, HN_FROM_1),               \
    HN_ASKED("rope_parameters", HN_IS_OBJECT | HN_IS_NULL, NULL, .of = class, .within = hn_rope_layered_keys), \
    HN_ASKED("rope_scaling", HN_IS_OBJECT | HN_IS_NULL, NULL, .of = class, .within = hn_rope_keys), \
    HN_GGUF_ROPE_LAYERED
#define HN_GGUF_ROPE_LAYERED                                                                   \
    HN_GGUF_ROPE, { .to = HN_HP_rope_base_swa }, { .to = HN_HP_rope_dim_swa }
#define HN_GGUF_ROPE                                                                           \
    { .to = HN_HP_rope_base }, { .to = HN_HP_rope_factor }, { .to = HN_HP_rope_orig_ctx },     \
    { .to = HN_HP_yarn_ext_factor }, { .to = HN_HP_yarn_attn_factor },                         \
    { .to = HN_HP_yarn_beta_fast }, { .to = HN_HP_yarn_beta_slow },                            \
    { .to = HN_HP_rope_dim }, { .to = HN_HP_rope_attn_factor }, { .to = HN_HP_rope_limit },    \
    { .to = HN_HP_rope_fractional }, { .gguf = "rope.scaling.type", .is = HN_IS_WORD }, \
    { .gguf = "rope.scale_linear", .is = HN_IS_NUM, .low = -0x1p127, .high = 0x1p127 }

/* A text model within one that sees or hears, whose other parts are left out. */
#define HN_OTHER_SENSE "of pictures or sound, whose parts are left out"
#define HN_KEYS_OUTER(text)                                                                    \
    HN_ASKED("text_config", HN_IS_OBJECT, HN_MUST, .within = text),                            \
    HN_ASKED("tie_word_embeddings", HN_IS_FLAG, "true", HN_ALL),                               \
    HN_NEEDLESS("vision_config|audio_config", HN_IS_OBJECT | HN_IS_NULL, HN_OTHER_SENSE, HN_ALL), \
    HN_NEEDLESS("boi_token_id|boi_token_index|eoi_token_id|eoi_token_index|image_token_id|"    \
                "image_token_index|video_token_id|boa_token_id|boa_token_index|eoa_token_id|"  \
                "eoa_token_index|audio_token_id|audio_token_index|audio_soft_tokens_per_image|" \
                "vision_soft_tokens_per_image", HN_IS_INT | HN_IS_NULL, HN_OTHER_SENSE, HN_ALL)

#define HN_KEY_ACTIVATION(key, absent) HN_ASKED(key, HN_IS_WORD, absent, HN_ALL)

/* The width of a head is of q, k and v alike. */
#define HN_KEY_HEAD_DIM(kinds, absent)                                                         \
    HN_USED("head_dim", kinds, head_dim, absent, HN_COUNT), { .to = HN_HP_value_dim }

#define HN_KEYS_QWEN_WINDOW                                                                    \
    HN_ASKED("use_sliding_window", HN_IS_FLAG, "false", HN_ALL),                               \
    HN_ASKED("sliding_window", HN_IS_INT | HN_IS_NULL, "4096", HN_ALL)

#define HN_KEYS_ROUTER_TRAINING                                                                \
    HN_NEEDLESS("output_router_logits", HN_IS_FLAG, "an output beside the logits", HN_ALL),    \
    HN_NEEDLESS("router_aux_loss_coef", HN_IS_REAL, "of a loss in training", HN_ALL)
/* clang-format on */

#endif
