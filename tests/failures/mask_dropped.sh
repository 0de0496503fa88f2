#!/bin/sh
# MASK-DROPPED: an unrelated option discards the loss mask. A label under the mask is corrupted where
# nothing else reads it: at the end of a sample. No bit of loss or gradient may change, whatever the
# options.
. "$2/tests/failures/cli.sh"
mixture moe.gguf
printf '{"ids":[5,9,11,12,13],"weights":[0,1,0.5,0,0]}\n{"ids":[7,8,30],"weights":[0,1,0]}\n' >a.jsonl
printf '{"ids":[5,9,11,77,78],"weights":[0,1,0.5,0,0]}\n{"ids":[7,8,99],"weights":[0,1,0]}\n' >b.jsonl
for options in '' '--recompute 1' '--plan separate' '--goal kl --kl-weight 0.5' '--micro-tokens 5' '--rslora' \
    '--goal kl --recompute 2 --micro-tokens 5'; do
    for file in a b; do
        quietly "$hone" grads --overwrite moe.gguf --data $file.jsonl --targets attn,experts,router --out $file.st $options
        cp out $file.out
    done
    cmp -s a.st b.st && cmp -s a.out b.out || fail "a masked label changes the result: $options"
    n=$((n + 1))
done
passed
