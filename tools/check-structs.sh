#!/bin/sh
# check-structs.sh [ROOT]: every struct that a caller fills can grow. What a function of include/hone takes as `const hn_x *`, and
# what such a struct points to, begins with `size_t size`, ends with the last field that src/engine/structs.def has of it, and is
# taken by hn_take_struct. Those named here are elements of arrays, and a shape: they stay as they are.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
fixed=" hn_attribute hn_lm_batch_piece hn_lm_bias hn_shape "
cat include/hone/*.h | grep -v '^#' | awk -v fixed="$fixed" '
    { text = text $0 " " }
    # Structs that `words` takes a pointer to, or holds.
    function add(words, name) {
        for (name in body)
            if (!(name in filled) && words ~ ("(const " name " \\*([^*]|$)|^ *" name " |; *" name " )")) {
                filled[name] = 1
                if (!index(fixed, " " name " "))
                    add(fields(name))
            }
    }
    # Without the parameters of callbacks, which are the library'"'"'s to fill.
    function fields(name, words) {
        words = body[name]
        gsub(/\)\([^()]*\)/, ")", words)
        return words
    }
    END {
        while (match(text, /\/\*/)) {
            rest = substr(text, RSTART + 2)
            text = substr(text, 1, RSTART - 1) " " substr(rest, index(rest, "*/") + 2)
        }
        for (rest = text; match(rest, /typedef struct [a-z0-9_]+ \{[^}]*\}/); rest = substr(rest, RSTART + RLENGTH)) {
            words = substr(rest, RSTART, RLENGTH)
            name = words; sub(/^typedef struct /, "", name); sub(/ .*/, "", name)
            sub(/^[^{]*\{ */, "", words); sub(/ *\}$/, "", words)
            body[name] = words
        }
        for (rest = text; match(rest, /HN_API [^;]*;/); rest = substr(rest, RSTART + RLENGTH)) {
            words = substr(rest, RSTART, RLENGTH)
            sub(/^[^(]*\(/, "", words)
            gsub(/\)\([^()]*\)/, ")", words)
            add(words)
        }
        for (name in filled)
            if (!index(fixed, " " name " ")) {
                words = fields(name)
                last = words
                sub(/; *$/, "", last); sub(/.*;/, "", last); sub(/\)$/, "", last); sub(/.*[ *,]/, "", last)
                print name, (words ~ /^size_t size;/ ? "sized" : "unsized"), last
            }
    }' | sort >"${TMPDIR:-/tmp}/hn-structs.$$"
trap 'rm -f "${TMPDIR:-/tmp}/hn-structs.$$"' EXIT
n=0 bad=0
wrong() {
    echo "$1"
    bad=$((bad + 1))
}
while read -r name sized last; do
    n=$((n + 1))
    listed=$(sed -n "s/^HN_STRUCT($name, \([a-z0-9_]*\))\$/\1/p" src/engine/structs.def | tail -n 1)
    if [ "$sized" != sized ]; then
        wrong "$name: a caller fills it: expected size_t size; as its first field"
    elif [ "$listed" != "$last" ]; then
        wrong "$name: its last field is $last: src/engine/structs.def ends it with ${listed:-no field}"
    elif ! grep -rqF "hn_take_struct(\"$name\"" src; then
        wrong "$name: no hn_take_struct takes it"
    fi
done <"${TMPDIR:-/tmp}/hn-structs.$$"
for name in $(sed -n 's/^HN_STRUCT(\([a-z0-9_]*\),.*/\1/p' src/engine/structs.def | sort -u); do
    grep -q "^$name " "${TMPDIR:-/tmp}/hn-structs.$$" || wrong "$name: src/engine/structs.def has it, and no caller fills it"
done
echo "$((n - bad)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 0 ]
