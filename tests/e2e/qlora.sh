#!/bin/sh
# qlora.sh BUILD: a base in blocks trains as the same base decoded: equal losses, equal adapters to the
# byte, dense and with experts; and only its packed bytes are resident.
set -u
hone=$1/hone
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
n=0
i=0
while [ $i -lt 16 ]; do
    echo "{\"prompt\":\"question $i? \",\"completion\":\"answer $((i * 37 % 91)).\"}"
    i=$((i + 1))
done >"$dir/data.jsonl"
train() { # BASE OUT ARGS...
    base=$1 out=$2
    shift 2
    "$hone" train "$base" --data "$dir/data.jsonl" --plain --out "$dir/$out" --steps 12 --batch 8 --rate 5e-3 --rank 4 "$@" \
        >"$dir/log" 2>&1 || { cat "$dir/log"; fail "training $out"; }
}
for type in q4_k q8_0 q6_k mxfp4; do
    for arch in llama qwen3moe; do
        shape="width=256 layers=2 heads=4 kv_heads=2 ffn=512 vocab=300"
        [ $arch = qwen3moe ] && shape="$shape experts=6 used=2 expert_ffn=256"
        "$hone" new --overwrite $arch --first spread "$dir/packed.gguf" $shape --type $type >"$dir/log" 2>&1 || fail "new $arch $type"
        "$hone" quantize --overwrite "$dir/packed.gguf" "$dir/wide.gguf" f32 --requantize >"$dir/log" 2>&1 ||
            { cat "$dir/log"; fail "decoding $arch $type"; }
        targets="attn,mlp"
        [ $arch = qwen3moe ] && targets="attn,experts,router"
        train "$dir/packed.gguf" p_$arch$type --targets $targets
        train "$dir/wide.gguf" w_$arch$type --targets $targets
        # But for the digests: the bases are two, of other types.
        for base in p w; do
            LC_ALL=C sed 's/[0-9a-f]\{64\}/DIGEST/g' "$dir/${base}_$arch$type/adapter.gguf" >"$dir/$base.bytes"
        done
        cmp "$dir/p.bytes" "$dir/w.bytes" || fail "$arch $type: other adapters"
        first=$(head -n 1 "$dir/p_$arch$type/metrics.jsonl" | sed 's/.*"loss":\([0-9.]*\).*/\1/')
        last=$(grep '"step":12,"loss"' "$dir/p_$arch$type/metrics.jsonl" | sed 's/.*"loss":\([0-9.]*\).*/\1/')
        awk "BEGIN { exit !($last < $first) }" || fail "$arch $type: the loss went from $first to $last"
        n=$((n + 2))
    done
done
echo "$n passed, 0 failed, 0 skipped"
