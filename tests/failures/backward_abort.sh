#!/bin/sh
# BACKWARD-ABORT: every architecture that runs also trains: a tiny random instance, twenty steps, the
# loss falls; and its certificate holds. What cannot be trained is refused by name.
set -u
hone=$1/hone models=$2/tests/differential/models
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
n=0
i=0
while [ $i -lt 12 ]; do
    echo "{\"prompt\":\"question $i? \",\"completion\":\"answer $((i * 37 % 91)).\"}"
    i=$((i + 1))
done >"$dir/data.jsonl"
all="llama llama-tied mistral mixtral mixtral-top4 qwen2 qwen3 qwen3moe gemma2 gemma3 gemma4-dense gemma4-moe gemma4-e gpt-oss
    smollm3 granite gpt2 gemma3n olmoe granitemoe granitemoe-shared phi3 phi4-mini deepseek-v2 deepseek-v2-groups deepseek-v3"
other_ways="llama mixtral gemma4-e gpt-oss deepseek-v3"
[ "${3:-}" = --quick ] && all="llama-tied mixtral-top4 gemma4-e gpt-oss" other_ways=gemma4-e
for model in $all; do
    rate=5e-3
    case $model in granite*) rate=5e-2 ;; esac # their logits are divided by four to eight
    "$hone" train "$models/$model" --data "$dir/data.jsonl" --plain --out "$dir/$model" --steps 20 --batch 6 --rate $rate \
        --rank 4 >"$dir/out" 2>&1 || { cat "$dir/out"; fail "$model: training"; }
    first=$(head -n 1 "$dir/$model/metrics.jsonl" | sed 's/.*"loss":\([0-9.]*\).*/\1/')
    last=$(grep '"step":20,"loss"' "$dir/$model/metrics.jsonl" | sed 's/.*"loss":\([0-9.]*\).*/\1/')
    awk "BEGIN { exit !($last < 0.97 * $first) }" || fail "$model: the loss went from $first to $last"
    "$hone" prove "$models/$model" --data "$dir/data.jsonl" --plain >"$dir/out" 2>&1 ||
        { grep FAILED "$dir/out"; fail "$model: its certificate"; }
    grep -q ' 0 failed, 0 skipped$' "$dir/out" || fail "$model: $(tail -n 1 "$dir/out")"
    n=$((n + 2))
done
# The certificate of other ways to train: DoRA, whose norms count as constants, and whole tensors.
for model in $other_ways; do
    for targets in attn:dora,norm:full all:full; do
        "$hone" prove "$models/$model" --data "$dir/data.jsonl" --plain --targets $targets >"$dir/out" 2>&1 ||
            { grep FAILED "$dir/out"; fail "$model, $targets: its certificate"; }
        n=$((n + 1))
    done
done
"$hone" train "$models/bert" --data "$dir/data.jsonl" --plain --out "$dir/bert" >"$dir/out" 2>&1 && fail "bert was trained"
grep -q 'embeds' "$dir/out" || { cat "$dir/out"; fail "bert: refused, but not by name"; }
echo "$((n + 1)) passed, 0 failed, 0 skipped"
