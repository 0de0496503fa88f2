#!/bin/sh
# PROCESS-KILL & LATE-OOM: memory is planned before step 1. Less than is needed is refused within five
# seconds of work; what was foretold is what is then measured, within 5 %.
. "$2/tests/failures/cli.sh"
quietly "$hone" new llama --first spread big.gguf --type q8_0 layers=6 width=1024 heads=16 kv_heads=4 head_dim=64 ffn=4096 vocab=32000
awk 'BEGIN { srand(3); for (i = 0; i < 2; i++) { printf "{\"ids\":["; for (t = 0; t < 384; t++) printf "%s%d", t ? "," : "", 300 + int(rand() * 30000); print "]}" } }' >ids.jsonl
train() { "$hone" train big.gguf --data ids.jsonl --out "$@" --steps 2 --batch 2 --targets attn,mlp --rank 16; }
refuses_soon() ( # a process that takes more than 5 s of a processor's time is ended by a signal
    ulimit -t 5
    refuses "$@"
)
refuses_soon 'GiB are needed' train r --memory 100M || exit 1
n=$((n + 1))
quietly train r
cat out
plan=$(sed -n 's/^memory \([0-9.]*\) GiB.*/\1/p' out)
peak=$(sed -n 's/.*"memory":\([0-9]*\).*/\1/p' r/metrics.jsonl | sort -n | tail -1)
echo "foretold $plan GiB, measured $(awk "BEGIN { print $peak / 2 ^ 30 }") GiB"
holds "within 5 % of the measured" "$peak / 2 ^ 30 / $plan < 1.05 && $peak / 2 ^ 30 / $plan > 0.95"
# Flat over a thousand steps.
dense d.gguf
chats 8 c.jsonl
quietly "$hone" train d.gguf --data c.jsonl --out long --steps 1000 --batch 2 --rank 2
first=$(sed -n 's/^{"step":20,.*"memory":\([0-9]*\).*/\1/p' long/metrics.jsonl)
last=$(sed -n 's/^{"step":1000,"loss.*"memory":\([0-9]*\).*/\1/p' long/metrics.jsonl)
holds "memory is flat" "$last - $first < 1048576"
passed
