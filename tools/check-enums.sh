#!/bin/sh
# check-enums.sh [ROOT]: what the public headers number is what the tables have: tools/enums.sh would write nothing else, and no
# number of the last release is another.
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0
if ! "$tools/enums.sh" . "$dir"; then
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
for header in "$dir"/*.h; do
    n=$((n + 1)) name=include/hone/$(basename "$header")
    cmp -s "$name" "$header" && continue
    echo "$name: found (<), and expected of the table that it names (>); tools/enums.sh writes it:"
    diff "$name" "$header"
    bad=$((bad + 1))
done
echo "$((n - bad)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 0 ]
