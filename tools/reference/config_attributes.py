"""Every attribute of Transformers' configuration classes, and of their base.

    python tools/reference/config_attributes.py > tests/differential/known_keys/attributes.json

A line a class of a model: its configuration's fields, what to_dict of a new one writes, the names
that its attribute_map takes, and, of a model within another, the outer class's ("outer").
"""
import dataclasses
import json
import os

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
import transformers as T

CLASSES = {
    "LlamaForCausalLM": T.LlamaConfig, "MistralForCausalLM": T.MistralConfig,
    "MixtralForCausalLM": T.MixtralConfig, "Qwen2ForCausalLM": T.Qwen2Config,
    "Qwen3ForCausalLM": T.Qwen3Config, "Qwen3MoeForCausalLM": T.Qwen3MoeConfig,
    "Gemma2ForCausalLM": T.Gemma2Config, "Gemma3ForCausalLM": T.Gemma3TextConfig,
    "Gemma3ForConditionalGeneration": (T.Gemma3Config, T.Gemma3TextConfig),
    "Gemma3nForCausalLM": T.Gemma3nTextConfig,
    "Gemma3nForConditionalGeneration": (T.Gemma3nConfig, T.Gemma3nTextConfig),
    "Gemma4ForCausalLM": T.Gemma4TextConfig,
    "Gemma4ForConditionalGeneration": (T.Gemma4Config, T.Gemma4TextConfig),
    "GptOssForCausalLM": T.GptOssConfig, "GPT2LMHeadModel": T.GPT2Config,
    "Phi3ForCausalLM": T.Phi3Config, "OlmoeForCausalLM": T.OlmoeConfig,
    "DeepseekV2ForCausalLM": T.DeepseekV2Config, "DeepseekV3ForCausalLM": T.DeepseekV3Config,
    "SmolLM3ForCausalLM": T.SmolLM3Config, "GraniteForCausalLM": T.GraniteConfig,
    "GraniteMoeForCausalLM": T.GraniteMoeConfig,
    "GraniteMoeSharedForCausalLM": T.GraniteMoeSharedConfig,
    "BertModel": T.BertConfig, "BertForMaskedLM": T.BertConfig,
}


def names(cls):
    out = {f.name for f in dataclasses.fields(cls)}
    out |= set(cls().to_dict()) | set(cls.attribute_map)
    return sorted(out)


lines = []
for name, cls in CLASSES.items():
    outer, text = cls if isinstance(cls, tuple) else (None, cls)
    line = {"class": name, "keys": names(text)}
    if outer:
        line["outer"] = names(outer)
    lines.append(json.dumps(line))
print("[\n" + ",\n".join(lines) + "\n]")
