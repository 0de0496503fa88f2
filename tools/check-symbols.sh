#!/bin/sh
# check-symbols.sh BUILD: what libhone.a defines for others begins with hn_ or nn_; an object compiled
# for one instruction-set level exports only hn_..._<level>, so that the linker cannot take code of
# a high level for a low one. What it takes
# from the C library is no elementary function, whose bits are another library's, and nothing that ends,
# prints or changes the host. NM names the tool.
build=${1:?the build folder}
cd "$build" || exit 1
nm=${NM:-nm}
{
    $nm -g --defined-only libhone.a 2>/dev/null | awk 'NF == 3 { print "- libhone.a", $2, $3 }'
    $nm -u libhone.a 2>/dev/null | awk '/:$/ { object = $1 } $1 == "U" { print "undefined", object, $1, $2 }'
    for folder in CMakeFiles/hn_kernels_*.dir; do
        [ -d "$folder" ] || continue
        level=${folder#CMakeFiles/hn_kernels_}
        find "$folder" -name '*.o' | sort | while read -r object; do
            $nm -g --defined-only "$object" |
                awk -v level="${level%.dir}" -v object="$object" 'NF == 3 { print level, object, $2, $3 }'
        done
    done
} | awk '
BEGIN {
    taken = "^_?((exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|" \
            "tanh|erf|erfc|tgamma|lgamma|cbrt|hypot)[fl]?|exit|_exit|abort|printf|vprintf|puts|putchar|perror|" \
            "stdout|stderr|setlocale|srand|rand|random|system|signal|setenv|putenv)$"
}
{
    n_checks++
    if ($1 == "undefined") {
        sub(/@.*/, "", $4)
        if ($4 !~ taken) next
        print $2 " takes " $4 " from the C library"
        n_bad++
        next
    }
    ok = $4 ~ /^_?(hn|nn)_/
    if ($1 != "-") ok = $4 ~ ("^_?hn_.*_" $1 "$")
    if (ok) next
    print $2 ": " $4 ($1 == "-" ? ": expected hn_..." : ": expected hn_..._" $1)
    n_bad++
}
END {
    printf "%d passed, %d failed, 0 skipped\n", n_checks - n_bad, n_bad
    exit n_bad > 0 || n_checks == 0
}'
