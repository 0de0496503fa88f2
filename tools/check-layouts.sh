#!/bin/sh
# check-layouts.sh [ROOT] [--record]: where each field of each public struct lies, and the number of each name of a public enum,
# beside those of the last release (docs/abi/layouts.txt). What was taken away or moved fails, by name. A struct that begins
# with its size, or whose size is given, may be longer if src/engine/structs.def has the field that it ended with; one that the
# library lends may be longer. --record: this is the release.
# CC names the compiler.
root=${1:-$(dirname "$0")/..}
tools=$(cd "$(dirname "$0")" && pwd)
cd "$root" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
{
    echo '#include "hone/hone.h"'
    echo '#include <stdio.h>'
    echo 'int main(void) {'
    ${CC:-cc} -E -P -Iinclude include/hone/hone.h | awk '
        { text = text " " $0 }
        END {
            for (rest = text; match(rest, /typedef (struct|enum) hn_[a-z0-9_]+ *\{[^}]*\}/); rest = substr(rest, RSTART + RLENGTH)) {
                words = substr(rest, RSTART, RLENGTH)
                split(words, word, " ")
                kind = word[2]; name = word[3]; sub(/\{.*/, "", name)
                sub(/^[^{]*\{ */, "", words); sub(/[; ,]*\}$/, "", words)
                while (gsub(/\)[ ]*\([^()]*\)/, ")", words)) # parameters of callbacks
                    ;
                n = split(words, part, /[;,]/)
                for (i = 1; i <= n; i++) {
                    field = part[i]
                    sub(/ *=.*/, "", field); sub(/\[.*/, "", field); gsub(/[) ]+$/, "", field); sub(/.*[ *(]/, "", field)
                    if (kind == "enum")
                        printf "printf(\"%s %%lld\\n\", (long long)%s);\n", field, field
                    else
                        printf "printf(\"%s.%s at %%zu of %%zu\\n\", offsetof(%s, %s), sizeof ((%s *)0)->%s);\n", name, field, name, field, name, field
                }
                if (kind == "struct")
                    printf "printf(\"%s %%zu bytes\\n\", sizeof(%s));\n", name, name
            }
        }'
    echo 'return 0; }'
} >"$dir/layouts.c"
${CC:-cc} -std=c17 -Iinclude "$dir/layouts.c" -o "$dir/layouts" && "$dir/layouts" | LC_ALL=C sort >"$dir/now" || exit 1
if [ "${2:-}" = --record ]; then
    mkdir -p docs/abi && cp "$dir/now" docs/abi/layouts.txt
    exit
fi
"$tools/check-structs.sh" . --lent >"$dir/lent" || exit 1
n=0 bad=0
wrong() {
    echo "$1"
    bad=$((bad + 1))
}
while read -r line; do
    n=$((n + 1))
    grep -qxF -- "$line" "$dir/now" && continue
    name=${line%% *}
    now=$(grep -E "^$name " "$dir/now")
    case $line in
    *' bytes')
        was=${line#* } was=${was% bytes}
        now=${now#* } now=${now% bytes}
        # The field that it ended with: nothing in the release lies behind it.
        last=$(sed -n "s/^$name\.\([a-z0-9_]*\) at \([0-9]*\) .*/\2 \1/p" docs/abi/layouts.txt | sort -n | tail -n 1)
        [ "${now:-0}" -gt "$was" ] && grep -qE "^HN_(STRUCT|RESULT)\($name, ${last#* }\)" src/engine/structs.def && continue
        [ "${now:-0}" -gt "$was" ] && grep -qx "$name" "$dir/lent" && continue
        wrong "$name: $was bytes in the last release, ${now:-none} now"
        ;;
    *) wrong "$line in the last release; now ${now:-it is gone}" ;;
    esac
done <docs/abi/layouts.txt
echo "$((n - bad)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 0 ]
