/* Tables, and for every row either what reads it or why it changes nothing. A note is what `hone archs` prints. */
#include "models/shared_keys.h"

#include <stddef.h>

#define NOTE(key, kinds, why) { .name = key, .is = kinds, .note = why }

#define TRAINING   "of training alone"
#define GENERATION "Transformers takes generation's keys out of config.json; they stand in " \
                   "generation_config.json"
#define OUTPUT     "what is given back, not what is computed"
#define WRITER     "a note of the program that wrote the file"
#define TOKENS     "a token of the tokenizer; no number is computed with it"
#define HEADS      "of classes with another head"
#define LAYOUT     "how a program computes, not what"

/* clang-format off */
const hn_key_row hn_keys_every[] = {
    HN_ASKED("architectures", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    NOTE("transformers_version", HN_IS_ANY, WRITER),
    NOTE("_name_or_path|name_or_path", HN_IS_ANY, WRITER),
    NOTE("dtype|torch_dtype", HN_IS_ANY, "weights are read in the type that the file has"),
    HN_ASKED("tie_word_embeddings", HN_IS_FLAG, "false", HN_ALL),
    HN_ASKED("pad_token_id", HN_IS_INT | HN_IS_NULL, NULL, HN_ALL),
    NOTE("bos_token_id", HN_IS_INT | HN_IS_NULL, TOKENS),
    NOTE("eos_token_id", HN_IS_INT | HN_IS_LIST | HN_IS_NULL,
         "where generation ends, if no generation_config.json says it: the tokenizer's reader takes it"),
    NOTE("sep_token_id|cls_token_id|unk_token_id|mask_token_id|im_start_token_id|im_end_token_id",
         HN_IS_INT | HN_IS_NULL, TOKENS),
    NOTE("decoder_start_token_id", HN_IS_INT | HN_IS_NULL, TOKENS),
    NOTE("use_cache", HN_IS_FLAG, LAYOUT),
    NOTE("initializer_range", HN_IS_REAL, TRAINING),
    NOTE("initializer_factor|init_std|initializer_std|init_method_std", HN_IS_ANY, TRAINING),
    NOTE("attention_dropout", HN_IS_NUM, TRAINING),
    NOTE("hidden_dropout|hidden_dropout_prob|resid_pdrop|embd_pdrop|attn_pdrop|dropout|resid_dropout|"
         "embedding_dropout|activation_dropout|classifier_dropout", HN_IS_NUM | HN_IS_NULL, TRAINING),
    NOTE("pretraining_tp", HN_IS_INT | HN_IS_NULL, LAYOUT),
    NOTE("output_hidden_states|output_attentions|return_dict|use_return_dict",
         HN_IS_FLAG | HN_IS_NULL, OUTPUT),
    NOTE("chunk_size_feed_forward", HN_IS_INT, LAYOUT),
    HN_ONLY("is_encoder_decoder", HN_IS_FLAG, "false", "a decoder alone is computed", HN_ALL),
    HN_ONLY("add_cross_attention", HN_IS_FLAG, "false", "nothing is attended to but the text itself",
            HN_ALL),
    HN_ONLY("cross_attention_hidden_size", HN_IS_ANY, "null", "there is no cross attention", HN_ALL),
    HN_ONLY("is_decoder", HN_IS_FLAG, "false|true", "a decoder is one", HN_ALL),
    HN_ONLY("tie_encoder_decoder", HN_IS_FLAG, "false", "there is no encoder", HN_ALL),
    HN_ONLY("pruned_heads", HN_IS_ANY, "{}|null", "heads left out are not supported", HN_ALL),
    HN_ONLY("quantization_config", HN_IS_OBJECT | HN_IS_NULL, "null",
            "weights in a format of their own are not supported", HN_ALL),
    NOTE("id2label|label2id", HN_IS_OBJECT | HN_IS_NULL, HEADS),
    NOTE("num_labels", HN_IS_INT, HEADS),
    NOTE("problem_type|finetuning_task|task_specific_params", HN_IS_ANY, HEADS),
    NOTE("torchscript|use_bfloat16|tf_legacy_loss|use_flash_attention_2|_flash_attn_2_enabled|"
         "_attn_implementation|attn_implementation|_attn_implementation_autoset|"
         "_attn_implementation_internal|_experts_implementation|experts_implementation|"
         "_experts_implementation_internal|gradient_checkpointing|use_kernels", HN_IS_ANY, LAYOUT),
    NOTE("tokenizer_class|prefix", HN_IS_ANY, "of the tokenizer, which has a file of its own"),
    NOTE("auto_map|_commit_hash|unsloth_version|unsloth_fixed|transformers.js_config|model_name|"
         "mlx_version|base_model_name_or_path|neuron|license|_diffusers_version|internal_version",
         HN_IS_ANY, WRITER),
    NOTE("max_length|min_length|do_sample|early_stopping|num_beams|num_beam_groups|diversity_penalty|"
         "temperature|top_k|top_p|typical_p|repetition_penalty|length_penalty|no_repeat_ngram_size|"
         "encoder_no_repeat_ngram_size|bad_words_ids|num_return_sequences|output_scores|"
         "return_dict_in_generate|forced_bos_token_id|forced_eos_token_id|remove_invalid_values|"
         "exponential_decay_length_penalty|suppress_tokens|begin_suppress_tokens", HN_IS_ANY,
         GENERATION),
    { .gguf = "hone.activation", .is = HN_IS_WORD },
    { .gguf = "hone.sliding_window", .is = HN_IS_INT, HN_COUNT },
    { .gguf = "hone.sliding_layers", .is = HN_ITEMS(HN_IS_INT), .low = 0, .high = 1 },
    { 0 },
};

/* Python's True is 1, and Transformers does not look at the types in there. */
#define NUM (HN_IS_NUM | HN_IS_FLAG)
static const hn_key_row rope[] = {
    HN_ASKED("rope_type|type", HN_IS_WORD, "default", HN_ALL),
    HN_ASKED("rope_theta", NUM, NULL, HN_FROM_1),
    HN_ASKED("factor", NUM | HN_IS_NULL, NULL, .low = -0x1p127, .high = 0x1p127),
    HN_ASKED("partial_rotary_factor", NUM, NULL, .low = 0, .high = 1),
    HN_ASKED("original_max_position_embeddings", NUM, NULL, .low = 2, .high = 2147483647),
    HN_ASKED("attention_factor", NUM | HN_IS_NULL, NULL, HN_FROM_0),
    HN_ASKED("beta_fast", NUM | HN_IS_NULL, NULL, HN_FROM_0),
    HN_ASKED("beta_slow", NUM | HN_IS_NULL, NULL, HN_FROM_0),
    HN_ASKED("low_freq_factor", HN_IS_NUM, NULL, HN_ABOVE_0),
    HN_ASKED("high_freq_factor", NUM, NULL, HN_ABOVE_0),
    HN_ASKED("mscale", NUM | HN_IS_NULL, NULL, HN_FROM_0),
    HN_ASKED("mscale_all_dim", NUM | HN_IS_NULL, NULL, HN_FROM_0),
    HN_ASKED("truncate", HN_IS_FLAG, "true", HN_ALL),
    HN_ASKED("short_factor", HN_IS_LIST, NULL, HN_ABOVE_0),
    HN_ASKED("long_factor", HN_IS_LIST, NULL, HN_ABOVE_0),
    /* Transformers has no such key: llama.cpp's converter does, and 1 is what it does without */
    HN_ASKED("extrapolation_factor", NUM, NULL, .low = 1, .high = 1),
    HN_ASKED("attn_factor", NUM, NULL, .low = 1, .high = 1),
    HN_NEEDLESS("finetuned", HN_IS_FLAG, "a note", HN_ALL),
    { 0 },
};
const hn_key_row *const hn_rope_keys[] = { rope, NULL };

static const hn_key_row whole[] = {
    HN_ASKED("rope_theta", NUM, HN_MUST, HN_FROM_1),
    { 0 },
};
const hn_key_row *const hn_rope_whole_keys[] = { whole, rope, NULL };

static const hn_key_row beside[] = {
    HN_NEEDLESS("original_max_position_embeddings", HN_IS_ANY, "the key of the same name beside rope_parameters says it", HN_ALL),
    { 0 },
};
const hn_key_row *const hn_rope_beside_keys[] = { beside, rope, NULL };

static const hn_key_row layered[] = {
    HN_ASKED("full_attention", HN_IS_OBJECT | HN_IS_NULL, NULL, .within = hn_rope_keys),
    HN_ASKED("sliding_attention", HN_IS_OBJECT | HN_IS_NULL, NULL, .within = hn_rope_keys),
    { 0 },
};
const hn_key_row *const hn_rope_layered_keys[] = { layered, NULL };
/* clang-format on */

/* clang-format off */
#define GGUF(key, kinds, why)         { .gguf = key, .is = kinds, .note = why }
#define READ(key, kinds, ...)         { .gguf = key, .is = kinds, __VA_ARGS__ }
#define SAID(key, kinds, values, why) { .gguf = key, .is = kinds, .only = values, .note = why }
#define NO_EXPERTS "this architecture has no such experts"
#define NO_SUCH    "this architecture has none"
#define GATED      "this architecture chooses experts another way"
const hn_key_row hn_keys_tokenizer[] = {
    READ("tokenizer.ggml.model|tokenizer.ggml.pre|tokenizer.chat_template|tokenizer.chat_template.*", HN_IS_WORD, HN_ALL),
    READ("tokenizer.ggml.tokens|tokenizer.ggml.merges|tokenizer.chat_templates", HN_ITEMS(HN_IS_WORD), HN_ALL),
    READ("tokenizer.ggml.token_type|tokenizer.ggml.precompiled_charsmap", HN_ITEMS(HN_IS_INT), HN_ALL),
    READ("tokenizer.ggml.scores", HN_ITEMS(HN_IS_REAL), HN_ANY_SIGN),
    READ("tokenizer.ggml.token_type_count", HN_IS_INT, HN_COUNT),
    READ("tokenizer.ggml.bos_token_id|tokenizer.ggml.eos_token_id|tokenizer.ggml.eot_token_id|tokenizer.ggml.eom_token_id|"
         "tokenizer.ggml.unknown_token_id|tokenizer.ggml.padding_token_id|tokenizer.ggml.seperator_token_id|"
         "tokenizer.ggml.cls_token_id|tokenizer.ggml.mask_token_id|tokenizer.ggml.fim_pre_token_id|"
         "tokenizer.ggml.fim_suf_token_id|tokenizer.ggml.fim_mid_token_id|tokenizer.ggml.fim_pad_token_id|"
         "tokenizer.ggml.fim_rep_token_id|tokenizer.ggml.fim_sep_token_id|tokenizer.ggml.prefix_token_id|"
         "tokenizer.ggml.suffix_token_id|tokenizer.ggml.middle_token_id", HN_IS_INT, .is_token = true),
    READ("tokenizer.ggml.add_bos_token|tokenizer.ggml.add_eos_token|tokenizer.ggml.add_sep_token|"
         "tokenizer.ggml.add_space_prefix|tokenizer.ggml.remove_extra_whitespaces|"
         "tokenizer.ggml.normalizer.lowercase|tokenizer.ggml.normalizer.strip_accents", HN_IS_FLAG, HN_ALL),
    GGUF("tokenizer.ggml.added_tokens|tokenizer.huggingface.json", HN_IS_ANY, "the tokens and merges say it"),
    READ("hone.chat_template|hone.chat_template.*|hone.tokenizer.steps|hone.tokenizer.normalizer", HN_IS_WORD, HN_ALL),
    READ("hone.tokenizer.ends|hone.tokenizer.added|hone.tokenizer.prefix|hone.tokenizer.suffix", HN_ITEMS(HN_IS_INT), HN_ALL),
    READ("hone.tokenizer.decode", HN_IS_INT, HN_ALL),
    READ("hone.ignored", HN_ITEMS(HN_IS_WORD), HN_ALL),
    READ("hone.pooling", HN_IS_WORD, HN_ALL), READ("hone.normalize", HN_IS_FLAG, HN_ALL),
    READ("hone.longest_text", HN_IS_INT, HN_COUNT), READ("hone.headless", HN_IS_FLAG, HN_ALL),

    GGUF("hone.adapter.version|hone.adapter.base.sha256|hone.adapter.numerics|hone.adapter.tokenizer.sha256|"
         "hone.adapter.template|hone.adapter.template.sha256|hone.adapter.sha256|hone.adapter.test.tokens|hone.adapter.test.logits|"
         "hone.adapter.test.logits.sha256|hone.adapter.test.kl_budget|hone.train.config|hone.train.data.sha256|"
         "hone.train.data.policy|hone.train.steps|hone.train.examples|hone.train.tokens|hone.train.supervised_tokens|"
         "hone.train.last_loss|hone.train.held_loss", HN_IS_ANY, "how a model trained in full came about"),

    SAID("general.type", HN_IS_WORD, "model", "expected a model"),
    SAID("general.tensor_extra.*", HN_IS_ANY, "", "activations in a format of their own are not supported"),
    GGUF("general.*|split.*|quantize.*|mradermacher.*", HN_IS_ANY, "what the file says of itself"),

    /* What llama.cpp reads for every architecture, or writes for every one when it saves a model:
     * what it computes with is one value here. */
    { .to = HN_HP_pooling }, { .to = HN_HP_vocab_size },
    SAID("attention.causal", HN_IS_FLAG, "true", "a decoder sees what comes before alone"),
    SAID("attention.clamp_kqv|attention.max_alibi_bias|attention.scale|attention.output_scale|attention.value_scale|"
         "attention.temperature_length|attention.temperature_scale|attention.relative_buckets_count|"
         "attention.q_lora_rank|attention.kv_lora_rank|attention.decay_lora_rank|attention.iclr_lora_rank|"
         "attention.value_residual_mix_lora_rank|attention.gate_lora_rank|attention.key_length_mla|attention.value_length_mla|"
         "attention.sliding_window|attention.shared_kv_layers|attn_logit_softcapping|final_logit_softcapping|"
         "router_logit_softcapping|logit_scale|embedding_scale|residual_scale|embedding_length_per_layer_input|"
         "rope.scaling.alpha|rope.scaling.yarn_log_multiplier", HN_IS_NUM, "0", NO_SUCH),
    SAID("expert_count|expert_used_count|expert_shared_count|expert_feed_forward_length|expert_shared_feed_forward_length|"
         "expert_chunk_feed_forward_length|expert_latent_length|expert_group_scale|experts_per_group|leading_dense_block_count|"
         "moe_every_n_layers|interleave_moe_layer_step", HN_IS_NUM, "0", NO_EXPERTS),
    SAID("expert_group_count|expert_group_used_count|expert_weights_scale", HN_IS_NUM, "0|1", NO_EXPERTS),
    SAID("expert_gating_func", HN_IS_INT, "0|1", GATED),
    SAID("expert_weights_norm", HN_IS_FLAG, "false", GATED),
    SAID("nextn_predict_layers|n_deepstack_layers|decoder_block_count|rescale_every_n_layers|time_mix_extra_dim|"
         "time_decay_extra_dim|token_shift_count|ssm.*|wkv.*|kda.*|hrm.*|hyper_connection.*", HN_IS_NUM | HN_IS_FLAG, "0|false", NO_SUCH),
    SAID("use_parallel_residual|swin_norm", HN_IS_FLAG, "false", NO_SUCH),
    GGUF("attention.key_length_swa|attention.value_length_swa|rope.dimension_count_swa|rope.freq_base_swa", HN_IS_NUM,
         "of layers with a window, which this architecture has none of"),
    GGUF("attention.layer_norm_epsilon|attention.layer_norm_rms_epsilon", HN_IS_NUM, "of another kind of norm"),
    GGUF("rope.scaling.finetuned", HN_IS_FLAG, "a note"),
    GGUF("tensor_data_layout", HN_IS_WORD, "a note"),
    { 0 },
};
/* clang-format on */
