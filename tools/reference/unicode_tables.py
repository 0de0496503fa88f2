#!/usr/bin/env python3
"""Writes src/text/unicode/unicode_tables.h: what the pinned `tokenizers` takes each character for.

    unicode_tables.py > src/text/unicode/unicode_tables.h

Its parts know different versions of Unicode: the regex engine (Oniguruma), the normaliser and the
compiler's own tables. So each part is asked about every code point, and the answers are stored as
ranges; a table of one version of Unicode would be wrong for some part. What the parts disagree on
is printed to stderr."""
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
TEXT = "".join(ALL)
CATEGORIES = ("Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps "
              "Sc Sk Sm So Zl Zp Zs").split()
SCRIPTS = ("Arabic Armenian Bengali Bopomofo Cherokee Common Cyrillic Devanagari Ethiopic Georgian "
           "Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana Inherited Kannada Katakana Khmer "
           "Lao Latin Malayalam Mongolian Myanmar Oriya Sinhala Tamil Telugu Thai Tibetan").split()


def matching(pattern):
    left = normalizers.Replace(Regex(pattern), "").normalize_str(TEXT)
    return set(ALL) - set(left)


def ranges(chars):
    out = []
    for code in sorted(ord(c) for c in chars):
        if out and code == out[-1][1] + 1:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def emit(ctype, name, items, per_line, form):
    print(f"static const {ctype} {name}[] = {{")
    for at in range(0, len(items), per_line):
        print("    " + " ".join(form(i) + "," for i in items[at:at + per_line]))
    print("};")


def emit_set(name, chars):
    emit("hn_range", f"hn_set_{name}", ranges(chars), 5, lambda r: f"{{ {r[0]:#x}, {r[1]:#x} }}")


def sweep_sets():
    sets = {"space": matching(r"\s"), "word": matching(r"\w")}
    digits = pre_tokenizers.Digits(individual_digits=True)
    spaced = "x" + "x".join(c for c in ALL if c != "x") + "x"
    sets["numeric"] = {p for p, _ in digits.pre_tokenize_str(spaced) if len(p) == 1 and p != "x"}
    def removed(pre, separator):
        kept = "".join(p for p, _ in pre.pre_tokenize_str(separator.join(ALL)))
        return set(ALL) - set(kept) - {separator}
    sets["white"] = removed(pre_tokenizers.WhitespaceSplit(), "a")
    sets["punctuation"] = removed(pre_tokenizers.Punctuation(behavior="removed"), "a")
    # `Whitespace` has a regex engine of its own
    words = pre_tokenizers.Whitespace()
    pieces = {p for p, _ in words.pre_tokenize_str("".join("a" + c + " " for c in ALL))}
    sets["rust_word"] = {c for c in ALL if "a" + c in pieces}
    sets["rust_space"] = {c for c in ALL if "a" + c not in pieces and c not in pieces}
    clean = normalizers.BertNormalizer(True, False, False, False)
    sets["bert_removed"] = {c for c in ALL if clean.normalize_str(c) == ""}
    sets["accent"] = set(ALL) - set(normalizers.StripAccents().normalize_str(TEXT))
    return sets


def bert_marks(nfd):
    strip = normalizers.BertNormalizer(False, False, True, False)
    return {c for c in ALL if nfd.get(c, c) == c and strip.normalize_str(c) == ""}


def mapped(normalizer):
    return {c: n for c in ALL if (n := normalizer.normalize_str(c)) != c}


def combining_classes(nfd):
    """Whether the library orders a mark is asked; by which number is Unicode's, which is stable."""
    order = normalizers.NFD()
    classes, unknown = {}, []
    for c in ALL:
        if c in nfd:
            continue
        low, high = order.normalize_str(c + "\u0334"), order.normalize_str("\u0345" + c)
        moves = low != c + "\u0334" or high != "\u0345" + c
        known = unicodedata.combining(c)
        if moves or known in (1, 240):
            if not known:
                unknown.append(c)
            classes[c] = known
        elif known:
            print(f"not ordered by the normaliser: U+{ord(c):04X} class {known}", file=sys.stderr)
    assert not unknown, [hex(ord(c)) for c in unknown]
    return classes


def compositions(nfd):
    nfc = normalizers.NFC()
    pairs = []
    for c, parts in nfd.items():
        if 0xAC00 <= ord(c) < 0xD7A4 or len(parts) < 2 or nfc.normalize_str(c) != c:
            continue
        first, second = nfc.normalize_str(parts[:-1]), parts[-1]
        assert len(first) == 1 and nfc.normalize_str(first + second) == c, hex(ord(c))
        pairs.append((ord(first), ord(second), ord(c)))
    return sorted(pairs)


def emit_maps(name, table, pool):
    rows = []
    for c in sorted(table):
        if name in ("nfd", "nfkd") and 0xAC00 <= ord(c) < 0xD7A4:
            continue  # Hangul syllables are arithmetic
        to = tuple(ord(x) for x in table[c])
        if to not in pool["at"]:
            pool["at"][to] = len(pool["items"])
            pool["items"].extend(to)
        rows.append((ord(c), pool["at"][to], len(to)))
    emit("hn_mapping", f"hn_map_{name}", rows, 4, lambda r: f"{{ {r[0]:#x}, {r[1]}, {r[2]} }}")


def case_partners():
    """Characters that (?i:x) takes for an ASCII letter besides the two cases of it."""
    out = []
    for letter in "abcdefghijklmnopqrstuvwxyz":
        for c in sorted(matching(f"(?i:{letter})") - {letter, letter.upper()}):
            out.append((ord(letter), ord(c)))
    return out


def report(sets, categories):
    by = {name: chars for name, chars in categories.items()}
    assigned = len(ALL) - len(by["Cn"])
    print(f"regex engine: {assigned} assigned characters", file=sys.stderr)
    def differ(what, a, b):
        only_a, only_b = ranges(a - b), ranges(b - a)
        show = lambda r: " ".join(f"U+{x:04X}" + (f"-{y:04X}" if y > x else "") for x, y in r)
        print(f"{what}: {len(a - b)} only first [{show(only_a)}]; {len(b - a)} only second [{show(only_b)}]",
              file=sys.stderr)
    punct = set().union(*(by[k] for k in by if k[0] == "P"))
    ascii_symbols = {c for c in ALL if ord(c) < 128 and c in "$+<=>^`|~"}
    differ("punctuation: regex engine + ASCII symbols / pre-tokeniser", punct | ascii_symbols, sets["punctuation"])
    differ("number: regex engine / Digits", by["Nd"] | by["Nl"] | by["No"], sets["numeric"])
    differ("space: regex engine / white", sets["space"], sets["white"])
    differ("word: regex engine / Whitespace", sets["word"], sets["rust_word"])
    differ("Mn: regex engine / BertNormalizer", by["Mn"], sets["bert_mark"])
    differ("M: regex engine / StripAccents", by["Mn"] | by["Mc"] | by["Me"], sets["accent"])
    differ("category: regex engine / unicodedata " + unicodedata.unidata_version,
           set(ALL) - by["Cn"], {c for c in ALL if unicodedata.category(c) != "Cn"})


def main():
    categories = {k: matching(r"\p{%s}" % k) for k in CATEGORIES if k != "Cs"}
    assert set().union(*categories.values()) == set(ALL)
    assert sum(len(v) for v in categories.values()) == len(ALL)
    sets = sweep_sets()
    assert matching(r"\d") == categories["Nd"]
    nfd, nfkd = mapped(normalizers.NFD()), mapped(normalizers.NFKD())
    nfc = mapped(normalizers.NFC())
    sets["bert_mark"] = bert_marks(nfd)
    classes, pairs = combining_classes(nfd), compositions(nfd)
    seconds = {chr(b) for _, b, _ in pairs} | {chr(c) for c in range(0x1161, 0x1176)} | \
              {chr(c) for c in range(0x11A8, 0x11C3)}
    sets["nfc_touches"] = set(nfc) | set(classes) | seconds
    report(sets, categories)

    print(f"""/* unicode_tables.h: what `tokenizers` {tokenizers.__version__} takes each character for. Written by
 * tools/reference/unicode_tables.py, which asks every part of it about every code point; its
 * regex engine knows Unicode 16. docs/tokenizers.md names where its parts disagree. */
#ifndef HN_TEXT_UNICODE_TABLES_H
#define HN_TEXT_UNICODE_TABLES_H

#include "text/unicode/charset.h"
""")
    print("/* General categories: from `first` on, up to the next entry. */")
    runs, last = [], None
    of = {c: k for k in categories for c in categories[k]}
    for code in range(0x110000):
        k = of.get(chr(code), "Cs")
        if k != last:
            runs.append((code, CATEGORIES.index(k)))
            last = k
    print("enum {", " ".join(f"HN_CATEGORY_{k}," for k in CATEGORIES), "HN_N_CATEGORIES };")
    names = ", ".join('"%s"' % k for k in CATEGORIES)
    print(f"static const char hn_category_names[][3] = {{ {names} }};")
    emit("uint32_t", "hn_category_runs", runs, 8, lambda r: f"{r[0] << 8 | r[1]:#x}")
    for name in sorted(sets):
        emit_set(name, sets[name])
    for name in SCRIPTS:
        emit_set("script_" + name.lower(), matching(r"\p{%s}" % name))
    print("typedef struct hn_named_set {\n    const char *name;\n    const hn_range *ranges;\n    int n;\n} hn_named_set;")
    print("static const hn_named_set hn_scripts[] = {")
    for name in SCRIPTS:
        low = name.lower()
        print(f'    {{ "{name}", hn_set_script_{low}, HN_COUNT(hn_set_script_{low}) }},')
    print("};")
    emit("hn_range", "hn_case_partners", case_partners(), 5, lambda r: f"{{ {r[0]:#x}, {r[1]:#x} }}")
    pool = {"at": {}, "items": []}
    emit_maps("nfd", nfd, pool)
    emit_maps("nfkd", nfkd, pool)
    emit_maps("lower", mapped(normalizers.Lowercase()), pool)
    emit("uint32_t", "hn_map_pool", pool["items"], 10, lambda c: f"{c:#x}")
    by_class = sorted((ord(c), k) for c, k in classes.items())
    runs = []
    for code, k in by_class:
        if runs and runs[-1][1] == code - 1 and runs[-1][2] == k:
            runs[-1][1] = code
        else:
            runs.append([code, code, k])
    emit("hn_combining", "hn_combining_classes", runs, 4, lambda r: f"{{ {r[0]:#x}, {r[1]:#x}, {r[2]} }}")
    emit("hn_composition", "hn_compositions", pairs, 3, lambda r: f"{{ {r[0]:#x}, {r[1]:#x}, {r[2]:#x} }}")
    print("\n#endif")


if __name__ == "__main__":
    main()
