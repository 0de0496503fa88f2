"""Declarations for ctypes, of the public headers: nothing is declared by hand.

    declare.py INCLUDE     writes the module and its types to standard output

The headers make nothing by macros: without comments and the preprocessor's lines, what is left is structs,
enumerations, types of callbacks and functions. What this does not understand is refused."""
import os
import re
import sys

SCALARS = {
    "void": None, "char": "C.c_char", "int": "C.c_int", "float": "C.c_float", "double": "C.c_double",
    "size_t": "C.c_size_t", "int32_t": "C.c_int32", "int64_t": "C.c_int64", "uint8_t": "C.c_uint8",
    "uint32_t": "C.c_uint32", "uint64_t": "C.c_uint64",
}


class Refused(Exception):
    """Something in a header that this does not understand."""


def declarations(include, name="hone.h", known=None):
    """The text of a header, behind that of each header of hone that it includes and that was not there before."""
    known = set() if known is None else known
    if name in known:
        return ""
    known.add(name)
    with open(os.path.join(include, "hone", name), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
    before = "".join(declarations(include, other, known) for other in re.findall(r'^#include "hone/(\w+\.h)"', text, re.M))
    text = re.sub(r"^#ifdef __cplusplus$.*?^#endif$", "", text, flags=re.M | re.S)
    return before + re.sub(r"^#.*$|\bHN_API\b", "", text, flags=re.M)


def statements(text):
    """Lists of tokens, each up to a ';' outside of braces."""
    one, depth = [], 0
    for token in re.findall(r"[A-Za-z_]\w*|-?\d+|[^\s\w]", text):
        if token == ";" and not depth:
            yield one
            one = []
            continue
        depth += (token == "{") - (token == "}")
        one.append(token)
    if one:
        raise Refused(f"the text ends within {' '.join(one)}")


def split(tokens, at):
    """Parts between `at`, outside of parentheses and braces."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in "({") - (token in ")}")
        if token == at and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


class Header:
    def __init__(self):
        self.constants, self.enums, self.structs, self.opaque = {}, {}, {}, set()
        self.callbacks, self.functions, self.order = {}, {}, []

    # ---- types ----

    def of(self, name, stars, is_const, place):
        """The ctypes expression; `place`: "field", "parameter", "heard" (a parameter of a callback), "result"."""
        if name == "char" and stars == 1:
            # what comes in by a callback has a length, and may hold NULs
            return "C.c_char_p" if is_const and place != "heard" else "C.c_void_p"
        if name == "char" and stars == 2:
            return "C.POINTER(C.c_char_p)" if is_const == 2 else "C.POINTER(C.c_void_p)"
        if name == "void" and stars:
            kind, stars = "C.c_void_p", stars - 1
        elif name in self.callbacks:
            kind, stars = name, stars - 1
        elif name in self.enums:
            kind = "C.c_int"
        elif name in self.structs or name in self.opaque:
            kind = name
        elif name in SCALARS:
            kind = SCALARS[name]
        else:
            raise Refused(f"the type {name}")
        for _ in range(stars):
            kind = f"C.POINTER({kind})"
        return kind

    def base(self, tokens):
        """Takes [const] [struct] NAME off the front."""
        is_const = tokens[0] == "const"
        tokens = tokens[is_const:]
        tokens = tokens[tokens[0] in ("struct", "enum"):]
        return tokens[0], is_const, tokens[1:]

    def pointers(self, tokens, is_const):
        stars = 0
        while tokens and tokens[0] in ("*", "const"):
            stars += tokens[0] == "*"
            is_const += tokens[0] == "const"
            tokens = tokens[1:]
        return stars, is_const, tokens

    def declared(self, tokens, place):
        """(name, type) of each declarator of a field or parameter."""
        name, was_const, rest = self.base(tokens)
        for part in split(rest, ","):
            stars, is_const, part = self.pointers(part, int(was_const))
            if part and part[0] == "(":
                close = part.index(")")
                yield part[close - 1], self.callback(name, stars, part[close + 2:-1])
                continue
            kind = self.of(name, stars, is_const, place)
            if len(part) == 4 and part[1] == "[" and part[3] == "]":
                size = part[2] if part[2].isdigit() else self.constants[part[2]]
                kind = f"{kind} * {size}"
            elif len(part) > 1:
                raise Refused(" ".join(tokens))
            yield (part[0] if part else ""), kind

    def parameters(self, tokens, place):
        if tokens == ["void"]:
            return []
        return [pair for one in split(tokens, ",") for pair in self.declared(one, place)]

    def callback(self, name, stars, tokens):
        kinds = [self.of(name, stars, 0, "result")] + [kind for _, kind in self.parameters(tokens, "heard")]
        return f"C.CFUNCTYPE({', '.join(map(str, kinds))})"

    # ---- statements ----

    def take(self, tokens):
        if tokens[0] == "enum":
            self.take_constants(tokens[2:-1], self.constants)
        elif tokens[:2] == ["typedef", "enum"]:
            values = self.enums.setdefault(tokens[-1], {})
            self.take_constants(tokens[tokens.index("{") + 1:-2], values)
            self.constants.update(values)
            self.order.append(tokens[-1])
        elif tokens[:2] == ["typedef", "struct"] and "{" in tokens:
            fields = split(tokens[tokens.index("{") + 1:-2], ";")
            self.structs[tokens[-1]] = [pair for one in fields for pair in self.declared(one, "field")]
            self.order.append(tokens[-1])
        elif tokens[:2] == ["typedef", "struct"] and len(tokens) == 4:
            self.opaque.add(tokens[-1])
            self.order.append(tokens[-1])
        elif tokens[0] == "typedef" and tokens[-1] == ")":
            name, _, rest = self.base(tokens[1:])
            self.callbacks[rest[0]] = self.callback(name, 0, rest[2:-1])
            self.order.append(rest[0])
        elif tokens[-1] == ")":
            name, is_const, rest = self.base(tokens)
            stars, is_const, rest = self.pointers(rest, int(is_const))
            kinds = [kind for _, kind in self.parameters(rest[2:-1], "parameter")]
            self.functions[rest[0]] = (self.of(name, stars, is_const, "result"), kinds)
        else:
            raise Refused(" ".join(tokens))

    def take_constants(self, tokens, out):
        value = -1
        for item in split(tokens, ","):
            is_given = len(item) == 3 and item[1] == "=" and re.fullmatch(r"-?\d+", item[2])
            if len(item) != 1 and not is_given:
                raise Refused(" ".join(item))
            value = int(item[2]) if is_given else value + 1
            out[item[0]] = value


def read(include):
    header = Header()
    for tokens in statements(declarations(include)):
        header.take(tokens)
    return header


def common(values):
    """What all names of an enumeration begin with."""
    return re.sub(r"[^_]*$", "", os.path.commonprefix(list(values)))


def write(header):
    yield '"""Made of include/hone by declare.py when the wheel is built."""'
    yield "import ctypes as C\nfrom enum import IntEnum\n"
    for name in header.order:
        if name in header.enums:
            values = header.enums[name]
            yield f"\nclass {name}(IntEnum):"
            yield from (f"    {key[len(common(values)):]} = {value}" for key, value in values.items())
        elif name in header.structs:
            yield f"\nclass {name}(C.Structure):\n    _fields_ = ["
            yield from (f'        ("{field}", {kind}),' for field, kind in header.structs[name])
            yield "    ]"
        elif name in header.opaque:
            yield f"\nclass {name}(C.Structure):\n    pass"
        else:
            yield f"\n{name} = {header.callbacks[name]}"
    yield "\nSTRUCTS = [" + ", ".join(header.structs) + "]"
    yield "FUNCTIONS = {"
    for name, (result, kinds) in header.functions.items():
        yield f'    "{name}": ({result}, [{", ".join(kinds)}]),'
    yield "}"


def write_types(header):
    """For checkers of types: enumerations as they are, of all else the names."""
    yield "from enum import IntEnum\nfrom typing import Any\n"
    for name in header.order:
        if name in header.enums:
            values = header.enums[name]
            yield f"class {name}(IntEnum):"
            yield from (f"    {key[len(common(values)):]} = {value}" for key, value in values.items())
        else:
            yield f"{name}: Any"
    yield "\nSTRUCTS: list[Any]\nFUNCTIONS: dict[str, tuple[Any, list[Any]]]"


def modules(include):
    """(name, text) of the module and of its types."""
    header = read(include)
    for name, lines in (("_c.py", write(header)), ("_c.pyi", write_types(header))):
        yield name, "\n".join(lines) + "\n"


if __name__ == "__main__":
    for _, text in modules(sys.argv[1]):
        sys.stdout.write(text)
