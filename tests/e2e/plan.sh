#!/bin/sh
# plan.sh BUILD SOURCE: hone plan shows the model that it is given: every architecture, memory as sessions and
# runs ask for it, a step's every line.
set -u
hone=$1/hone models=$2/tests/differential/models
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
fail() { echo "FAILED: $*"; [ -f "$dir/out" ] && cat "$dir/out"; exit 1; }
cell() { sed -n "s/^ *$1  *//p" "$dir/out" | head -n 1; }

for model in "$models"/*; do
    name=$(basename "$model")
    "$hone" plan "$model" --context 64 --mapped >"$dir/out" 2>"$dir/err"
    status=$?
    if grep -q 'cannot be run yet' "$dir/err"; then
        [ $status -ne 0 ] || fail "$name: refused with status 0"
        continue
    fi
    [ $status -eq 0 ] || { cat "$dir/err"; fail "$name"; }
    grep -q "^  linear " "$dir/out" || fail "$name: no products"
    grep -q '^  altogether ' "$dir/out" || fail "$name: no sum"
    # What a session takes, as `hone inspect` foretells it.
    if "$hone" inspect "$model" --context 64 >"$dir/inspect" 2>"$dir/err"; then
        "$hone" plan "$model" --of prompt --context 64 --mapped >"$dir/out" || fail "$name: --of prompt"
        for word in cache workspace; do
            told=$(sed -n "s/^running.* $word \([0-9.]* [KMG]*i*B\).*/\1/p" "$dir/inspect")
            [ "$(cell $word)" = "$told" ] || fail "$name: $word is $(cell $word), inspect says $told"
        done
    else
        grep -q 'only embeds' "$dir/err" || fail "$name: inspect"
    fi
    n=$((n + 1))
done
[ $n -ge 15 ] || fail "only $n architectures"

# Keys beyond a window are not kept, unless that is asked for; caches are as large as their type.
cache_of() { "$hone" plan "$models/gemma3" --of prompt --context 256 --prompt 16 "$@" >"$dir/out" || fail "gemma3 $*"; cell cache; }
kept=$(cache_of --keep-all)
[ "$(cache_of)" != "$kept" ] || fail "a window keeps everything: $kept"
[ "$(cache_of --keep-all --cache f16)" = "$(echo "$kept" | awk '{ printf "%.2f %s", $1 / 2, $2 }')" ] || fail "an f16 cache"

# What a run trains, and what it is spread over.
printf '{"prompt":"what is it? ","completion":"a certificate."}\n' >"$dir/data.jsonl"
"$hone" train "$models/llama" --data "$dir/data.jsonl" --plain --steps 1 --rank 5 --targets attn --out "$dir/run" \
    >"$dir/trained" 2>&1 || fail "train"
numbers=$(sed -n 's/^trained: \([0-9]*\) numbers.*/\1/p' "$dir/trained")
"$hone" plan "$models/llama" --of training --rank 5 --targets attn --micro-tokens 64 >"$dir/out" || fail "training"
[ "$(cell 'what is trained')" = "$(awk "BEGIN { printf \"%.2f KiB\", $numbers * 4 / 1024 }")" ] ||
    fail "$numbers numbers are trained"
before=$(cell workspace)
"$hone" plan "$models/llama" --of training --rank 5 --targets attn --micro-tokens 64 --recompute 1 >"$dir/out" || fail "recompute"
[ "$(cell workspace)" != "$before" ] || fail "recomputing takes as much"
"$hone" plan "$models/llama" --of training --device cpu,cpu >"$dir/out" || fail "two devices"
grep -q 'copies between devices  *[1-9]' "$dir/out" || fail "nothing is copied between devices"
grep -qE '^  cpu1 +[0-9-]+ +[1-9]' "$dir/out" || fail "no weights on the second device"

"$hone" plan "$models/llama" --of token --steps --svg "$dir/plan.svg" >"$dir/out" || fail "steps"
steps=$(sed -n 's/^steps  *//p' "$dir/out")
[ "$(grep -cE '^ *[0-9]+  0  .*@|^ *[0-9]+  0  .* in ' "$dir/out")" -ge "$steps" ] || fail "fewer than $steps lines"
grep -q '^<svg' "$dir/plan.svg" || fail "no picture"
"$hone" plan "$models/llama" --steps >"$dir/out" 2>&1 && fail "--steps of nothing"
grep -q 'steps without --of: it is of one plan' "$dir/out" || fail "--steps without --of: the message"
"$hone" plan "$models/llama" --of text >"$dir/out" 2>&1 && fail "a text of a model that generates"
"$hone" plan "$models/bert" --of token >"$dir/out" 2>&1 && fail "a token of a model that embeds"
"$hone" plan >/dev/null 2>&1 && fail "no model"
echo "$n passed, 0 failed, 0 skipped"
