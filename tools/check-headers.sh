#!/bin/sh
# check-headers.sh [ROOT]: each header compiles by itself. CC names the compiler. A header named for an
# instruction-set level, x_avx2.h, is a part of x.h and is compiled through it, at that level; levels
# of another architecture are skipped by name.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
cc=${CC:-cc}
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
n_passed=0 n_failed=0 n_skipped=0
machine=$($cc -dumpmachine)
for header in $(find src include tests -name '*.h' | sort); do
    whole=$header level=ref flags=
    case $header in
    *_ref.h | *_avx2.h | *_avx512.h | *_neon.h)
        level=${header##*_} level=${level%.h}
        [ -f "${header%_*}.h" ] && whole=${header%_*}.h
        ;;
    esac
    case $level in
    avx2) flags='-mavx2 -mfma -mf16c -mbmi -mbmi2' ;;
    avx512) flags='-mavx2 -mfma -mf16c -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni' ;;
    esac
    case $level:$machine in
    ref:* | avx*:x86_64* | neon:aarch64*) ;;
    *)
        echo "skipped $header: not for $machine"
        n_skipped=$((n_skipped + 1))
        continue
        ;;
    esac
    # shellcheck disable=SC2086
    if echo "#include \"$whole\"" | $cc -std=c17 -fsyntax-only -Wall -Wextra -Wpedantic -Wno-unused-function \
        -Werror -D_POSIX_C_SOURCE=200809L "-DHN_LEVEL_$level=1" $flags -I. -Isrc -Iinclude -x c - 2>"$errors"; then
        n_passed=$((n_passed + 1))
    else
        echo "$header: does not compile alone"
        head -3 "$errors"
        n_failed=$((n_failed + 1))
    fi
done
echo "$n_passed passed, $n_failed failed, $n_skipped skipped"
[ $n_failed = 0 ] && [ $n_passed != 0 ]
