#!/bin/sh
# check-man.sh [ROOT]: every public function is in one page, its header's, and is led there by one of its own name;
# every word of a header is in its page as it is read; and what renders pages has nothing to say of them. The comment at each
# opaque type says who frees it (frees, freed, closes), and what threads may do with it.
tools=$(cd "$(dirname "$0")" && pwd)
root=${1:-$tools/..}
cd "$root" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0 skipped=0
wrong() { echo "$*"; bad=$((bad + 1)); }
"$tools/man.sh" include "$dir/man3" || exit 1
if command -v groff >/dev/null 2>&1; then
    render() { groff -ww -man -Tascii -P-c -P-b -P-u "$1"; }
elif command -v mandoc >/dev/null 2>&1; then
    render() { mandoc -T lint -W warning "$1" >&2; mandoc -T ascii "$1"; }
else
    echo "skipped: how pages are read: neither groff nor mandoc is installed"
    skipped=1
fi
words() { tr -cs 'A-Za-z0-9_' '\n' | sort -u; }
for header in include/hone/*.h; do
    name=$(basename "$header" .h) page=$dir/man3/hone_$(basename "$header" .h).3
    n=$((n + 1))
    sed 1q "$header" | grep -q "^/\* $name\.h: [a-z]" || wrong "$header: expected a first line that begins with /* $name.h: and what it is"
    [ -s "$page" ] || { wrong "$header: no page"; continue; }
    [ "$skipped" = 0 ] || continue
    render "$page" >"$dir/read" 2>"$dir/complaints"
    [ ! -s "$dir/complaints" ] || wrong "$(cat "$dir/complaints")"
    sed '/^#if defined(__GNUC__)/,/^#endif/d; /^#/d; /^extern "C"/d; s/\\\\*$//' "$header" | words | grep -vx "HN_API\|$name\|h\|" >"$dir/said"
    words <"$dir/read" | comm -23 "$dir/said" - >"$dir/lost"
    [ ! -s "$dir/lost" ] || wrong "$header: not in its page: $(tr '\n' ' ' <"$dir/lost")"
done
for name in $(cat include/hone/*.h | tr '\n' ' ' | grep -o 'HN_API [^;{]*' | sed 's/ *(.*//; s/.*[ *]//' | grep '^hn_' | sort -u); do
    n=$((n + 1))
    header=$(grep -l "HN_API.*[ *]$name(" include/hone/*.h)
    pages=$(grep -lx "$name,\|$name \\\\- .*" "$dir"/man3/hone_*.3)
    [ "$pages" = "$dir/man3/hone_$(basename "$header" .h).3" ] || wrong "$name: in the pages '$pages', expected that of $header"
    [ "$(cat "$dir/man3/$name.3" 2>/dev/null)" = ".so man3/hone_$(basename "$header" .h).3" ] || wrong "$name.3 does not lead to its page"
done
cat include/hone/*.h | awk '
    /^\/\*/ { comment = ""; is_comment = 1 }
    is_comment { comment = comment " " $0; if (/\*\//) is_comment = 0; next }
    /^typedef struct hn_[a-z0-9_]+ hn_[a-z0-9_]+;$/ {
        name = $3
        if (comment !~ /(frees?|freed|closes) /) print name ": its comment does not say who frees it"
        else if (comment !~ /threads?[ ,.:]/) print name ": its comment does not say what threads may do with it"
        else print "said"
    }
    { comment = "" }' >"$dir/types"
n=$((n + $(wc -l <"$dir/types")))
grep -v '^said$' "$dir/types" >"$dir/unsaid"
cat "$dir/unsaid"
bad=$((bad + $(wc -l <"$dir/unsaid")))
echo "$((n - bad)) passed, $bad failed, $skipped skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 1 ]
