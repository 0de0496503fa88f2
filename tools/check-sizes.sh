#!/bin/sh
# check-sizes.sh [ROOT]: no file beyond 600 lines, no C function beyond 80, save those that
# tools/sizes-allowed.txt names with a reason ("path lines reason" or "path:function lines reason").
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
find src include tests tools cmake -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.sh' \
    -o -name '*.py' -o -name '*.cmake' \) 2>/dev/null | sort |
awk '
BEGIN {
    while ((getline line < "tools/sizes-allowed.txt") > 0)
        if (split(line, field, " ") > 2 && line !~ /^#/) allowed[field[1]] = field[2]
}
function judge(what, lines, most) {
    n_checks++
    if (what in allowed) most = allowed[what]
    if (lines <= most) return
    print what ": " lines " lines: expected at most " most
    n_bad++
}
{
    file = $0
    at = start = 0
    signature = ""
    while ((getline line < file) > 0) {
        at++
        if (file !~ /\.(c|h|cu)$/) continue
        # the brace of a function stands alone in the first column
        if (line ~ /^[A-Za-z_].*\(/) signature = line
        if (line == "{") start = at
        if (line == "}" && start) {
            name = signature
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
            judge(file ":" name, at - start - 1, 80)
            start = 0
        }
    }
    close(file)
    judge(file, at, 600)
}
END {
    printf "%d passed, %d failed, 0 skipped\n", n_checks - n_bad, n_bad
    exit n_bad > 0 || n_checks == 0
}'
