#!/bin/sh
# machine.sh BUILD SOURCE: --device, --threads, --isa, --memory and --numerics are one group: every command that has one of
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
    "$hone" "$@" --isa ref --threads 2 --device cpu --memory 2G >out 2>&1 || fail "$*: --isa ref --threads 2 --device cpu --memory 2G"
    "$hone" "$@" --isa none_such >out 2>&1 && fail "$*: --isa none_such"
    grep -q none_such out || fail "$*: --isa none_such is not named"
    "$hone" "$@" --device none_such >out 2>&1 && fail "$*: --device none_such"
    grep -q none_such out || fail "$*: --device none_such is not named"
    "$hone" "$@" --threads 257 >out 2>&1 && fail "$*: 257 threads"
    "$hone" "$@" --memory much >out 2>&1 && fail "$*: --memory much"
    grep -q "'much'" out || fail "$*: --memory much is not named"
    "$hone" "$@" --memory 1K >out 2>&1 && fail "$*: --memory 1K"
    grep -q "out of memory: .* bytes for" out || fail "$*: of --memory 1K is not told what for"
    n=$((n + 1))
}
# numbers COMMAND...: in numerics that are asked for.
numbers() {
    try "$@"
    "$hone" "$@" --numerics none_such >out 2>&1 && fail "$*: --numerics none_such"
    grep -q none_such out || fail "$*: --numerics none_such is not named"
}
numbers run "$model" --prompt one --count 2
echo "{{ messages[0].content }}" >plain.jinja
numbers chat "$model" --template plain.jinja --count 2 </dev/null
numbers perplexity "$model" text --chunk 32
numbers logits "$model" --tokens 3,1,4 --out l.npy --overwrite
numbers eval "$model" --data data.jsonl --plain
try embed "$models/bert" "a text"
try imatrix "$model" text --chunk 32 --out i.gguf --overwrite
try grads "$model" --data data.jsonl --plain --out g.gguf --overwrite
try plan "$model"
try devices
# A run keeps some of them in its record, and takes the rest as every command does: the proof at its end is of the level that was asked for.
train() { "$hone" train "$model" --data data.jsonl --plain --out run --steps 1 --overwrite "$@" >out 2>&1; }
train --isa ref --threads 2 --device cpu --memory 2G --numerics f32 --prove || fail "train: --isa ref --threads 2 --device cpu --memory 2G"
grep -q '"isa": "ref"' run/certificate.json || fail "train --isa ref computes with $(grep '"isa"' run/certificate.json)"
grep -q '^threads = 2' run/run.toml || fail "train --threads 2 is not in run.toml: $(cat run/run.toml)"
grep -q '^memory = "2G"' run/run.toml || fail "train --memory 2G is not in run.toml: $(cat run/run.toml)"
for wrong in '--isa none_such' '--device none_such' '--experts none_such' '--numerics none_such' '--threads 257' '--memory much'; do
    # shellcheck disable=SC2086
    train $wrong && fail "train $wrong"
    grep -q -e "${wrong#* }" -e 'from 0 to 256' out || fail "train $wrong is not named"
done
train --memory 1K && fail "train --memory 1K"
grep -q 'GiB are needed' out || fail "of train --memory 1K is not told what for"
n=$((n + 1))
"$hone" replay --threads 2 answer.json >out 2>&1 && fail "replay --threads: it is on one by definition"
grep -q 'unknown option --threads' out || fail "replay --threads 2 is not refused by name"
"$hone" logits "$model" --tokens 3,1,4 --out a.npy >out 2>&1 || fail "logits"
try op silu --in a.npy

# Layers over two devices: the bits of one.
same() { # COMMAND...: prints the same
    "$hone" "$@" >want 2>err || fail "$*"
    for devices in cpu,cpu cpu,cpu,cpu; do
        "$hone" "$@" --device $devices >got 2>err || fail "$* on $devices"
        cmp want got || fail "$* on $devices: other words"
        n=$((n + 1))
    done
}
for name in llama gemma3 qwen3moe gpt-oss; do
    "$hone" logits "$models/$name" --tokens 3,1,4,1,5,9,2,6 --out one.npy --overwrite >out 2>&1 || fail "logits of $name"
    "$hone" logits "$models/$name" --tokens 3,1,4,1,5,9,2,6 --out two.npy --overwrite --device cpu,cpu >out 2>&1 || fail "logits of $name on two"
    cmp one.npy two.npy || fail "logits of $name on two devices: other bits"
done
same run "$model" --prompt "one and two" --count 20 --ids --ignore-end --quiet
same perplexity "$model" text --chunk 32
same eval "$model" --data data.jsonl --plain
for devices in cpu cpu,cpu; do
    "$hone" train "$model" --data data.jsonl --plain --out "run-$devices" --steps 3 --batch 2 --held-fraction 0.8 --device $devices >out 2>&1 ||
        fail "train on $devices"
done
cmp run-cpu/adapter.gguf run-cpu,cpu/adapter.gguf || fail "train on two devices: another adapter"
"$hone" grads "$model" --data data.jsonl --plain --out one.gguf >out 2>&1 || fail "grads"
"$hone" grads "$model" --data data.jsonl --plain --out two.gguf --device cpu,cpu >out 2>&1 || fail "grads on two devices"
cmp one.gguf two.gguf || fail "grads on two devices: other bits"

# One text of each option; commands of another meaning are named here: prove compares threads, and devices with the processors; a
# run's memory and threads are of its record. Who has one of an engine's options has all.
engine='device fit stream experts isa'
for command in $("$hone" help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
    options='device|fit|stream|experts|isa|threads|memory'
    case $command in help | version) continue ;; prove) options='isa|memory' ;; train) options='device|fit|stream|experts|isa' ;; esac
    COLUMNS=100 "$hone" "$command" --help >help
    for option in $engine; do
        [ "$command" = prove ] || ! grep -q -- '^  --device ' help || grep -q -- "^  --$option " help || fail "$command has --device and no --$option"
    done
    awk -v "option=^  (-., )?--($options) " '
        $0 ~ option { said = 1; print; next }
        said && /^ {20}/ { print; next } { said = 0 }' help >>said
done
[ "$(grep -c -- --threads said)" -ge 18 ] || fail "only $(grep -c -- --threads said) commands have --threads"
for option in $engine threads memory; do
    [ "$(grep -- "--$option " said | sort -u | wc -l)" -eq 1 ] || { grep -- "--$option " said | sort | uniq -c; fail "--$option in several words"; }
done
echo "$n passed, 0 failed, 0 skipped"
