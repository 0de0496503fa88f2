#!/usr/bin/env python3
"""The built-in model, twice as wide, with the same function: what docs/quantisation.md measures int8 on.

    hone tiny tiny.gguf && tools/reference/widen.py tiny.gguf wide.gguf [sharpen]

Every channel of the residual stream and of the experts is there twice, and the weights that read it are cut into two
uneven parts, so that rows are long enough for blocks of 256. `sharpen`: half a percent of channels (one at least of each
norm, of the values and of the experts) are scaled by 30, and what reads them by its inverse.
"""
import sys

import gguf
import numpy as np

source, target = sys.argv[1:3]
sharp = sys.argv[3:] == ["sharpen"]
rng = np.random.default_rng(7)
reader = gguf.GGUFReader(source)
arch = bytes(reader.fields["general.architecture"].parts[-1]).decode()
tensors = {t.name: np.array(gguf.quants.dequantize(t.data, t.tensor_type), dtype=np.float64).reshape(t.shape[::-1])
           for t in reader.tensors}


def cut(w):
    """Columns [a w, (1 - a) w]."""
    a = rng.uniform(0.2, 0.8, w.shape[-1])
    return np.concatenate([w * a, w * (1 - a)], axis=-1)


def twice(w, axis):
    return np.concatenate([w, w], axis=axis)


out = {}
for name, w in tensors.items():
    part = name.split(".", 2)[-1]
    if name == "token_embd.weight":
        out[name] = twice(w, 1)
        out["output.weight"] = cut(w)
    elif name == "output_norm.weight" or part in ("attn_norm.weight", "ffn_norm.weight"):
        out[name] = twice(w, 0)
    elif part in ("attn_q.weight", "attn_k.weight", "attn_v.weight", "ffn_gate_inp.weight"):
        out[name] = cut(w)
    elif part == "attn_output.weight":
        out[name] = twice(w, 0)
    elif part in ("ffn_gate_exps.weight", "ffn_up_exps.weight"):
        out[name] = twice(cut(w), 1)
    elif part == "ffn_down_exps.weight":
        out[name] = twice(cut(w), 1)
    elif part in ("attn_q_norm.weight", "attn_k_norm.weight"):
        out[name] = w
    else:
        sys.exit(f"{name}: not known")

if sharp:
    for name in [n for n in out if n.endswith("_norm.weight") and not n.endswith(("q_norm.weight", "k_norm.weight"))]:
        width = out[name].shape[0]
        chosen = rng.choice(width, max(1, round(width * 0.005)), replace=False)
        out[name][chosen] *= 30
        blk = name.rsplit(".", 2)[0] + "."
        readers = {"output_norm.weight": ["output.weight"],
                   "attn_norm.weight": [blk + p + ".weight" for p in ("attn_q", "attn_k", "attn_v")],
                   "ffn_norm.weight": [blk + p + ".weight" for p in ("ffn_gate_exps", "ffn_up_exps", "ffn_gate_inp")]}
        for r in readers[name if name == "output_norm.weight" else name.split(".", 2)[-1]]:
            out[r][..., chosen] /= 30
    for name in [n for n in out if n.endswith(("attn_v.weight", "ffn_up_exps.weight"))]:
        rows = out[name].shape[-2]
        chosen = rng.choice(rows, max(1, round(rows * 0.005)), replace=False)
        out[name][..., chosen, :] *= 30
        other = name.replace("attn_v", "attn_output").replace("ffn_up_exps", "ffn_down_exps")
        if out[other].shape[-1] != rows:
            sys.exit(f"{other}: keys and values are shared by heads")
        out[other][..., chosen] /= 30

writer = gguf.GGUFWriter(target, arch)
wide = {arch + ".embedding_length", arch + ".expert_feed_forward_length", arch + ".feed_forward_length"}
for key, field in reader.fields.items():
    if key.startswith("GGUF.") or key == "general.architecture":
        continue
    kind = field.types[0]
    value = field.contents()
    if key in wide:
        value *= 2
    writer.add_key_value(key, value, kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
for name, w in out.items():
    writer.add_tensor(name, w.astype(np.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
