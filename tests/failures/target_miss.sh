#!/bin/sh
# TARGET-MISS: adapters on fewer tensors than asked for, or on none, and training goes on. A target
# that matches nothing is an error; what was matched is printed, to the number.
. "$2/tests/failures/cli.sh"
dense d.gguf
mixture moe.gguf
chats 4 c.jsonl
train() { "$hone" train "$1" --data c.jsonl --out "$2" --steps 1 --targets "$3" --rank 4; }
refuses "target 'experts' matches no tensor" train d.gguf r experts
refuses "target 'router' matches no tensor" train d.gguf r router
refuses "target 'atn_q' matches no tensor" train moe.gguf r atn_q
refuses "target 'blk.7.attn_q' matches no tensor" train moe.gguf r attn,blk.7.attn_q
refuses "target '' *|item|target" train moe.gguf r attn,,mlp
[ ! -e r ] || fail "a folder was made for a run that was refused"
# experts x projections x layers: stacked matrices, of 4 experts each; A is [4,32], B is [32,4].
shows 'trained: 6144 numbers in 12 tensors, for 6 weights \(lora\)' train moe.gguf e experts
is "and that is 2 layers x 3 projections x 4 experts x 2 matrices of 4 x 32" 6144 $((2 * 3 * 4 * 2 * 4 * 32))
is "in the file too: pairs" 6 "$(strings -n 8 e/adapter.gguf | grep -c 'exps.weight.lora_a')"
shows 'for 2 weights \(lora\)' train moe.gguf q attn_q
is "no other" 2 "$(strings -n 8 q/adapter.gguf | grep -c 'lora_b')"
shows 'for 8 weights \(lora\) 2 weights \(full\)' train moe.gguf m attn,router:full
passed
