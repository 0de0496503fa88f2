#!/bin/sh
# check-format.sh [ROOT]: how C is set, where clang-format would break what is meant (tables, formulas, drawings,
# initialisers of two to a line): it has 10,000 lines of another opinion. Held here: a line that begins a statement or
# a declaration stands four blanks further in than what it is in; no tab, no blank at an end of a line, one newline at a
# file's end, no line over 160 bytes (but between clang-format off and on, and in what a program has written), no two
# empty lines, none after { or before }; blanks after if, for, while, switch, after a comma and a semicolon, about an
# operator of two letters and =, about else, before { and within {}, none within (); a pointer's * at its name; a
# function's { on a line of its own, every other at the end of one. A file of src opens with a comment that says what it
# is for; a heading is none.
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
# ---- how far in a line stands ----
# `expect`: where the next line has to begin; WHEREVER: a macro without a semicolon was before, and what it holds is not
# known; NOWHERE: the line goes on with a statement. `level` counts braces, of which values are no blocks, `parens` what a
# statement has open. Each branch of the preprocessor begins where the first one did.
function skip_directive(code) {
    if (in_directive) return
    if (code ~ /^ *# *if/) { n_if++; if_level[n_if] = level; if_parens[n_if] = parens; if_expect[n_if] = expect; if_begun[n_if] = begun; if_head[n_if] = head }
    else if (code ~ /^ *# *el/) { level = if_level[n_if]; parens = if_parens[n_if]; expect = if_expect[n_if]; begun = if_begun[n_if]; head = if_head[n_if] }
    else if (code ~ /^ *# *endif/) n_if--
}
function is_value(before) { # what stands before a {
    return parens > 0 || before ~ /([=,{]|return|\])$/ || before ~ /([=(,&?:]|return) *\((const )?[a-z_0-9]+( \*)?\)$/
}
function walk(code,    i, c, before) {
    for (i = 1; i <= length(code); i++) {
        c = substr(code, i, 1)
        if (c == "(" || c == "[") parens++
        else if (c == ")" || c == "]") parens--
        else if (c == "{") {
            before = substr(code, 1, i - 1)
            sub(/ +$/, "", before)
            if (before == "") before = last_text
            block[++level] = !is_value(before)
            inner[level] = before == "extern \"\"" ? 0 : begun + 4
            if (!block[level]) parens++
        } else if (c == "}" && level > 0) {
            if (!block[level]) parens--
            closed_block = block[level--]
        }
    }
}
function check_depth(code, was_comment,    text, at, want, is_label) {
    text = code
    sub(/ +$/, "", text)
    at = match(text, /[^ ]/) - 1
    if (at < 0) return
    text = substr(text, at + 1)
    is_label = text ~ /^(case [^?]*:|default:|[a-z_]+:$)/
    if (parens == 0 && (expect >= 0 || text ~ /^\{/)) {
        want = text ~ /^\}/ || is_label ? (inner[level] > 4 ? inner[level] - 4 : 0) : expect
        if (text ~ /^else/ && at > want && at % 4 == 0) want = at # of an if within a loop
        if (expect >= 0 && at != want && !was_comment && !is_table) bad("indented by " at ": expected " want)
    }
    if (parens == 0 && (expect != NOWHERE || text ~ /^\{/)) { begun = at; head = text }
    closed_block = 1
    walk(code)
    last_text = text
    if (parens > 0) return
    if (text ~ /[;{]$/ || (text ~ /\}$/ && closed_block) || (is_label && text ~ /:$/)) expect = inner[level]
    else if ((head ~ /^(\} *)?(else )?(if|for|while|switch) / && text ~ /\)$/) || text ~ /^((\} *)?else|do)$/) expect = begun + 4
    else expect = text ~ /^[A-Z][A-Z0-9_]*(\(.*\))?$/ ? WHEREVER : NOWHERE
}
BEGIN { NOWHERE = -1; WHEREVER = -2 }
FNR == 1 { if (file != "" && last == "") { print file ": an empty line at its end"; n_bad++; is_bad[file] = 1 }
           file = FILENAME; n_files++; in_comment = is_table = in_directive = 0; last = "x"; last_code = last_text = ""
           level = parens = n_if = begun = expect = inner[0] = 0; head = "" }
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
    was_comment = in_comment
    code = code_of($0)
    if (in_directive || (!was_comment && code ~ /^ *#/)) { skip_directive(code); in_directive = $0 ~ /\\$/; is_directive = 1 }
    else { check_depth(code, was_comment); is_directive = 0 }
    if (code ~ /(^|[^a-zA-Z0-9_])(if|for|while|switch)\(/ && code !~ /^ *#/) bad("expected a blank after if, for, while, switch")
    if (code ~ /,[^ \n\\)]/ ) bad("expected a blank after a comma")
    if (code ~ /(^|[ (])(char|int|void|float|double|bool|u?int[0-9]+_t|size_t|hn_[a-z0-9_]+)\* [a-z]/) bad("expected the * of a pointer at its name")
    if (code ~ /^(static |extern |const |struct |enum |unsigned )*[a-z_][a-z0-9_]* \**[a-z_][a-z0-9_]*\([^;]*\) ?\{$/) bad("a function: expected its { on a line of its own")
    if (code ~ /^ +\{$/ && last_code ~ /\)$/ && last_code ~ /^ *(if|for|while|switch|else)/) bad("expected { at the end of the line before")
    if (code ~ /(^|[^a-z0-9_])(if|for|while|switch) .*\)\{$|\}else|else\{/) bad("expected a blank beside {, } and else")
    if (code ~ /\{[^ }\\]|[^ {]\}/) bad("expected a blank within {}")
    if (code ~ /;[^ ;)\\]/) bad("expected a blank after a semicolon")
    if (code !~ /<<=|>>=/ && code ~ /[^ ](&&|\|\||[=!<>+*\/|&^-]=)|(&&|\|\||[=!<>+*\/|&^-]=)[^ ]|[a-z0-9_\])]=|[^=!<>+*\/|&^%-]=[a-z0-9_(]/)
        bad("expected blanks about an operator")
    if (!is_directive && code ~ /\( +[^ ]|[^ ,] +\)/) bad("a blank within ()")
    last = $0; last_code = code
}
END {
    if (last == "") { print file ": an empty line at its end"; n_bad++; is_bad[file] = 1 }
    n = 0; for (f in is_bad) n++
    printf "%d passed, %d failed, 0 skipped\n", n_files - n, n
    exit n_bad > 0 || n_files == 0
}' $(find src include tests examples -type f -name '*.[ch]' 2>/dev/null | sort)
