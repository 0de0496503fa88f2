#!/bin/sh
# LEVELS-UNBUILT: a list of levels that is read past builds another library than was asked for, and nobody is told. Every word of
# HN_LEVELS is a level of this architecture, with what it implies, or CMake stops and names it; what was asked for is what C is told.
. "$2/tests/failures/cli.sh"
case $(uname -m) in x86_64) some='avx512;avx2' lacks='avx512:avx2' other=neon ;; aarch64) some=neon lacks= other=avx2 ;; *) exit 0 ;; esac
configure() { # FOLDER LEVELS
    cmake -S "$source" -B "$1" -DCMAKE_BUILD_TYPE=Release "-DHN_LEVELS=$2" >"$1.out" 2>&1
}
source=$2
refused() { # FOLDER LEVELS WORD
    configure "$1" "$2" && fail "HN_LEVELS='$2' was taken"
    tr -s '\n ' ' ' <"$1.out" | grep -q "HN_LEVELS: .*found .*$3" || fail "HN_LEVELS='$2': $(cat "$1.out")"
}
refused unknown nonsense nonsense
refused other "$other" "$other"
refused mixed "all;$some" all
[ -z "$lacks" ] || refused lacks "${lacks%:*}" "${lacks%:*}"
configure some "$some" || fail "$(cat some.out)"
for level in $(echo "$some" | tr ';' ' '); do
    grep -q "^HN_BUILT($level," some/derived/base/built.def || fail "$level was not built: $(cat some/derived/base/built.def)"
done
[ "$(wc -l <some/derived/base/built.def)" = "$(echo "$some" | tr ';' '\n' | wc -l)" ] || fail "more was built: $(cat some/derived/base/built.def)"
configure none ref || fail "$(cat none.out)"
[ -s none/derived/base/built.def ] && fail "beside ref: $(cat none/derived/base/built.def)"
exit 0
