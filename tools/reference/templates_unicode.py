"""Writes src/text/template_unicode.inc: what Python's str methods know of Unicode.

    python3 tools/reference/templates_unicode.py >src/text/unicode/python_tables.h

Ranges of code points: first, last. Case mappings: first, last, step, difference. Mappings to
several characters are few and stand apart. Only code points beyond ASCII are listed."""
import sys
import unicodedata

LAST = 0x110000


def ranges(holds):
    out, start = [], None
    for code in range(128, LAST + 1):
        inside = code < LAST and not 0xD800 <= code < 0xE000 and holds(chr(code))
        if inside and start is None:
            start = code
        if not inside and start is not None:
            out.append((start, code - 1))
            start = None
    return out


def mapping(function):
    single, many = [], []
    for code in range(128, LAST):
        if 0xD800 <= code < 0xE000:
            continue
        to = function(chr(code))
        if len(to) > 1:
            many.append((code, [ord(c) for c in to]))
        elif ord(to) != code:
            single.append((code, ord(to) - code))
    runs = []
    for code, difference in single:
        if runs:
            first, last, step, d = runs[-1]
            if d == difference and code - last in (1, 2) and (first == last or step == code - last):
                runs[-1] = (first, code, code - last, d)
                continue
        runs.append((code, code, 1, difference))
    return runs, many


def emit(name, kind, rows):
    print(f"static const {kind} {name}[] = {{")
    line = "   "
    for row in rows:
        item = " { " + ", ".join(str(x) for x in row) + " },"
        if len(line) + len(item) > 118:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")


def emit_ranges(name, holds):
    """As gap and length, which are short."""
    print(f"static const uint16_t {name}[] = {{")
    line, at = "   ", 128
    for first, last in ranges(holds):
        gap, length = first - at, last - first + 1
        numbers = []
        while gap > 65535:
            numbers += [65535, 0]
            gap -= 65535
        numbers += [gap, min(length, 65535)]
        length -= min(length, 65535)
        while length:
            numbers += [0, min(length, 65535)]
            length -= min(length, 65535)
        for n in numbers:
            item = f" {n},"
            if len(line) + len(item) > 118:
                print(line)
                line = "   "
            line += item
        at = last + 1
    print(line + "\n};")


print(f"""/* template_unicode_tables.h: made by tools/reference/templates_unicode.py from Unicode
 * {unicodedata.unidata_version}, as Python {sys.version_info[0]}.{sys.version_info[1]} knows it. */
#ifndef HN_TEXT_TEMPLATE_UNICODE_TABLES_H
#define HN_TEXT_TEMPLATE_UNICODE_TABLES_H

#include <stdint.h>

typedef struct case_run {{
    uint32_t first, last;
    int32_t step, difference;
}} case_run;
typedef struct case_many {{
    uint32_t from, to[3];
}} case_many;

/* clang-format off */
/* gaps and lengths by turns, from 128 */""")
emit_ranges("alpha_runs", str.isalpha)
emit_ranges("alnum_runs", str.isalnum)
emit_ranges("digit_runs", str.isdigit)
emit_ranges("decimal_runs", str.isdecimal)
emit_ranges("numeric_runs", str.isnumeric)
emit_ranges("space_runs", str.isspace)
emit_ranges("printable_runs", str.isprintable)
emit_ranges("lower_runs", str.islower)
emit_ranges("upper_runs", str.isupper)
emit_ranges("title_runs", lambda c: unicodedata.category(c) == "Lt")
CASED = {"Lu", "Ll", "Lt"}
emit_ranges("ignorable_runs", lambda c: ("A" + c + "\u03a3").lower()[-1] == "\u03c2"
            and ("A" + c + "\u03a3" + c + "B").lower()[-3] == "\u03c3"
            and (c + "\u03a3").lower()[-1] == "\u03c3")
for name, function in (("to_lower", str.lower), ("to_upper", str.upper), ("to_title", str.title),
                       ("to_fold", str.casefold)):
    runs, many = mapping(function)
    emit(name + "_runs", "case_run", runs)
    emit(name + "_many", "case_many", [(c, "{ " + ", ".join(map(str, to)) + " }") for c, to in many])
print("/* clang-format on */\n\n#endif")
