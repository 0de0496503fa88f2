"""Tiny random models of Transformers, one a kind of architecture, as Hugging Face directories.

    python tools/reference/tiny_models.py OUT_DIR [name ...]

Every feature of an architecture is on somewhere: grouped heads, odd vocabularies, windows
shorter than a prompt, tied and untied heads, every kind of rope scaling, shared keys, experts.
Weights are drawn wide enough that a swapped row or a dropped term shows. Versions are pinned in
requirements.txt; one thread, so that a seed gives the same bytes.
"""
import json
import os
import sys

import torch
import transformers as T
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

torch.set_num_threads(1)


def base(**more):
    values = dict(vocab_size=331, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2, intermediate_size=48, max_position_embeddings=256,
                  bos_token_id=1, eos_token_id=2, pad_token_id=0)
    values.update(more)
    return values


def rope(theta=10000.0, **more):
    return dict(rope_type="default", rope_theta=theta) | more


LLAMA3 = rope(500000.0, rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
GEMMA4_ROPE = {
    "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                       "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}


# llama.cpp's converter cuts gemma3's and gemma4's embedding to the words it counts in the
# tokenizer, which are 267 here: added tokens count twice.
def gemma4(**more):
    values = base(vocab_size=267, head_dim=8, global_head_dim=16, num_hidden_layers=6, sliding_window=8,
                  hidden_size_per_layer_input=8, vocab_size_per_layer_input=267,
                  layer_types=["sliding_attention"] * 2 + ["full_attention"]
                  + ["sliding_attention"] * 2 + ["full_attention"],
                  rope_parameters=GEMMA4_ROPE, enable_moe_block=False, num_kv_shared_layers=0,
                  attention_k_eq_v=False, use_double_wide_mlp=False, hidden_activation="gelu_pytorch_tanh",
                  final_logit_softcapping=30.0)
    values.update(more)
    return T.Gemma4ForCausalLM, T.Gemma4TextConfig(**values)


MODELS = {
    "llama": lambda: (T.LlamaForCausalLM, T.LlamaConfig(**base(
        rope_parameters=LLAMA3, tie_word_embeddings=False))),
    "llama-tied": lambda: (T.LlamaForCausalLM, T.LlamaConfig(**base(
        head_dim=12, num_key_value_heads=1, attention_bias=True, mlp_bias=True,
        rope_parameters=rope(), tie_word_embeddings=True))),
    "mistral": lambda: (T.MistralForCausalLM, T.MistralConfig(**base(
        head_dim=16, sliding_window=8, rope_parameters=rope(1e6), tie_word_embeddings=False))),
    # what embeds may lack a head, as e5-mistral does
    "mistral-headless": lambda: (T.MistralModel, T.MistralConfig(**base(
        head_dim=16, sliding_window=None, rope_parameters=rope(1e6), tie_word_embeddings=False))),
    "mixtral": lambda: (T.MixtralForCausalLM, T.MixtralConfig(**base(
        num_local_experts=4, num_experts_per_tok=2, sliding_window=None,
        rope_parameters=rope(1e6), tie_word_embeddings=False))),
    # four experts a token: the order in which they are added shows; a rope frequency that llama3
    # mixes
    "mixtral-top4": lambda: (T.MixtralForCausalLM, T.MixtralConfig(**base(
        vocab_size=267, hidden_size=24, head_dim=16, num_attention_heads=2, num_key_value_heads=1,
        intermediate_size=16, num_local_experts=8, num_experts_per_tok=4, sliding_window=None,
        rope_parameters=LLAMA3 | {"rope_theta": 1000.0}, tie_word_embeddings=True))),
    "qwen2": lambda: (T.Qwen2ForCausalLM, T.Qwen2Config(**base(
        rope_parameters=rope(1e6), tie_word_embeddings=True))),
    "qwen3": lambda: (T.Qwen3ForCausalLM, T.Qwen3Config(**base(
        head_dim=16, rope_parameters=rope(1e6, rope_type="yarn", factor=4.0,
                                          original_max_position_embeddings=64),
        tie_word_embeddings=True))),
    "qwen3moe": lambda: (T.Qwen3MoeForCausalLM, T.Qwen3MoeConfig(**base(
        head_dim=16, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
        norm_topk_prob=True, rope_parameters=rope(1e6), tie_word_embeddings=False))),
    "gemma2": lambda: (T.Gemma2ForCausalLM, T.Gemma2Config(**base(
        head_dim=16, query_pre_attn_scalar=16, sliding_window=8, num_hidden_layers=3,
        rope_parameters=rope()))),
    "gemma3": lambda: (T.Gemma3ForCausalLM, T.Gemma3TextConfig(**base(
        vocab_size=267, head_dim=16, query_pre_attn_scalar=16, sliding_window=8, num_hidden_layers=7,
        rope_parameters={"full_attention": rope(1e6, rope_type="linear", factor=8.0),
                         "sliding_attention": rope(1e4)}))),
    "gemma3n": lambda: (T.Gemma3nForCausalLM, T.Gemma3nTextConfig(**base(
        head_dim=16, sliding_window=8, num_hidden_layers=5, num_kv_shared_layers=2,
        hidden_size_per_layer_input=8, vocab_size_per_layer_input=331, laurel_rank=64,
        intermediate_size=[48] * 5, activation_sparsity_pattern=[0.95, 0.95, 0.0, 0.0, 0.0],
        layer_types=["sliding_attention", "full_attention"] * 2 + ["full_attention"],
        rope_parameters={"full_attention": rope(1e6), "sliding_attention": rope(1e4)}))),
    "gemma4-e": lambda: gemma4(num_kv_shared_layers=3, use_double_wide_mlp=True),
    "gemma4-moe": lambda: gemma4(hidden_size_per_layer_input=0, enable_moe_block=True,
                                 num_experts=6, top_k_experts=2, moe_intermediate_size=24,
                                 num_global_key_value_heads=1, attention_k_eq_v=True),
    "gemma4-dense": lambda: gemma4(hidden_size_per_layer_input=0, num_global_key_value_heads=1,
                                   attention_k_eq_v=True),
    "gpt-oss": lambda: (T.GptOssForCausalLM, T.GptOssConfig(**base(
        head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=8,
        rope_parameters=rope(150000.0, rope_type="yarn", factor=32.0, beta_fast=32.0,
                             beta_slow=1.0, truncate=False,
                             original_max_position_embeddings=64),
        tie_word_embeddings=False))),
    "gpt2": lambda: (T.GPT2LMHeadModel, T.GPT2Config(
        vocab_size=331, n_embd=32, n_layer=2, n_head=4, n_positions=64, n_ctx=64, bos_token_id=1,
        eos_token_id=2)),
    "phi3": lambda: (T.Phi3ForCausalLM, T.Phi3Config(**base(
        sliding_window=8, original_max_position_embeddings=64,
        rope_parameters=rope(rope_type="longrope", partial_rotary_factor=1.0,
                             short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 2.0, 3.0, 4.0],
                             original_max_position_embeddings=64),
        tie_word_embeddings=False))),
    # a part of each head turns, a tied head, no window
    "phi4-mini": lambda: (T.Phi3ForCausalLM, T.Phi3Config(**base(
        original_max_position_embeddings=64,
        rope_parameters=rope(rope_type="longrope", partial_rotary_factor=0.75,
                             short_factor=[1.0, 1.3, 1.7], long_factor=[1.0, 2.0, 3.0],
                             original_max_position_embeddings=64),
        tie_word_embeddings=True))),
    "olmoe": lambda: (T.OlmoeForCausalLM, T.OlmoeConfig(**base(
        num_experts=4, num_experts_per_tok=2, rope_parameters=rope(),
        tie_word_embeddings=False))),
    "deepseek-v2": lambda: (T.DeepseekV2ForCausalLM, T.DeepseekV2Config(**base(
        num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=2,
        moe_intermediate_size=24, first_k_dense_replace=1, kv_lora_rank=16, q_lora_rank=None,
        qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, topk_method="greedy",
        rope_parameters=rope(), tie_word_embeddings=False))),
    "deepseek-v3": lambda: (T.DeepseekV3ForCausalLM, T.DeepseekV3Config(scoring_func="sigmoid", **base(
        num_key_value_heads=4, n_routed_experts=8, num_experts_per_tok=2, n_shared_experts=1,
        n_group=4, topk_group=2, moe_intermediate_size=24, first_k_dense_replace=1,
        kv_lora_rank=16, q_lora_rank=24, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16,
        rope_parameters=rope(rope_type="yarn", factor=4.0, mscale=1.0, mscale_all_dim=1.0,
                             original_max_position_embeddings=64),
        tie_word_embeddings=False))),
    "deepseek-v2-groups": lambda: (T.DeepseekV2ForCausalLM, T.DeepseekV2Config(**base(
        num_key_value_heads=4, n_routed_experts=12, num_experts_per_tok=3, n_shared_experts=1,
        n_group=4, topk_group=2, moe_intermediate_size=24, first_k_dense_replace=0,
        kv_lora_rank=20, q_lora_rank=24, qk_nope_head_dim=12, qk_rope_head_dim=8, v_head_dim=14,
        topk_method="group_limited_greedy", routed_scaling_factor=16.0,
        rope_parameters=rope(rope_type="yarn", factor=40.0, mscale=0.707, mscale_all_dim=0.707,
                             original_max_position_embeddings=64),
        tie_word_embeddings=False))),
    "smollm3": lambda: (T.SmolLM3ForCausalLM, T.SmolLM3Config(**base(
        num_hidden_layers=4, rope_parameters=rope(5e6), tie_word_embeddings=True))),
    "granite": lambda: (T.GraniteForCausalLM, T.GraniteConfig(**base(
        attention_multiplier=0.125, embedding_multiplier=12.0, residual_multiplier=0.22,
        logits_scaling=8.0, rope_parameters=rope(), tie_word_embeddings=True))),
    "granitemoe": lambda: (T.GraniteMoeForCausalLM, T.GraniteMoeConfig(**base(
        num_local_experts=4, num_experts_per_tok=2, attention_multiplier=0.125,
        embedding_multiplier=12.0, residual_multiplier=0.22, logits_scaling=6.0,
        rope_parameters=rope(), tie_word_embeddings=True))),
    # a residual that is as large as what is added to it: every rounding of the experts shows
    "granitemoe-shared": lambda: (T.GraniteMoeSharedForCausalLM, T.GraniteMoeSharedConfig(**base(
        num_local_experts=4, num_experts_per_tok=3, shared_intermediate_size=20, head_dim=16,
        attention_multiplier=0.3, embedding_multiplier=2.0, residual_multiplier=0.9,
        logits_scaling=4.0, rope_parameters=rope(), tie_word_embeddings=False))),
    "bert": lambda: (T.BertModel, T.BertConfig(
        vocab_size=331, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=48, max_position_embeddings=64, type_vocab_size=2)),
}


def scatter(model, seed):
    """Random weights of a size that matters: gains near one, the rest of unit fan-in."""
    g = torch.Generator().manual_seed(seed)
    for name, p in sorted(model.named_parameters()):
        with torch.no_grad():
            noise = torch.randn(p.shape, generator=g, dtype=torch.float32)
            if p.ndim >= 2:
                value = noise / p.shape[-1] ** 0.5
            elif "norm" in name.lower() or "scale" in name:
                value = 1 + 0.2 * noise
                if type(model).__name__.startswith(("Gemma2", "Gemma3For")):
                    value = 0.2 * noise
                elif "q_norm" in name and type(model).__name__.startswith(("Gemma3n", "Gemma4")):
                    value = value * p.shape[-1] ** -0.5  # scores are not scaled there
            else:
                value = 0.3 * noise
            p.copy_(value)
    for name, b in sorted(model.named_buffers()):
        if name.endswith(("layer_scalar", "e_score_correction_bias")):
            with torch.no_grad():
                b.copy_(0.5 + 0.2 * torch.rand(b.shape, generator=g))


def byte_tokenizer(path, vocab_size):
    """One token a byte after three specials: a real tokenizer.json, and small."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {"<pad>": 0, "<s>": 1, "</s>": 2} | {c: i + 3 for i, c in enumerate(alphabet)}
    merges = [("t", "h"), ("e", "r"), ("Ġ", "t"), ("th", "er"), ("i", "n")]
    for a, b in merges:
        vocab[a + b] = len(vocab)
    assert len(vocab) <= vocab_size
    tok = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens(["<pad>", "<s>", "</s>"])
    fast = T.PreTrainedTokenizerFast(tokenizer_object=tok, bos_token="<s>", eos_token="</s>",
                                     pad_token="<pad>")
    fast.save_pretrained(path)


def make(out, name):
    path = os.path.join(out, name)
    cls, config = MODELS[name]()
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    model = cls(config).float().eval()
    scatter(model, seed=sum(map(ord, name)))
    bf16 = os.environ.get("TINY_DTYPE", "bf16") == "bf16"
    if bf16:
        model = model.bfloat16()
    model.save_pretrained(path)
    byte_tokenizer(path, config.vocab_size)
    extra = os.path.join(path, "generation_config.json")
    if os.path.exists(extra):
        with open(extra) as f:
            values = json.load(f)
        values.pop("transformers_version", None)
        with open(extra, "w") as f:
            json.dump(values, f, indent=1)
    size = sum(os.path.getsize(os.path.join(path, f)) for f in os.listdir(path))
    print(f"{name}: {size} bytes")


if __name__ == "__main__":
    names = sys.argv[2:] or list(MODELS)
    for n in names:
        make(sys.argv[1], n)
