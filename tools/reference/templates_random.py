"""Random small templates from a grammar, and what jinja2 makes of them.

    python3 templates_random.py COUNT SEED >cases.json

Each case: {"t": template, "v": variables, and "out" or "error"}. Templates that print addresses
or are refused by hone by name are left out."""
import copy
import json
import random
import re
import sys

from templates_env import render

TEXTS = ["", "a", "Abc def", "  x y  ", "ab-cd_ef.gh", "Grüße ß", "世界 x", "İstanbul ǅ", "a,b,,c", "1", "-12", " 3_0 ", "4.5", "1e3", "nan",
         "line\nnext\r\nlast\n", "\t|\x0b", "<a href='x'>&\"", "%s and %d", "{} {0}", "aXbXc", "ΑΣ ΣΑΣ.", "x" * 30, "don't stop-me (now)", "\u00a0é\u200b"]
INTS = [0, 1, 2, 3, -1, -2, 7, 10, 100, -17, 255, 1000000]
FLOATS = [0.0, 1.0, -1.5, 0.1, 2.5, 3.5, 1e16, 1e-5, 123456.789, 1e22, 5e-324, 1 / 3, -0.5, 2.675]
VARS = {"s": "Hello World", "t": "  pad Ded ", "u": "Ünï çødé", "n": 5, "z": 0, "f": 2.5, "b": True, "no": False, "nil": None, "e": "",
        "l": [3, 1, 2], "m": ["b", "A", "c", "a"], "d": {"x": 1, "y": "two", "items": 3, "k": None}, "el": [], "ed": {},
        "r": [{"a": 1, "b": "x"}, {"a": 2, "b": "Y"}, {"a": 1, "b": "z", "c": [1]}, {"b": "y"}], "nest": [[1, 2], [3], []]}
FILTERS0 = ("upper lower title capitalize trim length count list string int float abs round sort reverse unique first last join sum min max "
            "tojson items dictsort wordcount urlencode e safe d xmlattr").split()
TESTS0 = ("defined undefined none string number integer float mapping iterable sequence boolean true false even odd callable lower upper").split()
METHODS0 = ("upper lower title capitalize swapcase casefold strip lstrip rstrip split rsplit splitlines isdigit isalpha isalnum isspace islower isupper "
            "istitle isnumeric isdecimal isascii isidentifier isprintable keys values items copy bit_length is_integer").split()
R = random.Random()


def text():
    s = R.choice(TEXTS)
    q = "'" if '"' in s else '"'
    return q + s.replace("\\", "\\\\").replace(q, "\\" + q).replace("\n", "\\n").replace("\r", "\\r") + q


def number():
    return str(R.choice(INTS)) if R.random() < 0.7 else repr(R.choice(FLOATS))


def atom(depth):
    k = R.random()
    if k < 0.22:
        return number()
    if k < 0.42:
        return text()
    if k < 0.78:
        return R.choice(list(VARS) + ["missing", "s", "l", "d", "r"])
    if k < 0.82:
        return R.choice(["true", "false", "none", "True", "None"])
    if depth <= 0:
        return "[]"
    if k < 0.9:
        return "[" + ", ".join(expr(depth - 1) for _ in range(R.randint(0, 3))) + "]"
    if k < 0.95:
        return "(" + ", ".join(expr(depth - 1) for _ in range(R.randint(2, 3))) + ")"
    return "{" + ", ".join(f"{R.choice([text, number])()}: {expr(depth - 1)}" for _ in range(R.randint(0, 3))) + "}"


def small():
    return str(R.choice([0, 1, 2, 3, -1, -2, 5]))


def method(depth):
    k = R.randint(0, 19)
    one = lambda: R.choice([text(), '"a"', '" "', '","', "s"])
    two = [f".replace({one()}, {one()})", f".replace({one()}, {one()}, {small()})", f".split({one()})", f".split({one()}, {small()})",
           f".rsplit({one()}, {small()})", f".split(none, {small()})", f".strip({one()})", f".lstrip({one()})", f".rstrip({one()})",
           f".startswith({one()})", f".endswith(({one()}, {one()}))", f".find({one()})", f".find({one()}, {small()}, {small()})", f".rfind({one()})",
           f".index({one()})", f".count({one()})", f".count({one()}, {small()})", f".join(m)", f".join({expr(depth - 1)})", f".partition({one()})",
           f".rpartition({one()})", f".removeprefix({one()})", f".removesuffix({one()})", f".zfill({small()}0)", f".center({small()}1, '*')",
           f".center({small()}2)", f".ljust({small()}0, '-')", f".rjust({small()}1)", f".get({one()})", f".get({one()}, {small()})", f".expandtabs({small()})",
           f".splitlines(true)", f".index({small()})", f".count({small()})", f".format({expr(0)}, {expr(0)})", ".append(1)", ".update({})", ".pop()",
           ".__class__", "._x", ".x", ".items", ".a.b", f".isupper()", f".rsplit(none, {small()})", f".rindex({one()})", f".startswith({one()}, {small()})"]
    return R.choice(two) if k > 6 else f".{R.choice(METHODS0)}()"


def filter_(depth):
    more = [f"|default({text()})", f"|default({text()}, true)", f"|d({small()}, boolean=true)", f"|join({text()})", f"|join(', ', attribute='b')",
            f"|replace({text()}, {text()})", f"|replace('a', 'b', {small()})", f"|int({small()})", f"|int(0, 16)", f"|float({small()})", f"|round({small()})",
            f"|round(1, 'floor')", f"|round(0, 'ceil')", f"|sort(reverse=true)", f"|sort(attribute='b')", f"|sort(case_sensitive=true)", f"|sort(attribute='a,b')",
            f"|map('upper')|list", f"|map(attribute='a')|list", f"|map(attribute='c', default=9)|list", f"|map('int', {small()})|list", f"|select|list", f"|reject('none')|list",
            f"|select('odd')|list", f"|select('gt', {small()})|list", f"|selectattr('a')|list", f"|selectattr('a', 'equalto', 1)|list", f"|rejectattr('b', 'in', ['x', 'y'])|list",
            f"|selectattr('c', 'defined')|map(attribute='b')|join", f"|tojson(indent={small()})", f"|tojson(ensure_ascii=true)", f"|tojson(separators=(',', ':'))", f"|tojson(sort_keys=true)",
            f"|indent({small()})", f"|indent(2, true)", f"|indent('> ', first=true, blank=true)", f"|batch({small()})|list", f"|batch(2, 'x')|list", f"|slice(2)|list", f"|slice(3, 'x')|list",
            f"|groupby('a')", f"|groupby('b')|list", f"|truncate({small()}5)", f"|truncate(7, true, '')", f"|truncate(9, leeway=0)", f"|center({small()}0)", f"|trim({text()})", f"|attr({text()})",
            f"|format({expr(0)})", f"|sum(start={small()})", f"|sum(attribute='a')", f"|dictsort(by='value')", f"|dictsort(true, reverse=true)", f"|reverse|list", f"|items|list", f"|unique|list",
            f"|min(attribute='a')", f"|first|d", f"|last", f"|length", f"|filesizeformat", f"|abs", f"|string|length", f"|list|length"]
    return R.choice(more) if R.random() < 0.6 else "|" + R.choice(FILTERS0)


def test(depth):
    args = [f" is divisibleby {small()}", f" is in {expr(0)}", f" is eq {expr(0)}", f" is sameas {R.choice(['true', 'none', '1'])}", f" is lt({small()})", f" is ge {small()}",
            f" is ne {expr(0)}", f" is not in(m)", f" is filter", f" is not none", f" is string"]
    return R.choice(args) if R.random() < 0.4 else f" is {R.choice(['', 'not '])}{R.choice(TESTS0)}"


def subscript(depth):
    part = lambda: R.choice(["", small(), "none" if R.random() < 0.1 else ""])
    return R.choice([f"[{small()}]", f"[{part()}:{part()}]", f"[{part()}:{part()}:{part()}]", "[::-1]", f"[{text()}]", "['x']", "['items']", f"[{expr(0)}]", ".0", ".x"])


def expr(depth):
    if depth <= 0:
        return atom(0)
    k = R.random()
    if k < 0.2:
        return atom(depth)
    if k < 0.32:
        return f"{expr(depth - 1)} {R.choice(['+', '-', '*', '/', '//', '%', '**', '~', '+', '~'])} {expr(depth - 1)}"
    if k < 0.4:
        return f"{expr(depth - 1)} {R.choice(['==', '!=', '<', '>', '<=', '>=', 'in', 'not in'])} {expr(depth - 1)}"
    if k < 0.46:
        return f"{expr(depth - 1)} {R.choice(['and', 'or'])} {expr(depth - 1)}"
    if k < 0.49:
        return f"not {expr(depth - 1)}"
    if k < 0.52:
        return f"({expr(depth - 1)} if {expr(depth - 1)} else {expr(depth - 1)})" if R.random() < 0.8 else f"({expr(depth - 1)} if {expr(depth - 1)})"
    if k < 0.54:
        return f"-{expr(depth - 1)}"
    if k < 0.56:
        return f"range({small()}{small().strip('-')})|list"
    if k < 0.58:
        return f"({text()} % {expr(depth - 1)})" if R.random() < 0.5 else f"({R.choice(FORMATS)} % {expr(0)})"
    if k < 0.6:
        return f"{R.choice(SPECS)}.format({expr(0)}, x={expr(0)})"
    base = f"({expr(depth - 1)})" if R.random() < 0.5 else atom(depth - 1)
    return base + R.choice([method, filter_, filter_, filter_, test, subscript])(depth)


FORMATS = ["'%5d|'", "'%-6s|'", "'%05.1f'", "'%x'", "'%r'", "'%e'", "'%g'", "'%+d'", "'%s %%'", "'%c'", "'%.2s'", "'%#x'", "'% d'", "'%(x)s'", "'%.3g'", "'%o'"]
SPECS = ["'{}'", "'{:>8}|'", "'{0:.2f}'", "'{x}'", "'{x:^9}|'", "'{0!r}'", "'{:,}'", "'{:05d}'", "'{:+.1e}'", "'{:x}'", "'{:%}'", "'{0}{0}'", "'{:*<6}'", "'{{}}'", "'{0[0]}'", "'{x.y}'", "'{:g}'", "'{:.3}'"]


def tag(inside):
    return R.choice(["{%", "{%", "{%", "{%-", "{%+"]) + " " + inside + " " + R.choice(["%}", "%}", "%}", "-%}", "+%}"])


def data():
    return R.choice(["", "\n", "  ", " a ", "\n  ", "x\n", "  \n\n", "{# c #}", "{#- c -#}\n", "{% raw %} {{ x }} {% endraw %}\n", "\t", "- ", "{{ '' }}"])


def statement(depth, loop):
    if depth <= 0:
        return R.choice(["{{ " + expr(2) + " }}", "{{- " + expr(1) + " -}}", data()])
    body = lambda l=loop: "".join(data() + statement(depth - 1, l) + data() for _ in range(R.randint(1, 2)))
    name = R.choice(["v", "w", "s", "n"])
    k = R.randint(0, 15)
    if k <= 2:
        return "{{ " + expr(3) + " }}"
    if k == 3:
        return tag("if " + expr(2)) + body() + (tag("elif " + expr(1)) + body() if R.random() < 0.3 else "") + (tag("else") + body() if R.random() < 0.5 else "") + tag("endif")
    if k in (4, 5):
        target = R.choice(["i", "i", "v", "a, b"])
        source = R.choice(["l", "m", "r", "range(3)", "d.items()", "nest", expr(1), "s", "r|groupby('a')"])
        inner = R.choice(["", "{{ loop.index }}{{ ',' if not loop.last }}", "{{ loop.previtem|d('-') }}{{ loop.nextitem|d('+') }}", "{{ loop.length }}{{ loop.revindex0 }}",
                          "{{ loop.cycle('a', 'b') }}", "{{ loop.changed(i) }}", tag("if loop.first") + tag(R.choice(["break", "continue"])) + tag("endif"), "{{ i }}", "{{ v }}"])
        return (tag(f"for {target} in {source}" + (f" if {expr(1)}" if R.random() < 0.25 else "")) + inner + body(True) +
                (tag("else") + body() if R.random() < 0.2 else "") + tag("endfor"))
    if k in (6, 7):
        return tag(f"set {name} = {expr(2)}") + "{{ " + name + " }}"
    if k == 8:
        return tag(f"set {name}" + R.choice(["", "|upper", "|trim|length"])) + body() + tag("endset") + "[{{ " + name + " }}]"
    if k == 9:
        return tag(f"set ns = namespace(x={expr(1)})") + body() + tag(f"set ns.x = {expr(1)}") + "{{ ns.x }}"
    if k == 10:
        return tag(f"macro f(p, q={expr(1)})") + "{{ p }}{{ q }}" + body(False) + tag("endmacro") + R.choice(["{{ f(1) }}", "{{ f(q=2) }}", "{{ f('a', 'b') }}", "{{ f() }}", "{{ f(1, 2, 3) }}", "{{ f(p=v, q=w) }}"])
    if k == 11:
        return tag("macro g(x)") + "<{{ caller(x) }}>{{ varargs }}{{ kwargs }}" + tag("endmacro") + tag("call(y) g(" + R.choice(["1", "s", "1, 2, k=3"]) + ")") + "{{ y }}" + body(False) + tag("endcall")
    if k == 12:
        return tag("filter " + R.choice(["upper", "trim", "replace('a', 'b')", "indent(2)"])) + body() + tag("endfilter")
    if k == 13:
        return tag(f"with {name} = {expr(1)}, z = {expr(0)}") + body() + tag("endwith") + "{{ " + name + " }}"
    if k == 14:
        return tag("for x in nest recursive") + "{{ loop.depth }}{{ loop(x) if x is iterable else x }}" + tag("endfor")
    return tag("generation") + body(False) + tag("endgeneration")


def template():
    if R.random() < 0.5:
        return "{{ " + expr(R.randint(1, 4)) + " }}"
    return "".join(data() + statement(R.randint(1, 3), False) + data() for _ in range(R.randint(1, 3)))


ADDRESS = re.compile(r"(?i)0x[0-9a-f]{6,}|generator object|safe_range|TemplateDict|^<class|<function|Markup\(|built-in|_iterator")


def cases(count, seed):
    R.seed(seed)
    made = []
    while len(made) < count:
        t = template()
        if re.search(r"[\d)}e]\[[^\]]*:", t):
            continue  # what a slice of a literal number is depends on jinja2's optimizer
        result = render(t, copy.deepcopy(VARS))  # `l|indent` would change it
        shown = result.get("out", "")
        if len(shown) > 20000 or ADDRESS.search(shown) or re.search(r"\d{18,}", shown) or "Markup" in result.get("error", ""):
            continue
        made.append({"t": t, **result})
    return made


if __name__ == "__main__":
    made = cases(int(sys.argv[1]), int(sys.argv[2]))
    json.dump({"variables": VARS, "cases": made}, sys.stdout, ensure_ascii=False, indent=0)
    print()
