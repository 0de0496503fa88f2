#!/bin/sh
# enums.sh [ROOT] [OUT]: writes the numbers of what grows by a line of a table into the public headers, between two comments there: who
# reads a header, a compiler or a generator of bindings, finds plain names and no table. A number is the place of a line among those
# of its table, so a new line goes behind the last: where a name of the last release (docs/abi/layouts.txt) would get another number, nothing
# is written. OUT, for check-enums.sh: a folder that gets what would be the headers.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}"
out=${2:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fails() { echo "$*" >&2; exit 1; }

# Each of these makes the lines of a header out of a table's. Types: four to a line, by the words that they are called.
types() {
    sed -n 's/^HN_SCALAR([A-Z0-9]*, *\([a-z0-9_]*\),.*/\1/p; s/^HN_FORMAT(\([a-z0-9_]*\),.*/\1/p' "$1" | awk '
        { printf "%sHN_ELEMENT_%s = %d", NR == 1 ? "    " : NR % 4 == 1 ? ",\n    " : ", ", $1, NR - 1 }
        END { if (NR) print "" }'
}
# Optimisers: each beside its word; the first is that of NULL, too.
optimizers() {
    sed -n 's/^HN_OPTIMIZER(\([a-z0-9_]*\), *\([A-Z0-9_]*\),.*/\1 \2/p' "$1" | awk '
        { word[NR] = $1; name[NR] = "HN_TRAINER_" $2; if (length(name[NR]) > width) width = length(name[NR]) }
        END {
            for (i = 1; i <= NR; i++)
                printf "    %-" width + 1 "s /* \"%s\"%s */\n", name[i] (i < NR ? "," : ""), word[i], i == 1 ? ", or NULL" : ""
        }'
}

# put TABLE HEADER KIND: the header with KIND's lines of the table, where it has others
put() {
    first="    /* Written by tools/enums.sh from $1: */" last="    /* End of what tools/enums.sh writes. */"
    "$3" "$1" >"$dir/lines"
    [ -s "$dir/lines" ] || fails "$1: no line that tools/enums.sh reads"
    for mark in "$first" "$last"; do
        [ "$(grep -cxF -- "$mark" "$2")" = 1 ] || fails "$2: expected one line \"$mark\""
    done
    FIRST=$first LAST=$last awk -v lines="$dir/lines" '
        $0 == ENVIRON["LAST"] { is_within = 0 }
        !is_within
        $0 == ENVIRON["FIRST"] { is_within = 1; while ((getline line <lines) > 0) print line }' "$2" >"$dir/header"
    tr ',' '\n' <"$dir/lines" | sed -n 's/.*\(HN_[A-Za-z0-9_]*\).*/\1/p' | awk '{ print $1, NR - 1 }' >"$dir/numbers"
    [ ! -f docs/abi/layouts.txt ] || awk -v table="$1" '
        NR == FNR { of[$1] = $2; next }
        $1 in of && of[$1] != $2 { print table ": " $1 " is " of[$1] " in the last release (docs/abi/layouts.txt) and would be " $2 \
                                         ": a new line goes behind the last"; is_bad = 1 }
        END { exit is_bad }' docs/abi/layouts.txt "$dir/numbers" >&2 || exit 1
    if [ -n "$out" ]; then
        mkdir -p "$out" && cp "$dir/header" "$out/$(basename "$2")"
    elif ! cmp -s "$dir/header" "$2"; then
        cat "$dir/header" >"$2" && echo "$2"
    fi
}
put src/quant/types.def include/hone/tensor.h types
put src/train/optimizers.def include/hone/train.h optimizers
