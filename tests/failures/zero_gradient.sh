#!/bin/sh
# ZERO-GRADIENT: a plausible loss, and nothing learns. Two steps move every trained tensor under
# every pair of options; a gradient that is exactly zero stops the run, by name.
. "$2/tests/failures/cli.sh"
mixture moe.gguf
dense d.gguf
chats 8 c.jsonl
for goal in sft kl; do
    for loss in assistant last all; do
        for how in '--recompute 1' '--recompute 0 --plan separate' '--micro-tokens 60' '--optimizer sgd' '--moments bf16'; do
            rm -rf r
            quietly "$hone" train moe.gguf --data c.jsonl --out r --steps 2 --batch 8 --rank 2 --rate 1e-2 --warmup 0 \
                --schedule constant --targets all,router,embed --goal $goal --loss $loss $how
            quietly "$hone" merge --overwrite moe.gguf r/adapter.gguf --out m.gguf --json
            # every matrix has changed
            is "$goal, $loss, $how: tensors without a change" 0 "$(tr '{' '\n' <out | grep -c '"update":0[,}]')"
            is "$goal, $loss, $how: tensors" 17 "$(tr '{' '\n' <out | grep -c '"update":')"
        done
    done
done
# Behind a matrix of zeros nothing has a gradient.
from_end=$("$hone" inspect d.gguf --tensors | awk '$1 == "blk.1.attn_output.weight" { on = 1; bytes = $NF } on { sum += $NF } END { print sum, bytes }')
size=$(wc -c <d.gguf)
dd if=/dev/zero of=d.gguf bs=1 seek=$((size - ${from_end% *})) count=${from_end#* } conv=notrunc 2>/dev/null
is "nothing else changed" "$size" "$(wc -c <d.gguf)"
refuses 'the gradient of 3 of 6 trained tensors is exactly zero \(blk.1.attn_q.weight.lora_b' \
    "$hone" train d.gguf --data c.jsonl --out z --steps 2 --targets blk.1.attn_q,blk.1.attn_k,blk.1.attn_v --batch 4 --warmup 0
[ ! -e z/adapter.gguf ] || fail "an adapter was written"
quietly "$hone" train d.gguf --data c.jsonl --out o --steps 2 --targets blk.1.attn_output --batch 4
passed
