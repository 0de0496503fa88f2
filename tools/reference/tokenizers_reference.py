#!/usr/bin/env python3
"""Makes tests/differential/tokenizers: small tokenizers of each family, trained here, and what
`tokenizers` (see requirements-tokenizers.txt) makes of 10,000 random texts, of every character and of the
texts below with each of them.

    tokenizers_reference.py [FAMILY...]       writes FAMILY.json and FAMILY.ref
    tokenizers_reference.py --print FAMILY N  prints text N and its tokens, to look into a difference
"""
import io
import json
import os
import sys

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

import tokenizers_text as texts
from charsmap import charsmap

N_RANDOM, BLOCK, SWEEP = 10000, 100, 4096
GPT2_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASED_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
CJK = "[一-龥ࠀ-一가-퟿]+"
LETTERS = ("A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗ"
           "ὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳ"
           "Ꙁ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃")
PATTERNS = {
    "llama3": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + GPT2_TAIL],
    "qwen2": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + GPT2_TAIL],
    "qwen35": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
               r"|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "deepseek-llm": [r"[\r\n]", r"\s?[" + LETTERS + "]+", "\\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", CJK, r"\p{N}+"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"],
    "deepseek-v3": [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
                    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"],
    "tekken": [rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*|\p{{N}}" + CASED_TAIL],
    "o200k": [rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}?"
              r"|\p{N}{1,3}" + CASED_TAIL],
    "bloom": [BLOOM],
    "viking": [BLOOM, r"\p{N}"],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
}
ENGLISH = ("The quick brown fox jumps over the lazy dog. It's what they've said: don't, we'll, I'm; 1234567890 and 3.14!\n"
           "def main(argc, argv):\n    return [x for x in range(10) if x % 2 == 0]  # comment\n\n"
           "Größe naïve café Ünïcödé Привет мир, как дела? 你好，世界！今天天气很好。 こんにちは世界 안녕하세요 세계 "
           "नमस्ते दुनिया مرحبا بالعالم שלום עולם สวัสดีชาวโลก 😀👍🏽👨‍👩‍👧 \t\t  \r\n   x = {\"a\": 1, 'b': [2, 3]};\n")


def corpus():
    lines = [ENGLISH] * 20
    lines += [texts.random_text(10 ** 6 + i) for i in range(3000)]
    return lines


def byte_level(steps, vocab=700, **model):
    tok = Tokenizer(models.BPE(**model))
    tok.pre_tokenizer = pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=vocab, show_progress=False, special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tok


def by_patterns(patterns, **model):
    steps = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return byte_level(steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)], **model)


def with_bytes(tok, extra=()):
    """Puts tokens for bytes before a trained vocabulary, which the trainer cannot."""
    data = json.loads(tok.to_str())
    old = data["model"]["vocab"]
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + list(extra)
    names += [t for t in sorted(old, key=old.get) if t not in names]
    data["model"].update(vocab={t: i for i, t in enumerate(names)}, byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    data["added_tokens"] = [dict(id=i, content=t, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
                            for i, t in enumerate(names[:3])]
    return Tokenizer.from_str(json.dumps(data))


def spm(prepends):
    tok = Tokenizer(models.BPE())
    replace = normalizers.Replace(" ", "▁")
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), replace]) if prepends else replace
    tok.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    tok.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=900, show_progress=False, special_tokens=["<unk>"],
                                                          limit_alphabet=300))
    tok.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous") if not prepends else None
    data = json.loads(tok.to_str())
    data["pre_tokenizer"] = json.loads(tok.to_str())["pre_tokenizer"] if not prepends else None
    tok = with_bytes(Tokenizer.from_str(json.dumps(data)))
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tok.decoder = decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if prepends else []))
    return tok


def unigram(byte_fallback=False):
    tok = Tokenizer(models.Unigram())
    tok.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")])
    tok.decoder = decoders.Metaspace("▁", "always")
    tok.train_from_iterator([ENGLISH] * 20 + [w * 2 for w in ENGLISH.split()], trainers.UnigramTrainer(vocab_size=700, show_progress=False, unk_token="<unk>",
                                                              special_tokens=["<pad>", "</s>", "<unk>"]))
    tok.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return tok


def nmt_nfkc():
    """sentencepiece's own map, out of a model that it makes: normalizer_spec.precompiled_charsmap."""
    import sentencepiece

    def fields(message):
        """Number -> bytes, of a protobuf message's fields; numbers themselves are passed over."""
        out, at = {}, 0

        def number():
            nonlocal at
            value, shift = 0, 0
            while True:
                byte = message[at]
                at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
                if byte < 128:
                    return value

        while at < len(message):
            key = number()
            if key & 7 == 0:
                number()
            else:
                size = number() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
                out[key >> 3], at = message[at:at + size], at + size
        return out

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([ENGLISH.replace("\n", " ")] * 20), model_writer=out, vocab_size=300, hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc", minloglevel=2)
    return fields(fields(out.getvalue())[3])[2]


def precompiled(rules):
    """Every byte has a token, so that every character left shows."""
    pieces = [("<unk>", 0.0)] + [(f"<0x{b:02X}>", -10.0) for b in range(256)]
    pieces += [(p, -3.0 - 0.01 * i) for i, p in enumerate(("\u2581", "a", "b", "e", "\u2581a", "fi", "1", "ab", "\u00e9", "\u30ac"))]
    tok = Tokenizer(models.Unigram(pieces, 0, True))
    tok.normalizer = normalizers.Sequence([normalizers.Precompiled(rules), normalizers.Replace(Regex(" {2,}"), " ")])
    tok.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", "always")
    tok.decoder = decoders.Metaspace("\u2581", "always")
    return tok


BLANKS = "\t\n\v\f\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
ODD = {"a": "xy", "ab": "no shorter", "b\u0301": "longer", "\r": "cr", "\u0340": "<", "\u00a9": "(c)", "\u1161": "V", "\u11a8": "T",
       "\u0915": "k", "\u094d": "", "\u200d": "-", "\u0600": "#", "\u1100": "L", "\uac00": "ga", "\u0301": "'", "\U0001f468": "man",
       "\U000110bd": "@", "\u0e33": "am", "\u00ad": "", "e\u0301": "\u00e9", "\u0995\u09cd": "K", **{c: " " for c in BLANKS}}


def precompiled_odd():
    """A map made to show how clusters are cut, in a tokenizer that GGUF has words for."""
    chars = sorted((set("".join(ODD.values())) | {chr(c) for row in texts.ALPHABET["cluster"] for c in row} | set("b12\u2581")) - set(BLANKS + "\r "))
    tok = Tokenizer(models.Unigram([("<unk>", 0.0)] + [(c, -3.0 - 0.01 * i) for i, c in enumerate(chars)], 0, False))
    tok.normalizer = normalizers.Precompiled(charsmap(ODD))
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("\u2581", "always")])
    tok.decoder = decoders.Metaspace("\u2581", "always")
    return tok


def bert(lower):
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer(lowercase=lower)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece()
    tok.train_from_iterator(corpus(), trainers.WordPieceTrainer(
        vocab_size=900, show_progress=False, limit_alphabet=350, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    tok.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tok


def level():
    tok = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    tok.train_from_iterator(corpus(), trainers.WordLevelTrainer(vocab_size=800, show_progress=False,
                                                                special_tokens=["[UNK]", "<|end|>"]))
    return tok


def gpt2():
    return byte_level([pre_tokenizers.ByteLevel(add_prefix_space=False)])


def added():
    """Every flag that an added token can have."""
    tok = byte_level([pre_tokenizers.ByteLevel(add_prefix_space=True)])
    tok.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(),
                                           normalizers.Strip()])
    tok.add_tokens([AddedToken("word", single_word=True), AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False),
                    AddedToken("Ünï", normalized=True), AddedToken("ab", normalized=False), AddedToken("abc", normalized=False),
                    AddedToken("  ", normalized=False), AddedToken("'s", normalized=True)])
    tok.add_special_tokens([AddedToken("<s>", rstrip=True), AddedToken("[UNK]", lstrip=True)])
    return tok


def falcon():
    return byte_level([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
                       pre_tokenizers.Digits(individual_digits=False),
                       pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])


def words():
    tok = byte_level([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True),
                      pre_tokenizers.Punctuation("merged_with_next"), pre_tokenizers.CharDelimiterSplit("x"),
                      pre_tokenizers.Split(Regex(r"[A-Z]"), "merged_with_previous"),
                      pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.normalizer = normalizers.NFKD()
    return tok


def qwen2():
    tok = by_patterns(PATTERNS["qwen2"])
    tok.normalizer = normalizers.NFC()
    return tok


FAMILIES = {
    "gpt2": gpt2,
    "llama3": lambda: by_patterns(PATTERNS["llama3"], ignore_merges=True),
    "qwen2": qwen2,
    "qwen35": lambda: by_patterns(PATTERNS["qwen35"]),
    "starcoder": lambda: byte_level([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]),
    "falcon": falcon,
    **{name: (lambda name=name: by_patterns(PATTERNS[name])) for name in
       ("deepseek-llm", "deepseek-coder", "deepseek-v3", "tekken", "o200k", "bloom", "viking", "superbpe")},
    "llama": lambda: spm(True),
    "gemma4": lambda: spm(False),
    "t5": unigram,
    "bert": lambda: bert(True),
    "bert-cased": lambda: bert(False),
    "level": level,
    "added": added,
    "words": words,
    "precompiled": lambda: precompiled(nmt_nfkc()),
    "precompiled-odd": precompiled_odd,
}


def explicit():
    with open(os.path.join(texts.FOLDER, "explicit.json"), encoding="utf-8") as file:
        return json.load(file)


def ids_of(tok, batch):
    return [e.ids for e in tok.encode_batch_fast(batch, add_special_tokens=False)]


def hashes(tok, numbers, text_of, block):
    out = []
    for at in range(0, len(numbers), block):
        state = 0xCBF29CE484222325
        for ids in ids_of(tok, [text_of(n) for n in numbers[at:at + block]]):
            state = texts.fnv(ids, state)
        out.append(state)
    return out


def write(family):
    tok = FAMILIES[family]()
    path = os.path.join(texts.FOLDER, family)
    text = tok.to_str(pretty=False)
    with open(path + ".json", "w", encoding="utf-8") as file:
        file.write(text)
    tok = Tokenizer.from_str(text)
    tok.encode_special_tokens = False
    chars = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    with open(path + ".ref", "w", encoding="ascii") as file:
        for i, ids in enumerate(ids_of(tok, explicit())):
            file.write(f"explicit {i} {texts.fnv(ids):016x}\n")
        for i, h in enumerate(hashes(tok, list(range(N_RANDOM)), texts.random_text, BLOCK)):
            file.write(f"random {i} {h:016x}\n")
        if family.startswith("precompiled"):
            for i, h in enumerate(hashes(tok, list(range(N_RANDOM)), texts.cluster_text, BLOCK)):
                file.write(f"cluster {i} {h:016x}\n")
        for i, h in enumerate(hashes(tok, chars, texts.sweep_text, SWEEP)):
            file.write(f"sweep {i} {h:016x}\n")
    print(family, tok.get_vocab_size(), os.path.getsize(path + ".json"), flush=True)


def main():
    if sys.argv[1:2] == ["--print"]:
        tok = Tokenizer.from_file(os.path.join(texts.FOLDER, sys.argv[2] + ".json"))
        text = texts.random_text(int(sys.argv[3]))
        e = tok.encode(text, add_special_tokens=False)
        print(ascii(text), len(e.ids), e.ids, e.tokens, sep="\n")
        return
    for family in sys.argv[1:] or FAMILIES:
        write(family)


if __name__ == "__main__":
    main()
