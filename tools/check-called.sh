#!/bin/sh
# check-called.sh [ROOT]: every check that a test in Ruby defines (def check_...) is named a second time in its file, where it is
# called. A compiler says so of C; here one that nobody called passes as if it held something.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
n=0
bad=0
for file in $(find tests tools bindings -name '*.rb' 2>/dev/null | sort); do
    for name in $(sed -n 's/^ *def \(check_[a-z0-9_]*\).*/\1/p' "$file"); do
        n=$((n + 1))
        [ "$(grep -cE "(^|[^a-z0-9_])$name([^a-z0-9_]|\$)" "$file")" -gt 1 ] && continue
        echo "$file: $name is defined, and called nowhere"
        bad=$((bad + 1))
    done
done
echo "$((n - bad)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 0 ]
