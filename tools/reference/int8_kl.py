#!/usr/bin/env python3
"""What int8 numerics cost by format, as docs/quantisation.md has it: KL from f32 beside the format's own from the weights
that it was made of, the worst token, and how often the likeliest token changes.

    hone tiny tiny.gguf; tools/reference/widen.py tiny.gguf wide.gguf; tools/reference/widen.py tiny.gguf sharp.gguf sharpen
    hone story --count 120 --first 100000 --out text.txt
    tools/reference/int8_kl.py build/hone text.txt wide.gguf sharp.gguf
"""
import subprocess
import sys
import tempfile

import numpy as np
from safetensors.numpy import load_file

hone, text, *models = sys.argv[1:]
formats = ["q1_0", "tq1_0", "tq2_0", "q2_0", "q2_k", "q3_k", "iq4_xs", "mxfp4", "iq4_nl", "nvfp4", "q4_0", "q4_k", "q4_1",
           "q5_0", "q5_k", "q5_1", "q6_k", "q8_0"]


def logits(model, numerics, to):
    subprocess.run([hone, "perplexity", model, text, "--chunk", "256", "--chunks", "24", "--numerics", numerics, "--save", to,
                    "--overwrite"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    parts = load_file(to)
    rows = np.concatenate([np.atleast_2d(parts[k]).reshape(-1, parts[k].shape[-1]) for k in sorted(parts)
                           if parts[k].dtype == np.float32]).astype(np.float64)
    rows -= rows.max(-1, keepdims=True)
    return rows - np.log(np.exp(rows).sum(-1, keepdims=True))


def compare(p, q):
    kl = (np.exp(p) * (p - q)).sum(-1)
    return kl.mean(), kl.max(), (p.argmax(-1) != q.argmax(-1)).mean() * 100


with tempfile.TemporaryDirectory() as folder:
    for model in models:
        print(f"\n{model}\n\n| format | its own KL | KL of int8 | of it | worst token | likeliest changes |\n|---|---|---|---|---|---|")
        base = logits(model, "f32", folder + "/base.st")
        for name in formats:
            small = folder + "/q.gguf"
            subprocess.run([hone, "quantize", model, small, "q8_0", "--keep", "*=" + name, "--overwrite"], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            f32, int8 = logits(small, "f32", folder + "/f.st"), logits(small, "int8", folder + "/i.st")
            own, cost = compare(base, f32), compare(f32, int8)
            print(f"| {name} | {own[0]:.4f} | {cost[0]:.4f} | {cost[0] / own[0]:.3f} | {cost[1]:.3f} | {cost[2]:.1f} % |", flush=True)
