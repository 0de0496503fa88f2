#!/bin/sh
# check-names.sh [ROOT]: docs/names.md is in alphabetical order, each file that it names is there, and has the word.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
n=0 bad=0 last=
while IFS='|' read -r _ name _ file _; do
    name=$(echo "$name" | tr -d ' ') file=$(echo "$file" | sed -n 's/^ *`\(.*\)` *$/\1/p')
    n=$((n + 1)) wrong=
    [ -n "$file" ] || wrong="names no file"
    [ -z "$file" ] || [ -f "$file" ] || wrong="$file is not there"
    [ -n "$wrong" ] || grep -qi -- "$name" "$file" || wrong="$file does not have the word"
    first=$(printf '%s\n%s\n' "$last" "$name" | LC_ALL=C sort | head -n 1)
    [ -n "$wrong" ] || { [ "$first" = "$last" ] && [ "$name" != "$last" ]; } || wrong="expected before $last"
    [ -z "$wrong" ] || { echo "docs/names.md: $name: $wrong"; bad=$((bad + 1)); }
    last=$name
done <<END
$(sed -n '/^|---/,$p' docs/names.md | sed 1d | grep '^|')
END
echo "$((n - bad)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 1 ]
