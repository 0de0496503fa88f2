#!/bin/sh
# prove.sh BUILD SOURCE: the proof of the ops, its certificate, and its exit statuses. The whole certificate, models and all,
# is a gate of .ci/run.
set -u
hone=$1/hone
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
"$hone" prove --ops '*' --time-limit 0 --json "$dir/c.json" >"$dir/out" 2>"$dir/err" || { cat "$dir/out" "$dir/err"; fail "prove"; }
grep -q ' 0 failed, 0 skipped$' "$dir/out" || fail "no count: $(tail -n 1 "$dir/out")"
for word in '"cpu"' '"isa"' '"seed"' '"failed": 0' '"skipped": 0' '"rows"'; do
    grep -q "$word" "$dir/c.json" || fail "the certificate lacks $word"
done

# Every level of this architecture was computed at, or is named as absent.
case $(uname -m) in x86_64) arch=x86 ;; aarch64) arch=arm ;; *) arch=none ;; esac
absent=$(grep '"isa_absent"' "$dir/c.json")
all=0
for level in $(sed -n "s/^HN_ISA_LEVEL(\([a-z0-9]*\), $arch,.*/\1/p" "$2/src/base/levels.def"); do
    all=$((all + 1))
    there=$("$hone" devices --levels | grep -cx "$level")
    named=$(echo "$absent" | grep -c "\"$level\"")
    [ "$there$named" = 10 ] || [ "$there$named" = 01 ] || fail "$level: computed at $there, absent $named times: $absent"
done
[ $all -gt 0 ] || [ $arch = none ] || fail "no level of $arch was found"
"$hone" prove --ops 'no_such*' >"$dir/out" 2>"$dir/err" && fail "an unknown pattern was accepted"
[ $? -eq 2 ] || fail "an unknown pattern: not a usage error"
"$hone" prove --seed 0 2>"$dir/err" && fail "seed 0 was accepted"
"$hone" prove --ops 'silu*' --json /no/such/folder/c.json >/dev/null 2>"$dir/err" && fail "a folder that is not there"
grep -q '/no/such/folder' "$dir/err" || fail "the message does not name the file"
echo "1 passed, 0 failed, 0 skipped"
