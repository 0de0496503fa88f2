#!/bin/sh
# check-format.sh [ROOT]: how C is set, where clang-format would break what is meant (tables, formulas, drawings,
# initialisers of two to a line): it has 10,000 lines of another opinion. Held here: no tab, no blank at an end of a
# line, one newline at a file's end, no line over 160 bytes (but between clang-format off and on, and in what a program has written), no two empty lines, none after { or before }; blanks after
# if, for, while, switch and after a comma; a pointer's * at its name; a function's { on a line of its own, every
# other at the end of one. A file of src opens with a comment that says what it is for; a heading is none.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
awk '
function bad(what) { print file ":" FNR ": " what; n_bad++; is_bad[file] = 1 }
# Without strings and comments, which may go on over lines.
function code_of(line,    out, c, two, i, quote) {
    out = ""; quote = ""
    for (i = 1; i <= length(line); i++) {
        two = substr(line, i, 2); c = substr(line, i, 1)
        if (in_comment) { if (two == "*/") { in_comment = 0; i++ } }
        else if (quote != "") { if (c == "\\") i++; else if (c == quote) { quote = ""; out = out c } }
        else if (two == "/*") { in_comment = 1; i++ }
        else if (two == "//") break
        else { if (c == "\"" || c == "\047") quote = c; out = out c }
    }
    return out
}
FNR == 1 { if (file != "" && last == "") { print file ": an empty line at its end"; n_bad++; is_bad[file] = 1 }
           file = FILENAME; n_files++; in_comment = is_table = 0; last = "x"; last_code = "" }
{
    if (index($0, "\t")) bad("a tab")
    if ($0 ~ /[ \r]$/) bad("a blank at the end of the line")
    if (FNR == 1 && file ~ /^src\// && ($0 !~ /^\/[*\/] ?[^ *-]/ || $0 ~ /^\/\* clang-format/))
        bad("expected a comment first, of what the file is for")
    if ($0 ~ /clang-format o(ff|n) \*\//) is_table = $0 ~ /off/
    if (FNR < 4 && $0 ~ /Written by/) is_table = 1
    if (length($0) > 160 && !is_table) bad("a line of " length($0) " bytes: expected at most 160")
    if ($0 == "" && last == "") bad("two empty lines")
    if ($0 == "" && last_code ~ /\{$/ && last_code !~ /^(extern|namespace)/) bad("an empty line after {")
    if (last == "" && $0 ~ /^ *\}/) bad("an empty line before }")
    code = code_of($0)
    if (code ~ /(^|[^a-zA-Z0-9_])(if|for|while|switch)\(/ && code !~ /^ *#/) bad("expected a blank after if, for, while, switch")
    if (code ~ /,[^ \n\\)]/ ) bad("expected a blank after a comma")
    if (code ~ /(^|[ (])(char|int|void|float|double|bool|u?int[0-9]+_t|size_t|hn_[a-z0-9_]+)\* [a-z]/) bad("expected the * of a pointer at its name")
    if (code ~ /^(static |extern |const |struct |enum |unsigned )*[a-z_][a-z0-9_]* \**[a-z_][a-z0-9_]*\([^;]*\) ?\{$/) bad("a function: expected its { on a line of its own")
    if (code ~ /^ +\{$/ && last_code ~ /\)$/ && last_code ~ /^ *(if|for|while|switch|else)/) bad("expected { at the end of the line before")
    last = $0; last_code = code
}
END {
    if (last == "") { print file ": an empty line at its end"; n_bad++; is_bad[file] = 1 }
    n = 0; for (f in is_bad) n++
    printf "%d passed, %d failed, 0 skipped\n", n_files - n, n
    exit n_bad > 0 || n_files == 0
}' $(find src include tests examples -type f -name '*.[ch]' 2>/dev/null | sort)
