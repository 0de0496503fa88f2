"""Keys and values of the files that llama.cpp's converter makes of the tiny models, tokenizers with them.

    python tools/reference/llama_cpp_keys.py LLAMA_CPP_DIR MODELS_DIR OUT_DIR [WHOLE_DIR]

LLAMA_CPP_DIR is a checkout; its own convert_hf_to_gguf and gguf-py run. Each model gets a tokenizer of
the kind that its family has, as small as its vocabulary, a model card and generation_config.json, for all
of these end in keys. One thing is told to the converter: which pre-tokenizer a BPE is, which it knows by
the digest of what a published tokenizer makes of a text.

OUT_DIR/NAME.gguf has the keys and no tensor: tests/differential/llama_cpp_keys.c puts them on the tensors
that hone's convert writes, which are llama.cpp's (tests/differential/convert.c). WHOLE_DIR gets the files
as the converter wrote them.
"""
import json
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path

ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "gguf-py"))
sys.path.insert(0, ROOT)
import gguf  # noqa: E402
import conversion  # noqa: E402
from conversion import base as conversion_base  # noqa: E402
import sentencepiece  # noqa: E402
import torch  # noqa: E402
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors  # noqa: E402

torch.set_num_threads(1)

# What the converter's table says of published tokenizers of the family.
PRE = {"llama": "llama-bpe", "llama-tied": "llama-bpe", "qwen2": "qwen2", "qwen3": "qwen2", "qwen3moe": "qwen2",
       "smollm3": "smaug-bpe", "granite": "refact", "granitemoe": "refact", "gpt-oss": "gpt-4o", "olmoe": "olmo",
       "gpt2": "gpt-2", "deepseek-v2": "deepseek-llm", "deepseek-v3": "deepseek-v3",
       "deepseek-v2-groups": "deepseek-llm", "bert": "bert-bge"}
SENTENCEPIECE = {"mistral", "mixtral", "mixtral-top4", "phi3", "phi4-mini", "gemma2", "gemma3", "gemma3n"}

CARD = """---
license: apache-2.0
license_name: apache
license_link: LICENSE
language: [en, de]
tags: [tiny, "a tag"]
pipeline_tag: text-generation
library_name: transformers
base_model: [someone/Base-7B]
datasets: [someone/some-data]
---
# Tiny
"""


def sentencepiece_model(path, n_vocab):
    with tempfile.TemporaryDirectory() as d:
        text = os.path.join(d, "text")
        with open(text, "w") as f:
            f.write("\n".join("ab" * (i % 5 + 1) + " " + "ba" * (i % 3 + 1) for i in range(200)))
        sentencepiece.SentencePieceTrainer.train(
            input=text, model_prefix=os.path.join(d, "m"), model_type="bpe", vocab_size=n_vocab, byte_fallback=True,
            pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="<pad>", hard_vocab_limit=False, minloglevel=2,
            add_dummy_prefix=True, remove_extra_whitespaces=False, normalization_rule_name="identity")
        shutil.copy(os.path.join(d, "m.model"), path / "tokenizer.model")
    classes = {"gemma": "GemmaTokenizer"}
    kind = next((c for k, c in classes.items() if path.name.startswith(k)), "LlamaTokenizer")
    (path / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": kind, "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>",
         "add_bos_token": True, "add_eos_token": False, "chat_template": "{{ messages[0].content }}"}))
    (path / "tokenizer.json").unlink()


def word_piece(path, n_vocab):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    words += letters + ["##" + c for c in letters]
    words += [a + b for a in letters for b in "aeiou" for a in [a]][:n_vocab - len(words)]
    words += ["##" + a + b for a in letters for b in "aeiou"][:n_vocab - len(words)]
    tok = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer(lowercase=True)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tok.add_special_tokens(words[:5])
    tok.save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "BertTokenizer", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]",
         "unk_token": "[UNK]", "mask_token": "[MASK]", "do_lower_case": True}))


def gemma4(path, n_vocab):
    words = ["<pad>", "<s>", "</s>", "<unk>"] + ["<0x%02X>" % i for i in range(256)]
    words += ["a", "b", "\u2581", "ab", "ba", "\u2581a", "<|channel>"][:n_vocab - len(words)]
    tok = Tokenizer(models.BPE({w: i for i, w in enumerate(words)}, [("a", "b"), ("b", "a"), ("\u2581", "a")],
                               unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tok.normalizer = normalizers.Replace(" ", "\u2581")
    tok.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tok.add_special_tokens(["<pad>", "<s>", "</s>", "<unk>", "<|channel>"])
    tok.save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>",
         "unk_token": "<unk>"}))


def stage(source, to):
    for f in os.listdir(source):
        if not f.endswith(".safetensors"):
            shutil.copy(os.path.join(source, f), to / f)
        else:
            os.symlink(os.path.abspath(os.path.join(source, f)), to / f)
    name = to.name
    config = json.loads((to / "config.json").read_text())
    n_vocab = config.get("vocab_size") or config["text_config"]["vocab_size"]
    if name in SENTENCEPIECE:
        sentencepiece_model(to, n_vocab)
    elif name == "bert":
        word_piece(to, n_vocab)
    elif name.startswith("gemma4"):
        gemma4(to, n_vocab)
    else:
        told = json.loads((to / "tokenizer_config.json").read_text())
        told.update({"add_bos_token": name.startswith("llama"), "add_prefix_space": False,
                     "chat_template": "{{ messages[0].content }}"})
        (to / "tokenizer_config.json").write_text(json.dumps(told))
    (to / "README.md").write_text(CARD)
    generation = to / "generation_config.json"
    values = json.loads(generation.read_text()) if generation.exists() else {}
    values.update({"do_sample": True, "temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.05,
                   "repetition_penalty": 1.1})
    generation.write_text(json.dumps(values))


def convert(path, out):
    hparams = conversion_base.ModelBase.load_hparams(path, False)
    name = conversion_base.get_model_architecture(hparams, conversion_base.ModelType.TEXT)
    cls = conversion.get_model_class(name)
    cls.get_vocab_base_pre = lambda self, tokenizer: PRE[path.name]
    with torch.inference_mode():
        cls(path, gguf.LlamaFileType.ALL_F32, out).write()


def keys_alone(path):
    """The file up to its tensors, which become none."""
    reader = gguf.GGUFReader(path)
    fields = [f for k, f in reader.fields.items() if not k.startswith("GGUF.")]
    end = max(f.offset + sum(int(p.nbytes) for p in f.parts) for f in fields)
    whole = Path(path).read_bytes()
    n_keys = struct.unpack("<Q", whole[16:24])[0]
    assert n_keys == len(fields)
    return whole[:8] + struct.pack("<QQ", 0, n_keys) + whole[24:end] + bytes(-end % 32)


os.makedirs(sys.argv[3], exist_ok=True)
whole_dir = sys.argv[4] if len(sys.argv) > 4 else None
for name in sorted(os.listdir(sys.argv[2])):
    if not os.path.exists(os.path.join(sys.argv[2], name, "config.json")):
        continue
    with tempfile.TemporaryDirectory() as d:
        path, out = Path(d) / name, Path(d) / "out.gguf"
        path.mkdir()
        stage(os.path.join(sys.argv[2], name), path)
        try:
            convert(path, out)
        except Exception as e:
            print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr)
            continue
        text = keys_alone(out)
        (Path(sys.argv[3]) / f"{name}.gguf").write_bytes(text)
        if whole_dir:
            os.makedirs(whole_dir, exist_ok=True)
            shutil.copy(out, Path(whole_dir) / f"{name}.gguf")
        print(f"{name}: {len(text)} bytes")
