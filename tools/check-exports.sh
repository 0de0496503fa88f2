#!/bin/sh
# check-exports.sh LIBRARY INCLUDE: what a shared libhone shows is the functions of its headers, each of them, and
# nothing else. NM names the tool.
library=${1:?the shared library} include=${2:?the folder of its headers}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat "$include"/hone/*.h | tr '\n' ' ' | grep -o 'HN_API [^;{]*' | sed 's/ *(.*//; s/.*[ *]//' | grep '^hn_' | sort -u >"$dir/declared"
${NM:-nm} -D --defined-only "$library" | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort -u >"$dir/shown"
comm -13 "$dir/declared" "$dir/shown" | sed 's/$/: shown by the library, and in no public header/' >"$dir/wrong"
comm -23 "$dir/declared" "$dir/shown" | sed 's/$/: in a public header, and not shown by the library/' >>"$dir/wrong"
cat "$dir/wrong"
n=$(sort -u "$dir/declared" "$dir/shown" | wc -l) bad=$(wc -l <"$dir/wrong")
echo "$((n - bad)) passed, $((bad)) failed, 0 skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 50 ]
