"""Whether PEFT makes of exported adapters what hone makes of them. Run by hand; prints a line each.

    python tools/reference/peft_check.py HONE MODELS_DIR

For each model and kind of adapter below: hone trains it (two steps of a large rate, on random ids),
exports it, and both run model and adapter over the same ids in float32; the largest difference of
logits, over the largest logit, must be at most 1e-5. Then PEFT saves what it loaded, hone imports that,
and its logits must be the first ones, to 1e-6.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

HONE, MODELS = sys.argv[1:3]
torch.set_num_threads(1)

CASES = [
    ("llama", "attn,mlp,head"),
    ("llama", "attn:dora,mlp:dora"),
    ("llama", "attn:rs,mlp:rs:r=3"),
    ("llama", "attn,norm:full"),
    ("deepseek-v2", "attn,mlp"),
    ("deepseek-v3", "attn:dora"),
    ("deepseek-v3", "attn,experts,router"),
    ("deepseek-v3", "attn,mlp,router"),
    ("llama", "attn,embed:full,head:full"),
    ("gemma3", "attn:dora,mlp:dora,norm:full"),
    ("llama", "attn_v,embed"),
    ("llama-tied", "attn,embed"),
    ("qwen3moe", "attn,experts,router"),
    ("qwen3moe", "ffn_gate_exps:r=2,ffn_down_exps"),
    ("qwen3moe", "ffn_up_exps:r=5,attn_q"),
    ("qwen3moe", "ffn_gate_exps:r=2,ffn_up_exps:r=3"),
    ("mixtral", "attn,experts,router"),
    ("gemma4-moe", "attn,mlp,experts,router"),
    ("gemma4-e", "attn,mlp"),
    ("phi3", "attn,mlp"),
    ("phi3", "attn:dora,mlp:dora"),
    ("phi3", "attn_qkv:r=3,ffn_up:r=2,norm:full"),
    ("phi4-mini", "attn,mlp,embed"),
    ("olmoe", "attn,experts,router"),
    ("olmoe", "attn,norm:full"),
    ("granitemoe", "attn,experts,router"),
    ("granitemoe-shared", "attn,experts"),
    ("gemma3", "attn,norm:full"),
    ("gemma3n", "all"),
    ("gemma3n", "attn:dora,mlp:dora"),
    ("gpt2", "attn,mlp"),
    ("gpt2", "attn:dora,mlp:dora"),
    ("gpt2", "attn_output,embed"),
]


def run(*words):
    done = subprocess.run([HONE, *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(name, targets):
    base = os.path.join(MODELS, name)
    with tempfile.TemporaryDirectory() as d:
        g = torch.Generator().manual_seed(3)
        data, out = os.path.join(d, "ids.jsonl"), os.path.join(d, "run")
        with open(data, "w") as f:
            for _ in range(4):
                f.write(json.dumps({"ids": torch.randint(3, 250, (12,), generator=g).tolist()}) + "\n")
        run("train", base, "--data", data, "-o", out, "--steps", "4", "--batch", "4", "--rank", "4",
            "--rate", "3e-2", "--warmup", "0", "--schedule", "constant", "--targets", targets)
        peft = os.path.join(d, "peft")
        run("export", os.path.join(out, "adapter.gguf"), "--peft", peft, "--base", base)
        # hone's own logits: those of its self-test, over the first example's ids
        import gguf
        reader = gguf.GGUFReader(os.path.join(out, "adapter.gguf"))
        field = lambda key: [x for p in reader.fields[key].data for x in reader.fields[key].parts[p].tolist()]
        ids, mine = field("hone.adapter.test.tokens"), torch.tensor(field("hone.adapter.test.logits"))
        model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, attn_implementation="eager",
                                                     experts_implementation="eager").eval()
        with torch.no_grad():
            plain = model(torch.tensor([ids])).logits[0, -1]
            model = PeftModel.from_pretrained(model, peft).eval()
            theirs = model(torch.tensor([ids])).logits[0, -1]
        scale = mine.abs().max()
        again = [os.path.join(d, name) for name in ("again", "again.gguf", "first.npy", "again.npy")]
        model.save_pretrained(again[0])
        run("import", again[0], again[1], "--base", base)
        for adapter, logits in ((os.path.join(out, "adapter.gguf"), again[2]), (again[1], again[3])):
            run("logits", base, "--tokens", ",".join(map(str, ids)), "--lora", adapter, "--out", logits)
        first, back = (numpy.load(path) for path in again[2:])
        if numpy.abs(first - back).max() > 1e-6 * numpy.abs(first).max():
            raise RuntimeError(f"what PEFT saved gives other logits: {numpy.abs(first - back).max()}")
        return ((mine - theirs).abs().max() / scale).item(), ((mine - plain).abs().max() / scale).item()


worst = 0
for name, targets in CASES:
    try:
        distance, change = check(name, targets)
        bad = distance > 1e-5 or change < 1e-2
        print(f"{'BAD ' if bad else ''}{name} {targets}: {distance:.2g} (the adapter changes {change:.2g})")
        worst = max(worst, distance)
    except Exception as e:
        print(f"FAILED {name} {targets}: {str(e)[:300]}")
print(f"worst {worst:.2g}")
