"""What llama.cpp's converter reads out of model names: the rows of tests/unit/model_name.def.

    python tools/reference/model_names.py LLAMA_CPP_DIR > tests/unit/model_name.def
"""
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "gguf-py"))
from gguf.metadata import Metadata  # noqa: E402

NAMES = [
    ("Qwen3-0.6B", 6e8), ("Qwen3-30B-A3B-Instruct-2507", 30.5e9), ("Mixtral-8x7B-Instruct-v0.1", 46.7e9),
    ("Mistral-7B-v0.1", 7.2e9), ("Llama-3.2-1B-Instruct", 1.2e9), ("Meta-Llama-3-8B", 8e9),
    ("gemma-3-270m-it", 2.7e8), ("gemma-4-E2B-it", 5e9), ("SmolLM2-135M", 1.35e8),
    ("bloom-7b1", 7.1e9), ("Phi-3-mini-4k-instruct", 3.8e9), ("Phi-3-mini-128k-instruct", 3.8e9),
    ("phi-4", 14e9), ("DeepSeek-V2-Lite", 15.7e9), ("DeepSeek-R1-Distill-Qwen-7B", 7.6e9),
    ("gpt2", 1.2e8), ("gpt2-xl", 1.5e9), ("gpt-oss-20b", 20.9e9), ("OLMoE-1B-7B-0924", 6.9e9),
    ("granite-3.3-2b-instruct", 2.5e9), ("bge-small-en-v1.5", 3.3e7), ("TinyLlama-1.1B-Chat-v1.0", 1.1e9),
    ("Hermes-2-Pro-Llama-3-8B", 8e9), ("Nous-Hermes-llama-2-7b", 6.7e9), ("model", 1e6),
    ("llama", 1e6), ("deepseek-v2", 1e6), ("my model 7B", 7e9), ("Qwen2.5-7B-Instruct-1M", 7.6e9),
    ("Yi-1.5-9B-32K", 9e9), ("iter12-test", 1e6), ("a--b-", 1e6), ("7B-first", 7e9), ("x-large-v2", 1e8),
    ("x-large-1.5B", 1.5e9), ("Foo-F16", 1e9), ("Foo-q4_K_M", 1e9), ("Foo-7B-7B", 7e9),
    ("Foo-lora-vision", 1e9), ("Foo-1_3B", 1.3e9), ("smollm3", 3e9), ("CodeLlama-13b-Python-hf", 13e9),
    ("千问-7B-chat", 7e9), ("élève-v٣-7B", 7e9), ("x" * 70 + "-7B-" + "y" * 70, 7e9), ("-".join("abcdefgh" * 5) + "-7B", 7e9),
    # sizes that get a point each, to more bytes than the name has
    ("a-" + "-".join(f"{i}2345b{i % 10}" for i in range(10, 38)), 7e9),
]
print("/* NAME(name, parameters, basename, finetune, version, size), made by model_names.py. */")
for name, n in NAMES:
    _, _, basename, finetune, version, size = Metadata.get_model_id_components(name, int(n))
    row = ", ".join('"%s"' % (v or "") for v in (basename, finetune, version, size))
    print('NAME("%s", %.0f, %s)' % (name, n, row))
