#!/bin/sh
# check-derived.sh BUILD [ROOT]: the lists that the build derives hold all that there is: every binding that libhone.a defines is
# in bindings.def, and nothing else; in a copy, one that is added is found, and so is a kernel's signature that is
# spread over lines; an op whose kernel's signature has a shape of strips is bound by it, unless it is bound already, and what
# is no op is not; every file of decoders, of the formats that have kernels and of no others, is in kernels/formats.h; every file of
# the page is in page.def. NM and CMAKE name the tools.
build=$(cd "${1:?the build folder}" && pwd)
cd "${2:-$(dirname "$0")/..}" || exit 1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
n_passed=0 n_failed=0

# same WHAT EXPECTED FOUND: files
same() {
    if cmp -s "$2" "$3"; then
        n_passed=$((n_passed + 1))
    else
        echo "$1: expected (<) and found (>):"
        diff "$2" "$3"
        n_failed=$((n_failed + 1))
    fi
}

${NM:-nm} -g --defined-only "$build/libhone.a" 2>/dev/null |
    sed -n 's/.* [RrDdSs] _*hn_cpu_\([a-z0-9_]*\)$/HN_BIND(\1)/p' | sort >"$copy/defined"
sort "$build/derived/backend/cpu/bindings.def" >"$copy/listed"
[ -s "$copy/defined" ] || { echo "no binding in libhone.a"; n_failed=1; }
same "bindings" "$copy/defined" "$copy/listed"
for file in src/kernels/formats/*; do echo "#include \"${file#src/}\""; done | sort >"$copy/defined"
grep '^#' "$build/derived/kernels/formats.h" | sort >"$copy/found"
same "decoders" "$copy/defined" "$copy/found"

# One more of each kind.
mkdir -p "$copy/src/backend/cpu" "$copy/src/kernels" "$copy/src/ops" "$copy/src/quant"
cp src/backend/cpu/bind_*.c "$copy/src/backend/cpu"
cp -R src/kernels/norm src/kernels/elemwise "$copy/src/kernels"
cp src/ops/ops.def "$copy/src/ops"
cp src/quant/types.def "$copy/src/quant"
cp -R src/server "$copy/src"
echo '"a file";' >"$copy/src/server/page/zz_planted.js"
printf 'HN_OP(planted_map, hn_node *x)\nHN_OP(planted_alone, hn_node *x)\n' >>"$copy/src/ops/ops.def"
for name in planted_map planted_alone planted_no_op; do
    printf '#define HN_PARAMS_%s_f32 HN_SHARED_map\n' $name >>"$copy/src/kernels/elemwise/elemwise.h"
done
printf 'HN_FORMAT(planted_%s, "P", 99, 32, 18, %s, whole, 8, 15, )\n' fast decoded walking walks slow none >>"$copy/src/quant/types.def"
printf '\nHN_BIND_PLANTED(planted_line)\n' >>"$copy/src/backend/cpu/bind_norm.c"
printf 'const hn_cpu_binding hn_cpu_planted_alone = { 0 };\n' >"$copy/src/backend/cpu/bind_planted.c"
printf '#define HN_PARAMS_planted_f32 \\\n    int64_t n, \\\n    float *x\n#define HN_PARAMS_after_f32 int64_t n\n' \
    >>"$copy/src/kernels/norm/norm.h"
${CMAKE:-cmake} "-DHN_ROOT=$copy" "-DHN_DERIVED=$copy/derived" -P cmake/hn_derive.cmake || n_failed=$((n_failed + 1))
{
    cat "$copy/listed"
    printf 'HN_BIND(planted_line)\nHN_BIND(planted_alone)\nHN_BIND(planted_map)\n'
} | sort >"$copy/wanted"
sort "$copy/derived/backend/cpu/bindings.def" >"$copy/got"
same "bindings with three more" "$copy/wanted" "$copy/got"
{
    cat "$build/derived/backend/cpu/strips.def"
    echo 'HN_STRIP(map, planted_map)'
} | sort >"$copy/wanted"
sort "$copy/derived/backend/cpu/strips.def" >"$copy/got"
same "strips with one more" "$copy/wanted" "$copy/got"
{
    cat "$build/derived/kernels/norm/norm.def"
    printf 'HN_KERNEL(planted_f32)\nHN_KERNEL(after_f32)\n'
} | sort >"$copy/wanted"
sort "$copy/derived/kernels/norm/norm.def" >"$copy/got"
same "kernels of norm with two more" "$copy/wanted" "$copy/got"
{
    cat "$build/derived/kernels/formats.h"
    printf '#include "kernels/formats/planted_%s.h"\n' fast walking
} >"$copy/wanted"
same "decoders with two more" "$copy/wanted" "$copy/derived/kernels/formats.h"
{
    cat "$build/derived/server/page.def"
    echo "HN_PAGE_FILE($(grep -c . "$build/derived/server/page.def"), \"zz_planted.js\", \"$(${CMAKE:-cmake} -E sha256sum "$copy/src/server/page/zz_planted.js" | cut -c 1-32)\")"
} >"$copy/wanted"
same "files of the page with one more" "$copy/wanted" "$copy/derived/server/page.def"

echo "$n_passed passed, $n_failed failed"
[ $n_failed = 0 ]
