#!/usr/bin/env python3
"""Writes src/text/unicode/grapheme_tables.h: what the pinned `tokenizers` takes each character for when it
looks for grapheme clusters, which it does in `Precompiled` alone.

    grapheme_tables.py > src/text/unicode/grapheme_tables.h

A cluster of up to five bytes is looked up whole and replaced by what its shortest beginning
stands for; a longer one goes character by character. So whether a mapped character x begins a
cluster shows in what follows it: of x and U+0301 the mark stays only if x did not. Every
character is asked between such neighbours, and its answers are its class."""
import sys

from tokenizers import normalizers

from charsmap import charsmap

ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
MARK, PICT, ZWJ, L, V, T, KA, VIRAMA, GRAVE = (
    "\u0301", "\u00a9", "\u200d", "\u1100", "\u1161", "\u11a8", "\u0915", "\u094d", "\u0340")
STEP = normalizers.Precompiled(charsmap({c: "\ue000" for c in ("a", PICT, L, V, T, KA, GRAVE)}))
# Behind what is asked: a control, which belongs to no cluster. Not asked about itself.
END = "\n"


def ask(text_of, answers):
    """The characters c for which what becomes of text_of(c) ends in `answers`."""
    chars = [c for c in ALL if c not in "\r\n"]
    rows = STEP.normalize_str("".join(text_of(c) + END for c in chars)).split(END)
    assert len(rows) == len(chars) + 1
    return {c for c, row in zip(chars, rows) if (END + row).endswith(answers)}


def classes():
    kept = "\ue000" + MARK
    joins_left = ask(lambda c: "a" + c, END + "\ue000")
    joins_marks = ask(lambda c: c + GRAVE + GRAVE, "\ue000\ue000")
    prepend = ask(lambda c: c + "a" + MARK, kept)
    pict = ask(lambda c: c + ZWJ + PICT + MARK, kept)
    extend = ask(lambda c: PICT + c + ZWJ + PICT + MARK, kept) & joins_left
    before_v = ask(lambda c: c + V + MARK, kept) - prepend
    before_t = ask(lambda c: c + T + MARK, kept) - prepend
    consonant = ask(lambda c: c + VIRAMA + KA + MARK, kept)
    linker = ask(lambda c: KA + c + KA + MARK, kept) & joins_left
    within = ask(lambda c: KA + c + VIRAMA + KA + MARK, kept) & joins_left
    sets = {
        "ZWJ": {ZWJ}, "LINKER": linker & extend, "EXTEND_WITHIN": (within & extend) - linker,
        "EXTEND": extend - within - linker, "SPACING": joins_left - extend - {ZWJ},
        "PREPEND": prepend, "PICT": pict, "CONSONANT": consonant,
        "L": before_v - before_t, "V": before_v & before_t, "T": before_t - before_v,
        # "a" and two marks are five bytes, and so are looked up whole, as no control is
        "CONTROL": set(ALL) - joins_marks - set("\r\na"),
    }
    assert not (linker | within) - extend - {ZWJ}, "a conjunct goes on over what extends nothing"
    out = {}
    for name, chars in sets.items():
        for c in chars:
            assert c not in out, (hex(ord(c)), out[c], name)
            out[c] = name
    return list(sets), out


def main():
    names, of = classes()
    for c in range(0xAC00, 0xD7A4):
        assert of.pop(chr(c)) == ("V" if (c - 0xAC00) % 28 == 0 else "T"), hex(c)
    runs, last = [], None
    for c in ALL:
        kind = of.get(c, "OTHER")
        if kind != last and ord(c) not in range(0xAC00, 0xD7A4):
            runs.append((ord(c), names.index(kind) + 1 if kind != "OTHER" else 0))
            last = kind
    print("/* grapheme_tables.h: what `tokenizers` 0.22.1 takes each character for when it looks for\n"
          " * grapheme clusters. Written by tools/reference/grapheme_tables.py, which asks it about every\n"
          " * code point. Hangul syllables are arithmetic; CR and LF are the code's. */\n"
          "#ifndef HN_TEXT_GRAPHEME_TABLES_H\n#define HN_TEXT_GRAPHEME_TABLES_H\n\n#include <stdint.h>\n")
    print("enum {\n    " + ",\n    ".join("HN_GRAPHEME_" + n for n in ["OTHER"] + names) + "\n};")
    print("/* From `code >> 8` on, up to the next entry: `code & 0xff`. */")
    print("static const uint32_t hn_grapheme_runs[] = {")
    for at in range(0, len(runs), 8):
        print("    " + " ".join(f"{c << 8 | k:#x}," for c, k in runs[at:at + 8]))
    print("};\n\n#endif")
    for n in names:
        print(n, sum(1 for k in of.values() if k == n), file=sys.stderr)


if __name__ == "__main__":
    main()
