#!/bin/sh
# check-headers.sh [ROOT]: each header compiles by itself. CC names the compiler. A header named for an
# instruction-set level, x_avx2.h, is a part of x.h and is compiled through it, at that level; levels
# of another architecture, and headers of another system, are skipped by name. The public ones make nothing by macros, but
# HN_API and the version: who reads them without a preprocessor, to make a binding, sees all that there is. Each is guarded by its own
# path: of two with one guard the second would be empty where both are included.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
cc=${CC:-cc}
errors=$(mktemp) derived=$(mktemp -d)
trap 'rm -rf "$errors" "$derived"' EXIT
[ ! -f cmake/hn_derive.cmake ] || ${CMAKE:-cmake} "-DHN_ROOT=$PWD" "-DHN_DERIVED=$derived" -P cmake/hn_derive.cmake || exit 1
n_passed=0 n_failed=0 n_skipped=0
machine=$($cc -dumpmachine)
levels=$(sed -n 's/^HN_ISA_LEVEL(\([a-z0-9]*\),.*/\1/p' src/base/levels.def 2>/dev/null)

flags_of() { # LEVEL: its flags, behind those of what it implies
    line=$(grep "^HN_ISA_LEVEL($1," src/base/levels.def)
    for implied in $(echo "$line" | grep -o 'HN_ISA_[a-z0-9][a-z0-9]*' | sed 's/HN_ISA_//'); do flags_of "$implied"; done
    line=$(grep "^HN_ISA_LEVEL($1," src/base/levels.def)
    echo "$line" | sed 's/.*"\(.*\)".*/\1/'
}

for header in $(find src include tests -name '*.h' | sort); do
    case $header:$machine in
    src/base/os/windows/*:*windows* | src/base/os/windows/*:*mingw*) ;;
    src/base/os/windows/*)
        echo "skipped $header: not for $machine"
        n_skipped=$((n_skipped + 1))
        continue
        ;;
    esac
    whole=$header level=ref flags=
    for name in ref $levels; do
        [ "${header%_"$name".h}" = "$header" ] && continue
        level=$name
        [ -f "${header%_*}.h" ] && whole=${header%_*}.h
    done
    if [ $level != ref ]; then
        row=$(grep "^HN_ISA_LEVEL($level," src/base/levels.def)
        flags=$(flags_of $level)
        case $row:$machine in
        *", x86,"*:x86_64* | *", arm,"*:aarch64*) ;;
        *)
            echo "skipped $header: not for $machine"
            n_skipped=$((n_skipped + 1))
            continue
            ;;
        esac
    fi
    # shellcheck disable=SC2086
    if echo "#include \"$whole\"" | $cc -std=c17 -fsyntax-only -Wall -Wextra -Wpedantic -Wno-unused-function \
        -Werror -D_POSIX_C_SOURCE=200809L "-DHN_LEVEL=$level" "-DHN_LEVEL_$level=1" $flags -I. -Isrc -Iinclude "-I$derived" -x c - 2>"$errors"; then
        n_passed=$((n_passed + 1))
    else
        echo "$header: does not compile alone"
        head -3 "$errors"
        n_failed=$((n_failed + 1))
    fi
done
for header in $(find src include/hone tests -name '*.h' 2>/dev/null | sort); do
    guard=$(echo "$header" | sed 's,^src/,HN_,; s,^include/hone/,HONE_,; s,[/.],_,g' | tr 'a-z' 'A-Z')
    if [ "$(sed -n 's/^#ifndef \([A-Za-z0-9_]*\)$/\1/p' "$header" | head -n 1)" = "$guard" ] && grep -qx "#define $guard" "$header"; then
        n_passed=$((n_passed + 1))
    else
        echo "$header: expected to be guarded by $guard"
        n_failed=$((n_failed + 1))
    fi
done
for header in include/hone/*.h; do
    [ -f "$header" ] || continue
    if grep -nE '^ *#' "$header" | grep -vE ':#(ifndef HONE_[A-Z]+_H|define HONE_[A-Z]+_H|include .*|ifdef __cplusplus|if defined\(__GNUC__\)|else|endif)$' |
        grep -vE ':#define (HN_API( .*)?|HN_VERSION_[A-Z]+ .*[^\])$' >"$errors"; then
        echo "$header:$(head -1 "$errors"): a binding generator has no preprocessor"
        n_failed=$((n_failed + 1))
    else
        n_passed=$((n_passed + 1))
    fi
done
echo "$n_passed passed, $n_failed failed, $n_skipped skipped"
[ $n_failed = 0 ] && [ $n_passed != 0 ]
