"""Tiny PEFT adapters over the tiny models, and what llama.cpp's converter makes of them, as JSON.

    python tools/reference/peft_adapters.py LLAMA_CPP_DIR MODELS_DIR OUT_DIR OUT.json

For each model below, OUT_DIR/NAME gets an adapter with random weights in both halves; OUT.json
tells every tensor of the GGUF file by type, shape and SHA-256, and every key. rsLoRA is left to
hone alone: llama.cpp's converter ignores it.
"""
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile

import gguf
import torch
import transformers as T
from peft import LoraConfig, get_peft_model

LLAMA_CPP, MODELS, OUT = sys.argv[1:4]
torch.set_num_threads(1)

ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
MLP = ["gate_proj", "up_proj", "down_proj"]
ADAPTERS = {
    "llama": dict(r=4, lora_alpha=8, target_modules=ATTENTION + MLP + ["lm_head"],
                  rank_pattern={"down_proj": 2}),
    "qwen3": dict(r=3, lora_alpha=5, target_modules=ATTENTION, layers_to_transform=[1]),
    "gemma3": dict(r=2, lora_alpha=16, target_modules=["q_proj", "v_proj", "gate_proj"]),
    "llama-tied": dict(r=4, lora_alpha=6, target_modules=["q_proj", "k_proj", "embed_tokens"]),
}


def make(name):
    torch.manual_seed(0)
    model = T.AutoModelForCausalLM.from_pretrained(os.path.join(MODELS, name), dtype=torch.float32)
    peft = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **ADAPTERS[name]))
    g = torch.Generator().manual_seed(sum(map(ord, name)))
    for key, p in sorted(peft.named_parameters()):
        if "lora_" in key:
            with torch.no_grad():
                p.copy_(torch.randn(p.shape, generator=g))
    peft.peft_config["default"].base_model_name_or_path = name
    path = os.path.join(OUT, name)
    peft.save_pretrained(path, save_embedding_layers=False)
    os.remove(os.path.join(path, "README.md"))
    return path


def convert(path, base):
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "out.gguf")
        subprocess.run([sys.executable, os.path.join(LLAMA_CPP, "convert_lora_to_gguf.py"), path,
                        "--base", base, "--outfile", out], check=True,
                       stdout=subprocess.DEVNULL)
        return dump(out)


def dump(path):
    """Floats as the eight digits of their bits, as in convert.json."""
    reader = gguf.GGUFReader(path)
    tensors = {t.name: [t.tensor_type.name, [int(n) for n in t.shape],
                        hashlib.sha256(t.data.tobytes()).hexdigest()] for t in reader.tensors}
    keys = {}
    for key, field in reader.fields.items():
        if not key.startswith("GGUF."):
            kinds, value = [t.name for t in field.types], field.contents()
            if kinds[-1] == "FLOAT32":
                value = "%08x" % struct.unpack("<I", struct.pack("<f", value))[0]
            keys[key] = [kinds, value]
    return {"tensors": tensors, "keys": keys}


result = {}
for name in ADAPTERS:
    adapter = make(name)
    try:
        result[name] = convert(adapter, os.path.join(MODELS, name))
    except subprocess.CalledProcessError as e:
        print(f"{name}: {e}", file=sys.stderr)
with open(sys.argv[4], "w") as f:
    json.dump(result, f, indent=0, sort_keys=True)
print(len(result), "adapters")
