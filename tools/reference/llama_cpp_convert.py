"""What llama.cpp's converter makes of the tiny models: every tensor and key, as JSON.

    python tools/reference/llama_cpp_convert.py LLAMA_CPP_DIR MODELS_DIR OUT.json

LLAMA_CPP_DIR is a checkout; its own gguf-py is used. Tokenizers are left out: they are compared
apart. A tensor is told by type, shape and the SHA-256 of its bytes.
"""
import hashlib
import json
import os
import struct
import sys
import tempfile
from pathlib import Path

root = sys.argv[1]
sys.path.insert(0, os.path.join(root, "gguf-py"))
sys.path.insert(0, root)
import gguf  # noqa: E402
from conversion import base as conversion_base  # noqa: E402
import conversion  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(1)


def plain(value, kind):
    """Floats as the eight digits of their bits: infinities are no JSON."""
    if isinstance(value, list):
        return [plain(v, kind) for v in value]
    if kind == "FLOAT32":
        return "%08x" % struct.unpack("<I", struct.pack("<f", value))[0]
    return value


def convert(path, ftype):
    hparams = conversion_base.ModelBase.load_hparams(Path(path), False)
    name = conversion_base.get_model_architecture(hparams, conversion_base.ModelType.TEXT)
    cls = conversion.get_model_class(name) if hasattr(conversion, "get_model_class") else \
        conversion_base.ModelBase.from_model_architecture(name)
    cls.set_vocab = lambda self: None
    with tempfile.TemporaryDirectory() as d:
        out = Path(d) / "out.gguf"
        with torch.inference_mode():
            cls(Path(path), ftype, out).write()
        return dump(out)


def dump(path):
    reader = gguf.GGUFReader(path)
    tensors, keys = {}, {}
    for t in reader.tensors:
        tensors[t.name] = [t.tensor_type.name, [int(n) for n in t.shape],
                           hashlib.sha256(t.data.tobytes()).hexdigest()]
    for key, field in reader.fields.items():
        if key.startswith(("GGUF.", "tokenizer.")):
            continue
        kinds = [t.name for t in field.types]
        keys[key] = [kinds, plain(field.contents(), kinds[-1])]
    return {"tensors": tensors, "keys": keys}


result = {}
for name in sorted(os.listdir(sys.argv[2])):
    path = os.path.join(sys.argv[2], name)
    if not os.path.exists(os.path.join(path, "config.json")) or name == "granitemoe-shared":  # its head_dim is lost
        continue
    for label, ftype in (("f32", gguf.LlamaFileType.ALL_F32),
                         ("bf16", gguf.LlamaFileType.MOSTLY_BF16)):
        try:
            result[f"{name}/{label}"] = convert(path, ftype)
        except Exception as e:
            print(f"{name}/{label}: {type(e).__name__}: {e}", file=sys.stderr)
with open(sys.argv[3], "w") as f:
    json.dump(result, f, indent=0, sort_keys=True)
print(len(result), "conversions")
