#!/bin/sh
# PACKING-LEAK: packed samples attend to each other, or their positions run on. Here what comes in a
# sample after its last label changes no bit of any gradient, and packing is the same as running
# samples apart.
. "$2/tests/failures/cli.sh"
dense d.gguf
mixture moe.gguf
quietly "$hone" new --overwrite gemma3 g.gguf layers=3 width=32 heads=2 kv_heads=1 head_dim=16 ffn=32 window=4
a='{"ids":[5,9,11,12,13,14,15,16],"weights":[0,1,0,0,0,0,0,0]}'
changed='{"ids":[5,9,70,71,72,73,74,75],"weights":[0,1,0,0,0,0,0,0]}'
b='{"ids":[21,22,23,24,25,26,27,28,29],"weights":[0,0,1,1,0.5,1,1,1,1]}'
gradients() { # OUT MODEL LINE...: of these samples
    to=$1 model=$2
    shift 2
    printf '%s\n' "$@" >batch.jsonl
    quietly "$hone" grads --overwrite $model --data batch.jsonl --targets all:full --out $to $more
}
more=
for model in d.gguf moe.gguf g.gguf; do
    gradients one.st $model "$a" "$b" "$a"
    gradients other.st $model "$changed" "$b" "$changed"
    cmp -s one.st other.st || fail "$model: a sample changes another one's gradient"
    n=$((n + 1))
    more='--micro-tokens 9'
    gradients apart.st $model "$a" "$b" "$a"
    more='--micro-tokens 17 --recompute 1'
    gradients two.st $model "$a" "$b" "$a"
    more=
    cmp -s one.st apart.st && cmp -s one.st two.st || fail "$model: packed is not the same as separate"
    n=$((n + 2))
    # A sample that counts does change them: the comparison can fail.
    gradients other.st $model "$a" "$(echo "$b" | sed s/22/40/)" "$a"
    cmp -s one.st other.st && fail "$model: nothing changes the gradient"
done
passed
