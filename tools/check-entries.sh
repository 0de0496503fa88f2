#!/bin/sh
# check-entries.sh [ROOT]: every function of include/hone begins with HN_ENTER(), so that it computes and
# writes numbers in hone's own floating-point state and locale and gives the host's back. Those named
# here compute nothing, and write and read no number.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
exempt=" hn_status_text hn_error_message hn_version hn_lm_builtin hn_engine_cancel hn_engine_resume hn_cancel_heed hn_cancel_set hn_cancel_clear hn_engine_on_progress \
hn_engine_memory hn_engine_fail_allocation hn_node_type hn_builder_output "
names=$(cat include/hone/*.h | tr '\n' ' ' | grep -o 'HN_API [^;{]*' | sed 's/ *(.*//; s/.*[ *]//' | grep '^hn_' | sort -u)
n=0
bad=0
for name in $names; do
    n=$((n + 1))
    case "$exempt" in *" $name "*) continue ;; esac
    # The definition: its line begins the function, and the first line after '{' must enter.
    found=$(find src -name '*.c' ! -path 'src/cli/*' | sort | xargs awk -v name="$name" '
        FNR == 1 { state = 0 }
        state == 0 && $0 ~ ("^[a-z].*[ *]" name "\\(") { state = 1 }
        state == 1 && /;[ ]*$/ { state = 0 }
        state == 1 && /^\{/ { state = 2; next }
        state == 2 { print ($0 ~ /^    HN_ENTER\(\);/) ? "enters" : "does-not " FILENAME ":" FNR; state = 0 }
    ')
    case "$found" in
    enters) ;;
    '') echo "$name: it is declared in include/hone and defined nowhere in src"; bad=$((bad + 1)) ;;
    *) echo "$name: $found: expected HN_ENTER(); first"; bad=$((bad + 1)) ;;
    esac
done
echo "$((n - bad)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 0 ]
