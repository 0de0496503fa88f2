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

# What a proof computes with: levels up to --isa, threads up to --threads, within --memory. tests/far/run.sh has --device.
says() { tr -d '\n ' <"$dir/c.json" | grep -q "$1" || fail "$2: $(grep '"isa' "$dir/c.json")"; }
"$hone" prove --ops silu --time-limit 0 --isa ref --device cpu --threads 2 --json "$dir/c.json" --overwrite >"$dir/out" || fail "--isa ref"
says '"isa":"ref"' 'the certificate is not of ref'
grep -q '^levels' "$dir/out" && fail "beside ref a level was compared"
grep -q '^threads *10 ' "$dir/out" || fail "--threads 2: $(grep '^threads' "$dir/out")"
if "$hone" devices --levels | grep -qx avx2; then
    "$hone" prove --ops silu --time-limit 0 --isa avx2 --json "$dir/c.json" --overwrite >"$dir/out" || fail "--isa avx2"
    says '"isa":"avx2"' 'the certificate is not of avx2'
    grep -q '^levels *5 ' "$dir/out" || fail "--isa avx2: not beside ref alone: $(grep '^levels' "$dir/out")"
fi
refused() { # the sentence, the words
    why=$1
    shift
    "$hone" "$@" >"$dir/out" 2>"$dir/err" && fail "$* was accepted"
    grep -qF -- "$why" "$dir/err" || fail "$*: $(cat "$dir/err")"
}
refused 'out of memory' prove --ops silu --time-limit 0 --memory 16K
refused 'cpu,cpu: the processors are proved whatever is asked for' prove --ops silu --device cpu,cpu
refused "level 'nope'" prove --ops silu --isa nope
refused '--numerics is of a model: expected MODEL' prove --numerics mixed
refused '--data is of a model: expected MODEL' prove --data d.jsonl
refused '--max-length is of a model: expected MODEL' prove --max-length 8
refused '--time-limit is of the build, not of a model' prove hone:tiny --time-limit 3
refused '--ops is of the build, not of a model' prove hone:tiny --ops 'rms_norm'
refused '--device: a kernel is of the machine' bench kernels --device cpu,cpu
refused '--experts: a kernel is of the machine' bench gate --experts cpu
refused '--numerics: kernels' bench kernels --numerics mixed
refused 'out of memory' bench kernels --only xent --quick --memory 1M
refused 'out of memory' bench hone:tiny --prompt 4 --generate 1 --memory 1M
"$hone" bench hone:tiny --prompt 4 --generate 1 --repeat 1 --isa ref --threads 1 --device cpu,cpu >"$dir/out" || fail "bench"
grep -q 'kernels for ref' "$dir/out" || fail "bench --isa ref: $(cat "$dir/out")"
"$hone" prove --ops 'no_such*' >"$dir/out" 2>"$dir/err" && fail "an unknown pattern was accepted"
[ $? -eq 2 ] || fail "an unknown pattern: not a usage error"
"$hone" prove --seed 0 2>"$dir/err" && fail "seed 0 was accepted"
"$hone" prove --ops 'silu*' --json /no/such/folder/c.json >/dev/null 2>"$dir/err" && fail "a folder that is not there"
grep -q '/no/such/folder' "$dir/err" || fail "the message does not name the file"
echo "1 passed, 0 failed, 0 skipped"
