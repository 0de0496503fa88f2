#!/bin/sh
# prove.sh BUILD: the proof of what is fixed, its certificate, and its exit statuses.
set -u
hone=$1/hone
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
"$hone" prove --time-limit 0 --json "$dir/c.json" >"$dir/out" 2>"$dir/err" || { cat "$dir/out" "$dir/err"; fail "prove"; }
grep -q ' 0 failed, 0 skipped$' "$dir/out" || fail "no count: $(tail -n 1 "$dir/out")"
for word in '"cpu"' '"isa"' '"seed"' '"failed": 0' '"skipped": 0' '"rows"'; do
    grep -q "$word" "$dir/c.json" || fail "the certificate lacks $word"
done
"$hone" prove --ops 'no_such*' >"$dir/out" 2>"$dir/err" && fail "an unknown pattern was accepted"
[ $? -eq 2 ] || fail "an unknown pattern: not a usage error"
"$hone" prove --seed 0 2>"$dir/err" && fail "seed 0 was accepted"
"$hone" prove --ops 'silu*' --json /no/such/folder/c.json >/dev/null 2>"$dir/err" && fail "a folder that is not there"
grep -q '/no/such/folder' "$dir/err" || fail "the message does not name the file"
echo "1 passed, 0 failed, 0 skipped"
