#!/bin/sh
# make.sh HONE: the records beside it, by a hone of before version 2 of them (commit f6b2737): a checkpoint
# and an adapter of version 1, whose base is told by a sample. BASE is the SHA-256 of the base they are of.
set -eu
hone=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
"$hone" new llama d.gguf layers=1 width=16 heads=1 kv_heads=1 head_dim=16 ffn=16 tied=true
cat >c.jsonl <<'D'
{"messages":[{"role":"user","content":"what is one"},{"role":"assistant","content":"it is one"}]}
{"messages":[{"role":"user","content":"what is two"},{"role":"assistant","content":"it is two"}]}
D
"$hone" train d.gguf --data c.jsonl --out r --steps 4 --save-every 2 --batch 2 --rank 1 --targets attn_q --rate 0.05 --samples 0 --threads 1
cp c.jsonl r/step-00000002.ckpt r/adapter.gguf "$here"
sha256sum <d.gguf | cut -d' ' -f1 >"$here/BASE"
