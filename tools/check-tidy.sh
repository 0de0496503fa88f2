#!/bin/sh
# check-tidy.sh BUILD [FILE...]: clang-tidy with the checks of .clang-tidy over the library's and the program's
# sources, as BUILD/compile_commands.json compiles them; or over these files. A finding is an error.
build=$1
shift
files=$(mktemp)
trap 'rm -f "$files"' EXIT
if [ $# -gt 0 ]; then
    printf '%s\n' "$@"
else
    grep -o '"file": "[^"]*/src/[^"]*"' "$build/compile_commands.json" | cut -d'"' -f4 | sort -u
fi >"$files"
[ -s "$files" ] || { echo "$build: no sources"; exit 1; }
# -w: warnings are the compilers' own to give, of their own headers' macros too.
xargs -P 2 -n 10 clang-tidy -p "$build" --extra-arg=-w --quiet <"$files" 2>/dev/null && echo "$(wc -l <"$files") files passed"
