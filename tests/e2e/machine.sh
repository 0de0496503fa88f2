#!/bin/sh
# machine.sh BUILD SOURCE: --device, --threads, --isa and --numerics are one group: every command that has one of
# them reads it, says it in the same words, and refuses what it cannot use.
set -u
hone=$1/hone models=$2/tests/differential/models
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; [ -f out ] && tail -n 5 out; exit 1; }
printf '{"prompt":"what is it? ","completion":"a certificate."}\n{"prompt":"for whom? ","completion":"for you."}\n' >data.jsonl
awk 'BEGIN { for (i = 0; i < 60; i++) print "one and two are three " i }' >text
model=$models/llama

# try COMMAND...: the command computes: with each option, and not with what there is none of.
try() {
    "$hone" "$@" --isa ref --threads 2 --device cpu >out 2>&1 || fail "$*: --isa ref --threads 2 --device cpu"
    "$hone" "$@" --isa none_such >out 2>&1 && fail "$*: --isa none_such"
    grep -q none_such out || fail "$*: --isa none_such is not named"
    "$hone" "$@" --device none_such >out 2>&1 && fail "$*: --device none_such"
    grep -q none_such out || fail "$*: --device none_such is not named"
    "$hone" "$@" --threads 257 >out 2>&1 && fail "$*: 257 threads"
    n=$((n + 1))
}
# one COMMAND...: it computes on one device; numbers COMMAND...: in numerics that are asked for.
one() {
    try "$@"
    "$hone" "$@" --device cpu,cpu >out 2>&1 && fail "$*: two devices"
    grep -q 'cpu,cpu: 2 devices: expected at most 1 here' out || fail "$*: two devices: the message"
}
numbers() {
    one "$@"
    "$hone" "$@" --numerics none_such >out 2>&1 && fail "$*: --numerics none_such"
    grep -q none_such out || fail "$*: --numerics none_such is not named"
}
numbers run "$model" --prompt one --count 2
echo "{{ messages[0].content }}" >plain.jinja
numbers chat "$model" --template plain.jinja --count 2 </dev/null
numbers perplexity "$model" text --chunk 32
numbers logits "$model" --tokens 3,1,4 --out l.npy --overwrite
numbers eval "$model" --data data.jsonl --plain
one embed "$models/bert" "a text"
one imatrix "$model" text --chunk 32 --out i.gguf --overwrite
try grads "$model" --data data.jsonl --plain --out g.gguf --overwrite
try plan "$model"
try devices
"$hone" logits "$model" --tokens 3,1,4 --out a.npy >out 2>&1 || fail "logits"
try op silu --in a.npy

# A step's layers over two devices: the bits of one.
"$hone" grads "$model" --data data.jsonl --plain --out one.gguf >out 2>&1 || fail "grads"
"$hone" grads "$model" --data data.jsonl --plain --out two.gguf --device cpu,cpu >out 2>&1 || fail "grads on two devices"
cmp one.gguf two.gguf || fail "grads on two devices: other bits"

# One text of each option; commands of another meaning are named here.
for command in $("$hone" help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
    case $command in train | prove | bench | help | version) continue ;; esac
    COLUMNS=100 "$hone" "$command" --help | awk '
        /^  (-., )?--(device|threads|isa) / { said = 1; print; next }
        said && /^ {20}/ { print; next } { said = 0 }' >>said
done
[ "$(grep -c -- --threads said)" -ge 17 ] || fail "only $(grep -c -- --threads said) commands have --threads"
for option in device threads isa; do
    [ "$(grep -- "--$option " said | sort -u | wc -l)" -eq 1 ] || { grep -- "--$option " said | sort | uniq -c; fail "--$option in several words"; }
done
echo "$n passed, 0 failed, 0 skipped"
