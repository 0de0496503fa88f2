"""Writes tests/differential/sentence: a tiny BERT of random weights, and what sentence-transformers
makes of texts with it: poolings, Normalize, truncation, special tokens written in a text.

    python tools/reference/sentence_vectors.py

Versions: sentence-transformers 6.2.0, transformers 5.23.0, torch 2.13.0.
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

HERE = pathlib.Path(__file__).resolve().parents[2] / "tests/differential/sentence"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MEAN = {"word_embedding_dimension": 16, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False}
TEXTS = ["a quiet text", "The [MASK] of words, [SEP] and more", "one two three four five six seven eight nine ten",
         "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz", ""]


def write_model(folder):
    folder.mkdir(parents=True, exist_ok=True)
    words = ["the", "text", "word", "quiet", "one", "two", "of", "and", "##s", "##ed"]
    pieces = SPECIAL + list(LETTERS) + ["##" + c for c in LETTERS] + words + [",", ".", "!"]
    t = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = decoders.WordPiece()
    t.add_special_tokens(SPECIAL)
    names = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    PreTrainedTokenizerFast(tokenizer_object=t, model_max_length=30, **names).save_pretrained(folder)
    torch.manual_seed(5)
    config = BertConfig(vocab_size=len(pieces), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=40)
    model = BertModel(config, add_pooling_layer=False)
    for p in model.parameters():
        p.data = torch.randn_like(p) * 0.3 + (1 if p.dim() == 1 else 0)
    model.to(torch.bfloat16).save_pretrained(folder)


def modules(*kinds):
    names = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize", "Dense": "2_Dense"}
    return [{"idx": i, "name": str(i), "path": names[k], "type": "sentence_transformers.models." + k}
            for i, k in enumerate(kinds)]


def pooling(**modes):
    return {**MEAN, "pooling_mode_mean_tokens": False, **{"pooling_mode_" + k: v for k, v in modes.items()}}


def cases():
    whole, short = {"max_seq_length": 40, "do_lower_case": False}, {"max_seq_length": 9, "do_lower_case": True}
    plain, unit = modules("Transformer", "Pooling"), modules("Transformer", "Pooling", "Normalize")
    yield {"modules.json": unit, "1_Pooling/config.json": MEAN, "sentence_bert_config.json": whole}
    yield {"modules.json": plain, "1_Pooling/config.json": MEAN, "sentence_bert_config.json": short}
    for mode in ("cls_token", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"):
        yield {"modules.json": plain, "1_Pooling/config.json": pooling(**{mode: True}), "sentence_bert_config.json": short}
    yield {"modules.json": unit, "1_Pooling/config.json": pooling(cls_token=True, max_tokens=True, mean_tokens=True),
           "sentence_bert_config.json": whole}
    yield {"modules.json": unit, "sentence_bert_config.json": whole,
           "1_Pooling/config.json": {"embedding_dimension": 16, "pooling_mode": "lasttoken", "include_prompt": True}}
    yield {"modules.json": plain, "1_Pooling/config.json": {"word_embedding_dimension": 16}}
    yield {}


def main():
    write_model(HERE / "model")
    out = []
    for files in cases():
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(HERE / "model", folder, dirs_exist_ok=True)
            for name, content in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(json.dumps(content))
            (pathlib.Path(folder) / "2_Normalize").mkdir(exist_ok=True)
            model = SentenceTransformer(folder, device="cpu", model_kwargs={"dtype": torch.float32})
            vectors = [model.encode(t, convert_to_numpy=True) for t in TEXTS]
            length = model.max_seq_length
        out.append({"files": files, "longest": length,
                    "vectors": [[float("%.8g" % x) for x in v] for v in vectors]})
        print(list(files.get("1_Pooling/config.json", {}).items())[:3], length, vectors[1][:3], file=sys.stderr)
    with open(HERE / "vectors.json", "w") as f:
        f.write('{"texts": %s,\n "cases": [\n' % json.dumps(TEXTS))
        f.write(",\n".join(json.dumps(c) for c in out) + "\n]}\n")


main()
