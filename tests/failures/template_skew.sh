#!/bin/sh
# TEMPLATE-SKEW / BOS-EOS: twenty chats are learned by heart on a base in blocks; `hone run --lora` gives
# all twenty back and stops by itself, from prompts whose ids are those of training, with one BOS
# where the tokenizer has one, and none where it has none.
set -u
hone=$1/hone
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
n=0
words="red blue green stone river cloud lamp seven north quiet amber fox"
i=0
while [ $i -lt 20 ]; do
    a=$(echo $words | cut -d' ' -f $((i * 5 % 12 + 1)))
    b=$(echo $words | cut -d' ' -f $((i * 7 % 11 + 1)))
    echo "{\"messages\":[{\"role\":\"user\",\"content\":\"say $i\"},{\"role\":\"assistant\",\"content\":\"$a $b\"}]}"
    i=$((i + 1))
done >"$dir/chats.jsonl"
archs="llama qwen3moe gemma4"
[ "${3:-}" = --quick ] && archs=llama
for arch in $archs; do
    shape="width=256 layers=2 heads=4 kv_heads=2 ffn=512 vocab=300"
    targets=attn,mlp
    [ $arch = qwen3moe ] && shape="$shape experts=4 used=2 expert_ffn=256" && targets=attn,experts,router
    [ $arch = gemma4 ] && shape="$shape ple=0 window=64"
    rm -f "$dir/base.gguf"
    "$hone" new $arch --first spread "$dir/base.gguf" $shape --type q4_k >"$dir/log" 2>&1 || { cat "$dir/log"; fail "new $arch"; }
    rm -rf "$dir/run"
    "$hone" train "$dir/base.gguf" --data "$dir/chats.jsonl" --out "$dir/run" --targets $targets --rank 16 --steps 120 \
        --batch 20 --rate 4e-3 --schedule linear >"$dir/log" 2>&1 || { cat "$dir/log"; fail "training $arch"; }
    i=0
    while [ $i -lt 20 ]; do
        line=$(sed -n "$((i + 1))p" "$dir/chats.jsonl")
        want=$(echo "$line" | sed 's/.*"assistant","content":"\([^"]*\)".*/\1/')
        echo "$line" | sed 's/,{"role":"assistant".*/]/; s/{"messages"://' >"$dir/messages.json"
        "$hone" render "$dir/base.gguf" "$dir/messages.json" >"$dir/prompt" || fail "$arch: rendering $i"
        got=$("$hone" run "$dir/base.gguf" --lora "$dir/run/adapter.gguf" --special -f "$dir/prompt" --temperature 0 -n 40 2>"$dir/err") ||
            { cat "$dir/err"; fail "$arch: running $i"; }
        [ "$got" = "$want" ] || fail "$arch: 'say $i' gave '$got', learned was '$want'"
        seen=$("$hone" show-tokens "$dir/base.gguf" "$dir/chats.jsonl" --index $i | awk '$1 == "." && $3 ~ /^[0-9]+$/ { printf "%s ", $3 }')
        asked=$("$hone" tokenize "$dir/base.gguf" --special --ids --file "$dir/prompt")
        case "$seen" in
        "$asked "*) ;;
        *) fail "$arch: the prompt is $asked, in training it was $seen" ;;
        esac
        n=$((n + 2))
        i=$((i + 1))
    done
done
echo "$n passed, 0 failed, 0 skipped"
