#!/usr/bin/env bash
# abi.sh BUILD [ROOT] [--record]: the shared library's functions beside those of the last release (docs/abi). What was
# added passes; what was taken away or changed fails, by name. --record: this is the release. Structs and enums are
# check-layouts.sh's: abidiff passes what moves in them, as their types lie in no header of a record. An opaque type that a
# function takes as const, and did not, passes: nothing that is called changes.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
library=$(cd "$1" && pwd)/libhone.so
source=${2:-$tools/..}
[ "$source" != --record ] || source=$tools/..
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$tools/need.sh" abidiff:abigail-tools xz:xz-utils
if [ "${!#}" = --record ]; then
    mkdir -p "$source/docs/abi"
    abidw --headers-dir "$source/include/hone" --drop-private-types --exported-interfaces-only --no-corpus-path \
        --no-comp-dir-path --no-show-locs "$library" | xz -9 >"$dir/abi" && mv "$dir/abi" "$source/docs/abi/libhone.abi.xz"
    exec "$tools/check-layouts.sh" "$source" --record
fi
opaque=$(cat "$source"/include/hone/*.h | sed -n 's/^typedef struct \(hn_[a-z0-9_]*\) \1;$/\1/p' | paste -sd '|' -)
printf '[suppress_type]\n  name_regexp = ^const (%s)([^a-z0-9_]|$)\n' "$opaque" >"$dir/passed"
xz -dc "$source/docs/abi/libhone.abi.xz" >"$dir/release.abi"
# Its answer is a sum: 1 and 2 are mistakes of its own, 4 a change, 8 one that breaks.
abidiff --suppressions "$dir/passed" --headers-dir2 "$source/include/hone" --drop-private-types --exported-interfaces-only \
    --no-added-syms "$dir/release.abi" "$library" && echo "the interface is that of the last release, or more"
