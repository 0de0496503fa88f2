#!/bin/sh
# hone parity and --numerics as a user meets them: BUILD SOURCE
hone=$1/hone models=$2/tests/differential/models dumps=$2/tests/differential/parity
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_passed=0 n_failed=0
expect() { # NAME EXPECTED FOUND
    if [ "$2" = "$3" ]; then
        n_passed=$((n_passed + 1))
    else
        n_failed=$((n_failed + 1))
        printf '%s: expected\n%s\nfound\n%s\n' "$1" "$2" "$3"
    fi
}
holds() { # WORDS TEXT
    case $2 in *"$1"*) echo yes ;; *) echo "$2" ;; esac
}

text=$($hone parity "$models/gemma4-e" "$dumps/gemma4-e-bf16.safetensors")
expect 'bf16 is right' 0 "$?"
expect 'the reference says the mode' yes "$(holds 'tokens in bf16 against Gemma4ForCausalLM' "$text")"
expect 'its own distance is printed' yes "$(holds "the reference's own: NMSE" "$text")"
text=$($hone parity "$models/llama" "$dumps/llama-f32.safetensors" --json)
expect 'f32 is right' 0 "$?"
expect 'as JSON' yes "$(holds '"numerics":"f32"' "$(echo "$text" | tr -d ' \n')")"

# The weights of another model of the same shape: beyond the bound from the first layer on.
$hone new --overwrite llama "$work/other.gguf" layers=2 width=32 heads=4 kv_heads=2 ffn=48 vocab=331 --seed 1 2>"$work/log"
expect 'a model to compare with' 0 "$?"
text=$($hone parity "$work/other.gguf" "$dumps/llama-f32.safetensors" 2>&1)
expect 'another model: the status' 1 "$?"
expect 'another model: the part' yes "$(holds 'embedding: NMSE' "$text")"
text=$($hone parity "$models/llama" "$dumps/llama-f32.safetensors" --numerics bf16 2>&1)
expect 'another mode: the status' 2 "$?"
expect 'another mode is named' yes "$(holds 'is a run in f32' "$text")"
text=$($hone parity "$models/llama" "$models/llama/model.safetensors" 2>&1)
expect 'no reference: the status' 1 "$?"
expect 'no reference is named' yes "$(holds 'metadata dtype' "$text")"
text=$($hone logits --overwrite "$models/llama" --tokens 3 --numerics f64 --out "$work/l.npy" 2>&1)
expect 'no such mode: the status' 2 "$?"
expect 'no such mode is named' yes "$(holds "numerics 'f64': expected f32, bf16, mixed or int8" "$text")"

# Weights that bf16 does not hold are rounded in bf16 mode, as converting them would have it: gains
# that GGUF holds plus one too, and never in f32.
for arch in llama gemma2 gemma4 qwen3moe; do
    more=
    [ $arch = qwen3moe ] && more='experts=4 used=2 expert_ffn=32'
    # shellcheck disable=SC2086
    $hone new --overwrite $arch "$work/f32.gguf" layers=2 width=64 heads=4 vocab=300 ffn=96 $more 2>"$work/log" &&
        $hone quantize --overwrite "$work/f32.gguf" "$work/bf16.gguf" bf16 >"$work/log" 2>&1
    expect "$arch: two files" 0 "$?"
    for file in f32 bf16; do
        for mode in f32 bf16; do
            $hone logits --overwrite "$work/$file.gguf" --tokens 3,4,5,6,7,8,9 --numerics $mode \
                --out "$work/$file-$mode.npy" 2>>"$work/log"
        done
    done
    cmp -s "$work/f32-bf16.npy" "$work/bf16-bf16.npy"
    expect "$arch: rounded when read, or before" 0 "$?"
    cmp -s "$work/f32-f32.npy" "$work/bf16-f32.npy"
    expect "$arch: not in f32" 1 "$?"
    cmp -s "$work/bf16-f32.npy" "$work/bf16-bf16.npy"
    expect "$arch: the mode matters" 1 "$?"
done
echo "$n_passed passed, $n_failed failed, 0 skipped"
[ $n_failed = 0 ]
