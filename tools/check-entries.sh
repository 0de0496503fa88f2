#!/bin/sh
# check-entries.sh [ROOT]: every function of include/hone begins with HN_ENTER(), so that it computes and
# writes numbers in hone's own floating-point state and locale and gives the host's back. Those named
# here compute nothing, and write and read no number.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
exempt=" hn_status_text hn_error_message hn_version hn_lm_builtin hn_engine_cancel hn_engine_resume hn_cancel_heed hn_cancel_set hn_cancel_clear hn_engine_on_progress \
hn_engine_memory hn_engine_fail_allocation hn_engine_cancel_at hn_node_type hn_builder_output "
names=$(cat include/hone/*.h | tr '\n' ' ' | grep -o 'HN_API [^;{]*' | sed 's/ *(.*//; s/.*[ *]//' | grep '^hn_' | sort -u)
# A line for each definition of a function, by one reading of all sources: NAME, and whether the first line after its '{' enters.
found=$(find src -name '*.c' ! -path 'src/cli/*' | sort | xargs awk '
    FNR == 1 { state = 0 }
    state == 0 && match($0, /^[a-z].*[ *]hn_[a-z0-9_]*\(/) { name = substr($0, 1, RLENGTH - 1); sub(/.*[ *]/, "", name); state = 1 }
    state == 1 && /\{.*\}[ ]*$/ { print name, (/\{ HN_ENTER\(\);/) ? "enters" : "does-not " FILENAME ":" FNR; state = 0 } # all on its line
    state == 1 && /;[ ]*$/ { state = 0 }
    state == 1 && /^\{/ { state = 2; next }
    state == 2 { print name, ($0 ~ /^    HN_ENTER\(\);/) ? "enters" : "does-not " FILENAME ":" FNR; state = 0 }
')
n=0
bad=0
for name in $names; do
    n=$((n + 1))
    case "$exempt" in *" $name "*) continue ;; esac
    case $(echo "$found" | sed -n "s/^$name //p") in
    enters) ;;
    '') echo "$name: it is declared in include/hone and defined nowhere in src"; bad=$((bad + 1)) ;;
    *) echo "$name: $(echo "$found" | sed -n "s/^$name //p"): expected HN_ENTER(); first"; bad=$((bad + 1)) ;;
    esac
done
echo "$((n - bad)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 0 ]
