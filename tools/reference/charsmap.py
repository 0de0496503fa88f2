"""Writes sentencepiece's precompiled character maps: a double-array trie and the replacements."""
import struct


def charsmap(rules):
    """`rules`: text -> replacement, none of them with NUL."""
    texts, at = b"", {}
    for to in sorted(set(rules.values())):
        at[to] = len(texts)
        texts += to.encode() + b"\0"
    root = {}
    for source, to in rules.items():
        node = root
        for byte in source.encode():
            node = node.setdefault(byte, {})
        node[0] = at[to]  # no text has a byte 0, so 0 is the end
    units, taken = {}, {0}

    def place(node, position, label):
        base = 1
        while any((base ^ c) in taken for c in node):
            base += 1
        assert (offset := base ^ position) < 1 << 21
        taken.update(base ^ c for c in node)
        units[position] = label | (1 << 8 if 0 in node else 0) | offset << 10
        for c, child in node.items():
            if c == 0:
                units[base] = 1 << 31 | child
            else:
                place(child, base ^ c, c)

    place(root, 0, 0)
    size = (max(units) | 0xFF) + 1
    trie = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(size))
    return struct.pack("<I", len(trie)) + trie + texts
