#!/bin/sh
# man.sh INCLUDE OUT: a manual page of section 3 a header, hone_NAME.3, and one that leads to it of each function.
# The headers are the contract: all that a page says stands there, in this order. Their first comment is NAME and
# DESCRIPTION; what follows is INTERFACE, comments as text and declarations as they are.
set -eu
include=$1 out=$2
mkdir -p "$out"
rm -f "$out"/*.3
version=$(awk '/^#define HN_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", n++ ? "." : "", $3 }' "$include/hone/version.h")
for header in "$include"/hone/*.h; do
    name=$(basename "$header" .h)
    awk -v name="$name" -v version="$version" -v out="$out" '
    function plain(s) { # of a text: what roff would take for its own
        gsub(/\\/, "\\e", s)
        gsub(/`/, "\\(ga", s)
        if (s ~ /^[.'"'"']/) s = "\\\\&" s
        return s
    }
    function code(s) {
        s = plain(s)
        gsub(/-/, "\\-", s)
        gsub(/\^/, "\\(ha", s)
        gsub(/~/, "\\(ti", s)
        gsub(/'"'"'/, "\\(aq", s)
        return s
    }
    function begin_code() { if (!in_code) { body = body ".PP\n.EX\n"; blank = 0 } in_code = 1 }
    function end_code() { if (in_code) body = body ".EE\n"; in_code = 0; blank = 0 }
    function add_code(s) { begin_code(); if (blank) body = body "\n"; blank = 0; body = body code(s) "\n" }
    # A line of a comment, its signs taken off: text, or an example, which is indented.
    function add_text(s) {
        if (s ~ /^    /) { add_code(s); in_text = 0; return }
        end_code()
        if (s == "") { in_text = 0; return }
        if (!in_text) body = body ".PP\n"
        in_text = 1
        sub(/^ +/, "", s)
        body = body plain(s) "\n"
    }
    function finish_top() {
        if (name == "") return
        sub(/^[a-z]+\.h: /, "", first)
        summary = first
        sub(/:? *$/, "", summary)
        top = body
        body = ""
        is_top = 0
    }
    BEGIN { is_top = 1 }
    /^#ifndef HONE_|^#define HONE_|^#include|^#ifdef __cplusplus|^extern "C"/ { next }
    /^#if defined\(__GNUC__\)/ { skips = 1 }
    skips { if (/^#endif/) skips = 0; next }
    /^#endif|^}$/ { next }
    # a comment of its own, from its first line to its last
    !in_comment && !depth && /^\/\*/ { in_comment = 1; in_text = 0; sub(/^\/\*/, "  ") }
    in_comment {
        line = $0
        ends = sub(/ *\*\/ *$/, "", line)
        sub(/^ [* ]/, "", line)
        sub(/^ /, "", line)
        if (is_top && first == "") { # up to its first full stop or colon that ends a line or a sentence
            first = line
        } else if (is_top && !has_first && line != "") {
            first = first " " line
        }
        if (is_top && !has_first) {
            stop = match(substr(first, 4 + length(name)), /\. |\.$|:$/)
            if (line == "" || stop || ends) {
                has_first = 1
                if (stop) {
                    rest = substr(first, 4 + length(name) + RSTART + 0)
                    first = substr(first, 1, 3 + length(name) + RSTART - 1)
                    sub(/^ +/, "", rest)
                    if (rest != "") add_text(rest)
                }
            }
        } else {
            add_text(line)
        }
        if (ends) { in_comment = 0; in_text = 0; if (is_top) { end_code(); finish_top() } }
        next
    }
    /^$/ { if (in_code) blank = 1; in_text = 0; next }
    {
        line = $0
        if (sub(/^HN_API /, "", line)) is_api = 1
        else if (is_api) sub(/^       /, "", line)
        whole = is_begun ? whole " " line : line
        is_begun = 1
        add_code(line)
        n_open = gsub(/{/, "{", line); n_close = gsub(/}/, "}", line)
        depth += n_open - n_close
        if (line ~ /;/ && !depth) {
            if (is_api && match(whole, /hn_[a-z0-9_]+\(/)) functions[++n_functions] = substr(whole, RSTART, RLENGTH - 1)
            is_api = is_begun = 0
        }
    }
    END {
        end_code()
        page = out "/hone_" name ".3"
        upper = toupper("hone_" name)
        printf ".TH %s 3 \"\" \"hone %s\" \"Library of hone\"\n.nr HY 0\n.SH NAME\n.nh\nhone_%s", upper, version, name > page
        for (i = 1; i <= n_functions; i++) printf ",\n%s", functions[i] > page
        printf " \\- %s\n", plain(summary) > page
        printf ".SH SYNOPSIS\n.EX\n#include <hone/%s.h>\n.EE\n", name > page
        if (top != "") printf ".SH DESCRIPTION\n%s", top > page
        if (body != "") printf ".SH INTERFACE\n%s", body > page
        printf ".SH SEE ALSO\n.BR hone_hone (3)\n" > page
        for (i = 1; i <= n_functions; i++) {
            link = out "/" functions[i] ".3"
            printf ".so man3/hone_%s.3\n", name > link
            close(link)
        }
    }' "$header"
done
