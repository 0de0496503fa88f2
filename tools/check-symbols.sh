#!/bin/sh
# check-symbols.sh BUILD: what libhone.a defines for others begins with hn_ or nn_; an object compiled
# for one instruction-set level exports only hn_..._<level>, so that the linker cannot take code of
# a high level for a low one. The one that fills a table of slots is compiled with `ref`. NM names the tool.
build=${1:?the build folder}
cd "$build" || exit 1
nm=${NM:-nm}
{
    $nm -g --defined-only libhone.a 2>/dev/null | awk 'NF == 3 { print "- libhone.a", $2, $3 }'
    for folder in CMakeFiles/hn_kernels_*.dir; do
        [ -d "$folder" ] || continue
        level=${folder#CMakeFiles/hn_kernels_}
        find "$folder" -name '*.o' | sort | while read -r object; do
            $nm -g --defined-only "$object" |
                awk -v level="${level%.dir}" -v object="$object" 'NF == 3 { print level, object, $2, $3 }'
        done
    done
} | awk '
{
    n_checks++
    ok = $4 ~ /^_?(hn|nn)_/
    if ($1 != "-") ok = $4 ~ ("^_?hn_.*_" $1 "$") || ($1 == "ref" && $4 ~ /^_?hn_.*_kernels_init$/)
    if (ok) next
    print $2 ": " $4 ($1 == "-" ? ": expected hn_..." : ": expected hn_..._" $1)
    n_bad++
}
END {
    printf "%d passed, %d failed, 0 skipped\n", n_checks - n_bad, n_bad
    exit n_bad > 0 || n_checks == 0
}'
