#!/usr/bin/env python3
"""Speed of `tokenizers` on one thread, and the text to compare on.

    tokenizers_bench.py --text OUT                 10 MB: prose, code and many scripts
    tokenizers_bench.py --json MODEL.gguf OUT.json  a vocabulary in GGUF as tokenizer.json
    tokenizers_bench.py TEXT TOKENIZER.json        MB/s, fed in lines of 4 kB as a server would,
                                                   and whole
"""
import glob
import os
import random
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCRIPTS = [(0x430, 0x44F), (0x3B1, 0x3C9), (0x5D0, 0x5EA), (0x627, 0x64A), (0x905, 0x939), (0xE01, 0xE2E),
           (0x3041, 0x3093), (0x30A1, 0x30F6), (0x4E00, 0x5E00), (0xAC00, 0xB000), (0xE0, 0xFF)]


def words_of(r, n):
    out = []
    for _ in range(n):
        low, high = r.choice(SCRIPTS)
        vocabulary = random.Random(r.randrange(300) * 997 + low)
        out.append("".join(chr(vocabulary.randint(low, high)) for _ in range(vocabulary.randint(2, 7))))
    return " ".join(out) + r.choice([".", "。", "!", ","]) + "\n"


def make(path):
    r = random.Random(1)
    prose = "".join(open(f, encoding="utf-8").read() for f in sorted(glob.glob(ROOT + "/docs/*.md")) + [ROOT + "/README.md"])
    code = "".join(open(f, encoding="utf-8").read() for f in sorted(glob.glob(ROOT + "/src/*/*.c"))[:150])
    out, size = [], 0
    while size < 10_000_000:
        source = r.choice([prose, prose, code, None])
        at = r.randrange(len(source)) if source else 0
        part = source[at:at + r.randint(200, 3000)] if source else "".join(words_of(r, 12) for _ in range(10))
        out.append(part)
        size += len(part.encode())
    with open(path, "wb") as file:
        file.write("".join(out).encode()[:10_000_000].decode("utf-8", "ignore").encode())


def read_gguf(path):
    import gguf
    out = {}
    for key, field in gguf.GGUFReader(path).fields.items():
        if key.startswith("tokenizer.ggml."):
            out[key[15:]] = field.contents()
    return out


def merges_of(meta):
    """What a table of scores merges, best first."""
    if "merges" in meta:
        return [m.split(" ", 1) for m in meta["merges"]]
    pieces = {t for t, k in zip(meta["tokens"], meta["token_type"]) if k == 1}
    score = dict(zip(meta["tokens"], meta["scores"]))
    made = sorted((t for t in pieces if len(t) > 1), key=lambda t: -score[t])
    return [[t[:i], t[i:]] for t in made for i in range(1, len(t)) if t[:i] in pieces and t[i:] in pieces]


def to_json(path, out):
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    import tokenizers_reference as reference
    meta = read_gguf(path)
    vocab = {t: i for i, t in enumerate(meta["tokens"])}
    if meta["model"] == "bert":
        marked = {(t[1:] if t[0] == "▁" else t if t[0] == "[" and t[-1] == "]" else "##" + t): i for t, i in vocab.items()}
        tok = Tokenizer(models.WordPiece(marked, unk_token="[UNK]"))
        tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        tok.decoder = decoders.WordPiece()
        tok.save(out)
        return
    merges = [tuple(m) for m in merges_of(meta)]
    if meta["model"] == "gpt2":
        tok = Tokenizer(models.BPE(vocab, merges, ignore_merges=meta["pre"] == "llama-bpe"))
        pattern = {"llama-bpe": "llama3", "qwen2": "qwen2"}.get(meta["pre"])
        steps = [pre_tokenizers.Split(Regex(p), "isolated") for p in reference.PATTERNS[pattern]] if pattern else []
        tok.pre_tokenizer = pre_tokenizers.Sequence(steps + [pre_tokenizers.ByteLevel(False, use_regex=not pattern)])
        tok.decoder = decoders.ByteLevel()
    else:
        tok = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        replace = normalizers.Replace(" ", "▁")
        is_llama = meta["model"] == "llama"
        tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), replace]) if is_llama else replace
        tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tok.add_special_tokens([AddedToken(t, normalized=False) for t, k in zip(meta["tokens"], meta["token_type"]) if k == 3])
    tok.save(out)


def main():
    if sys.argv[1] == "--json":
        to_json(*sys.argv[2:])
        return
    if sys.argv[1] == "--text":
        make(sys.argv[2])
        return
    from tokenizers import Tokenizer
    tok = Tokenizer.from_file(sys.argv[2])
    text = open(sys.argv[1], encoding="utf-8", newline="").read()
    size = len(text.encode()) / 1e6
    parts = [text[i:i + 4000] for i in range(0, len(text), 4000)]
    for name, batch in (("4 kB parts", parts), ("whole", [text])):
        best = 1e9
        for _ in range(2):
            start = time.perf_counter()
            for part in batch:
                tok.encode(part, add_special_tokens=False)
            best = min(best, time.perf_counter() - start)
        print(f"{name}: {size / best:.2f} MB/s")


if __name__ == "__main__":
    main()
