#!/usr/bin/env bash
# abi.sh BUILD [--record]: the shared library's functions beside those of the last release (docs/abi). What was
# added passes; what was taken away or changed fails, by name. --record: this is the release. Structs and enums are
# check-layouts.sh's: abidiff passes what moves in them, as their types lie in no header of a record.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
library=$1/libhone.so
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$source/tools/need.sh" abidiff:abigail-tools xz:xz-utils
if [ "${2:-}" = --record ]; then
    abidw --headers-dir "$source/include/hone" --drop-private-types --exported-interfaces-only --no-corpus-path \
        --no-comp-dir-path --no-show-locs "$library" | xz -9 >"$dir/abi" && mv "$dir/abi" "$source/docs/abi/libhone.abi.xz"
    exec "$source/tools/check-layouts.sh" "$source" --record
fi
xz -dc "$source/docs/abi/libhone.abi.xz" >"$dir/release.abi"
# Its answer is a sum: 1 and 2 are mistakes of its own, 4 a change, 8 one that breaks.
abidiff --headers-dir2 "$source/include/hone" --drop-private-types --exported-interfaces-only --no-added-syms \
    "$dir/release.abi" "$library" && echo "the interface is that of the last release, or more"
