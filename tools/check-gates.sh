#!/bin/sh
# check-gates.sh [ROOT]: every gate of .ci/nightly has its row in docs/nightly.md, in the same order, every row is a gate's, and says at
# which commit the gate passed last: one that is an ancestor of what is checked out. Without the whole history commits are not looked up.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT || exit 1
sed -n 's/^gate "\([^"]*\)".*/\1/p' .ci/nightly >"$dir/gates"
grep '^| ' docs/nightly.md | tail -n +2 >"$dir/rows"
awk -F ' [|] ' '{ sub(/^[|] /, "", $1); print $1 }' "$dir/rows" >"$dir/named"
n=$(wc -l <"$dir/gates") bad=0
fails() { echo "$*"; bad=$((bad + 1)); }
while read -r gate; do
    grep -qxF -- "$gate" "$dir/named" || fails "docs/nightly.md: no row of the gate \"$gate\""
done <"$dir/gates"
while read -r gate; do
    grep -qxF -- "$gate" "$dir/gates" || fails ".ci/nightly: no gate of the row \"$gate\""
done <"$dir/named"
[ $bad -ne 0 ] || cmp -s "$dir/gates" "$dir/named" || fails "docs/nightly.md: its rows are in another order than .ci/nightly's gates"
whole=$([ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ] && [ "$(git rev-parse --show-toplevel)" = "$PWD" ] && echo yes)
while read -r row; do
    name=${row#| } name=${name%% | *} at=${row% |} at=${at##*| }
    if ! echo "$at" | grep -qxE '[0-9a-f]{7,40}'; then
        fails "docs/nightly.md: \"$name\": expected a commit at the end of its row, found \"$at\""
    elif [ -n "$whole" ] && ! git merge-base --is-ancestor "$at" HEAD 2>/dev/null; then
        fails "docs/nightly.md: \"$name\" passed at $at, which is no commit before this one"
    fi
done <"$dir/rows"
echo "$n gates"
[ "$n" -gt 0 ] || fails ".ci/nightly: no gate"
echo "$((n > bad ? n - bad : 0)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ]
