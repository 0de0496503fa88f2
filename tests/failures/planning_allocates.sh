#!/bin/sh
# PLANNING-ALLOCATES: the search for micro-batches made whole learners, the largest first, so that a run
# failed under a limit that a sixth of it would fit; and --memory was held while training, not after.
. "$2/tests/failures/cli.sh"
quietly "$hone" new llama --first spread b.gguf --type q8_0 layers=4 width=256 heads=4 kv_heads=2 head_dim=64 ffn=1024 vocab=4000
awk 'BEGIN { srand(3); for (i = 0; i < 32; i++) { printf "{\"ids\":["; for (t = 0; t < 256; t++) printf "%s%d", t ? "," : "", 300 + int(rand() * 3600); print "]}" } }' >ids.jsonl
train() { "$hone" train b.gguf --data ids.jsonl --steps 1 --batch 32 --targets attn,mlp --rank 4 --samples 0 "$@"; }
micro() { sed -n 's/^micro-batches of \([0-9]*\) tokens.*/\1/p' out; }
peak() { sed -n 's/^at most \([0-9.]*\) GiB.*/\1/p' out; }
limited() { kib=$1; shift; (ulimit -v "$kib"; train "$@"); }
quietly train --out free
want=$(digest)
is "the largest micro-batch" 8192 "$(micro)"
whole=$(peak)
# Less address space than it would take as it is, and than threads set apart beside it: a smaller plan, and
# the same bits.
quietly limited $((360 * 1024 + $(awk "BEGIN { print int($whole * 1048576 / 3) }"))) --out narrow
is "the same adapter in less memory" "$want" "$(digest)"
holds "micro-batches of $(micro) tokens" "$(micro) <= 4096"
refuses 'GiB are needed beside what is taken already' limited 500000 --out none --micro-tokens 8192 --recompute 0
[ ! -e none/adapter.gguf ] || fail "a refused run left an adapter"
# A plan is numbers: it is made where the run itself could not be.
quietly limited 330000 --out none --dry-run --micro-tokens 256
# From the first byte to the last, with a head and a vocabulary that make the ending large.
quietly "$hone" new llama --first spread h.gguf layers=2 width=128 heads=4 kv_heads=2 head_dim=32 ffn=256 vocab=60000
awk 'BEGIN { for (i = 0; i < 4; i++) { printf "{\"ids\":["; for (t = 0; t < 64; t++) printf "%s%d", t ? "," : "", 300 + i * t; print "]}" } }' >few.jsonl
quietly "$hone" train h.gguf --data few.jsonl --out h --steps 2 --batch 4 --targets attn,mlp,token_embd,output --rank 64 --memory 320M
cat out
planned=$(sed -n 's/^memory \([0-9.]*\) GiB.*/\1/p' out)
holds "held to the last byte: $(peak) GiB of 0.3125, $planned planned" "$(peak) <= 0.3125 && $(peak) <= $planned * 1.06 + 0.004"
passed
