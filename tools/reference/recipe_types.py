"""Which type llama.cpp's quantizer gives each tensor, as JSON: tests/unit/recipe.json.

    python tools/reference/recipe_types.py HONE LIBLLAMA_DIR OUT.json

HONE makes random models; LIBLLAMA_DIR holds libllama.so and libggml*.so, built for the CPU. The
types of a tensor in all layers, by name and shape, are told as runs: "4:Q6_K 1:Q4_K"; "-" where it is
missing.
"""
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

import gguf

HONE, LIB, OUT = sys.argv[1:4]
for name in ("libggml-base.so", "libggml-cpu.so", "libggml.so"):
    ctypes.CDLL(os.path.join(LIB, name), mode=ctypes.RTLD_GLOBAL)
llama = ctypes.CDLL(os.path.join(LIB, "libllama.so"))
LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
quiet = LOG(lambda level, text, data: None)
llama.llama_log_set(quiet, None)


class Params(ctypes.Structure):
    _fields_ = [("nthread", ctypes.c_int32), ("ftype", ctypes.c_int), ("output", ctypes.c_int),
                ("embedding", ctypes.c_int), ("requantize", ctypes.c_bool),
                ("quantize_output", ctypes.c_bool), ("only_copy", ctypes.c_bool),
                ("pure", ctypes.c_bool), ("keep_split", ctypes.c_bool), ("dry_run", ctypes.c_bool),
                ("imatrix", ctypes.c_void_p), ("overrides", ctypes.c_void_p),
                ("tensor_overrides", ctypes.c_void_p), ("prune", ctypes.c_void_p),
                ("max_buf", ctypes.c_size_t)]


class Importance(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


llama.llama_model_quantize_default_params.restype = Params
llama.llama_model_quantize.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Params)]
one = (ctypes.c_float * 1)(1.0)
importance = (Importance * 2)(Importance(b"none.weight", ctypes.cast(one, ctypes.c_void_p), 1),
                              Importance(None, None, 0))

TYPES = {"Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K_S": 11,
         "Q3_K_M": 12, "Q3_K_L": 13, "Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16, "Q5_K_M": 17,
         "Q6_K": 18, "Q2_K_S": 21, "IQ4_NL": 25, "IQ4_XS": 30, "TQ1_0": 36, "TQ2_0": 37, "MXFP4": 38}
WEIGHTED = ("Q4_0", "Q5_0", "IQ4_NL", "IQ4_XS", "Q4_K_M")  # again, with importance
SMALL = "width=256 ffn=256 vocab=300 context=64"
MODELS = {
    "dense": f"llama {SMALL} layers=32 heads=4 kv_heads=4",
    "shared": f"llama {SMALL} layers=32 heads=8 kv_heads=2 tied=true",
    "eighty": f"llama {SMALL} layers=80 heads=8 kv_heads=4",
    "mixtral": f"llama {SMALL} layers=16 heads=8 kv_heads=2 experts=8 used=2 expert_ffn=256",
    "experts": f"qwen3moe {SMALL} layers=9 heads=4 kv_heads=2 experts=4 expert_ffn=256",
    "odd": "qwen2 width=288 ffn=320 heads=3 kv_heads=3 head_dim=96 layers=16 vocab=300 context=64",
    "tiny": "qwen3 width=80 ffn=112 heads=2 kv_heads=2 head_dim=48 layers=8 vocab=300 context=64",
    "fused": f"phi3 {SMALL} layers=16 heads=4 kv_heads=4",
    "gpt2": f"gpt2 {SMALL} layers=12 heads=4 kv_heads=4",
    "gemma3n": f"gemma3n {SMALL} layers=10 heads=4 kv_heads=2 ple=256",
    "gemma4": f"gemma4 {SMALL} layers=12 heads=4 kv_heads=2 head_dim=64 ple=0 k_eq_v=true",
    "deepseek2": f"deepseek2 {SMALL} layers=16 heads=4 experts=4 expert_ffn=256 "
                 "attention.kv_lora_rank=256 attention.q_lora_rank=256",
}


def layered(name):
    return re.sub(r"^blk\.\d+\.", "blk.#.", name)


def runs(types):
    out = []
    for t in types:
        if out and out[-1][1] == t:
            out[-1][0] += 1
        else:
            out.append([1, t])
    return " ".join(f"{n}:{t}" for n, t in out)


def read(path, n_layer):
    found = {}
    for t in gguf.GGUFReader(path).tensors:
        name = layered(t.name) + "|" + ",".join(str(n) for n in t.shape[::-1])
        at = int(t.name.split(".")[1]) if "#" in name else 0
        row = found.setdefault(name, ["-"] * (n_layer if "#" in name else 1))
        row[at] = t.tensor_type.name
    return found


def describe(path):
    fields = gguf.GGUFReader(path).fields
    arch = fields["general.architecture"].contents()

    def get(key):
        f = fields.get(f"{arch}.{key}")
        value = f.contents() if f else 0
        return value[0] if isinstance(value, list) else value
    return {"arch": arch, "layers": get("block_count"), "heads": get("attention.head_count"),
            "kv_heads": get("attention.head_count_kv") or get("attention.head_count"),
            "experts": get("expert_count")}


result = {}
with tempfile.TemporaryDirectory() as d:
    source, target = os.path.join(d, "in.gguf"), os.path.join(d, "out.gguf")
    for name, words in MODELS.items():
        arch, *rest = words.split()
        subprocess.run([HONE, "new", arch, source, *rest], check=True)
        model = describe(source)
        before = read(source, model["layers"])
        model["output"] = any(n.startswith("output.weight|") for n in before)
        values = [row for n, row in before.items() if n.startswith("blk.#.attn_v.weight|")]
        model["values"] = runs("-" if all(t == "-" for t in ts) else "v" for ts in zip(*values))
        model["types"] = {}
        for label, ftype in [(t, TYPES[t]) for t in TYPES] + [(t + "+", TYPES[t]) for t in WEIGHTED]:
            p = llama.llama_model_quantize_default_params()
            p.nthread, p.ftype = 1, ftype
            if label.endswith("+"):
                p.imatrix = ctypes.cast(importance, ctypes.c_void_p)
            if llama.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(p)):
                print(f"{name} {label}: refused", file=sys.stderr)
                continue
            after = read(target, model["layers"])
            model["types"][label] = {n: runs(after[n]) for n in before if "," in n}
        result[name] = model
        print(name, len(model["types"]), flush=True)
with open(OUT, "w") as f:
    json.dump(result, f, indent=0, sort_keys=True)
