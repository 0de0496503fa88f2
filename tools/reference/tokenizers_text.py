"""Texts for comparing tokenizers, by number: tests/differential/random_text.c makes the same ones.
The pieces they are made of are in tests/differential/tokenizers/alphabet.txt."""
import os

MASK = (1 << 64) - 1
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "..", "tests", "differential", "tokenizers")


def load_alphabet():
    parts = {}
    with open(os.path.join(FOLDER, "alphabet.txt"), encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words and words[0] != "#":
                parts.setdefault(words[0], []).append([int(w, 16) for w in words[1:]])
    return parts


ALPHABET = load_alphabet()


class Random:
    """splitmix64"""

    def __init__(self, seed):
        self.state = seed & MASK

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return (z ^ z >> 31) % n


def any_char(r):
    code = r.below(0x110000)
    return 0xFFFD if 0xD800 <= code < 0xE000 else code


def of_range(r, kind):
    low, high = ALPHABET[kind][r.below(len(ALPHABET[kind]))]
    return low + r.below(high - low + 1)


def fragment(r, out):
    kind = r.below(10)
    if kind == 0:
        for _ in range(1 + r.below(8)):
            out.append((0x41 if r.below(4) == 0 else 0x61) + r.below(26))
    elif kind == 1:
        out.extend(ALPHABET["white"][r.below(len(ALPHABET["white"]))])
    elif kind == 2:
        out.extend(ALPHABET["text"][r.below(len(ALPHABET["text"]))])
    elif kind == 3:
        base = ALPHABET["digit"][r.below(len(ALPHABET["digit"]))][0]
        for _ in range(1 + r.below(6)):
            out.append(base + r.below(10))
    elif kind == 4:
        for _ in range(1 + r.below(4)):
            out.append(0x21 + r.below(15))
    elif kind == 5:
        low, high = ALPHABET["script"][r.below(len(ALPHABET["script"]))]
        for _ in range(1 + r.below(6)):
            out.append(low + r.below(high - low + 1))
    elif kind == 6:
        out.append(of_range(r, "script"))
        for _ in range(1 + r.below(4)):
            out.append(of_range(r, "mark"))
    elif kind == 7:
        out.extend(ALPHABET["emoji"][r.below(len(ALPHABET["emoji"]))])
    elif kind == 8:
        out.append(any_char(r))
    else:
        code = any_char(r) if r.below(4) == 0 else 0x20 + r.below(0x5F)
        out.extend([code] * (5 + r.below(56)))
    if r.below(3) == 0:
        out.append(0x20)


def random_text(number):
    r = Random(number * 0x2545F4914F6CDD1D + 1)
    out = []
    for _ in range(1 + r.below(12)):
        fragment(r, out)
    return "".join(map(chr, out))


def sweep_text(code):
    """Each character between letters, after a blank, between digits and twice."""
    c = chr(code)
    return f"a{c}b {c}1{c}2 {c}{c}\n"


def cluster_text(number):
    """What belongs together and what does not, in any order, most of it of one row."""
    r = Random(number * 0x2545F4914F6CDD1D + 2)
    rows, out = ALPHABET["cluster"], []
    own = r.below(len(rows))
    for _ in range(1 + r.below(16)):
        row = rows[r.below(len(rows)) if r.below(8) == 0 else own]
        out.append(chr(row[r.below(len(row))]))
    return "".join(out)


def fnv(ids, state=0xCBF29CE484222325):
    for i in list(ids) + [0xFFFFFFFF]:
        for byte in i.to_bytes(4, "little"):
            state = ((state ^ byte) * 0x100000001B3) & MASK
    return state
