#!/bin/sh
# MERGE-ERASE: merged into weights of few bits, an update is rounded away, and nobody says so. Here its
# share that survives and KL(adapter || merged) are measured; what fails is refused, with nothing
# written, and a type that would do is named. In f32 nothing is lost, of any kind of change.
. "$2/tests/failures/cli.sh"
number() { sed -n "s/.*\"$1\":\\([-0-9.e+]*\\).*/\\1/p" out | head -1; }
chats 12 c.jsonl
lossless() { # MODEL TARGETS: in f32 the merged model is model and adapter
    rm -rf r
    quietly "$hone" train $1 --data c.jsonl --out r --steps 6 --batch 4 --rank 3 --rate 1e-2 --targets "$2"
    rm -f m.gguf
    quietly "$hone" merge --overwrite $1 r/adapter.gguf --out m.gguf --json --type f32
    holds "$1, $2: KL(adapter || merged) is nothing" "$(number kl) < 1e-10 && $(number kl_base) > 1e-3"
    holds "$1, $2: all survives" "$(sed 's/,"tensors.*//' out | sed 's/.*"kept"://; s/,.*//') > 0.9999"
    quietly "$hone" run m.gguf --prompt question --count 4 --temperature 0
}
dense d.gguf
quietly "$hone" new --first spread --overwrite llama tied.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 tied=true
quietly "$hone" new --first spread --overwrite gemma4 g.gguf
mixture moe.gguf
lossless d.gguf attn,mlp
lossless d.gguf 'attn:dora,mlp,norm:full,head,embed'
lossless d.gguf 'attn_q:full,attn_k'
lossless tied.gguf attn,embed
lossless tied.gguf 'token_embd:full,mlp'
lossless moe.gguf attn:dora,experts,router
lossless g.gguf all
refuses 'token_embd.weight is gemma4.s head too' sh -c '
    "$1" train g.gguf --data c.jsonl --out ge --steps 1 --batch 2 --targets embed && "$1" merge g.gguf ge/adapter.gguf --out x.gguf' sh "$hone"

# A tiny rate on Q4_K: everything is rounded away.
quietly "$hone" new --first spread --overwrite llama wide.gguf layers=2 width=256 heads=4 kv_heads=2 head_dim=64 ffn=256
quietly "$hone" quantize --overwrite wide.gguf q4.gguf q4_k
quietly "$hone" train q4.gguf --data c.jsonl --out tiny --steps 4 --batch 4 --rank 4 --rate 1e-6
refuses '^hone merge: -?[0-9.]+ % of the update survives .*: nothing was written; --type f32 would do' \
    "$hone" merge --overwrite q4.gguf tiny/adapter.gguf --out x.gguf --json
holds "the share is told" "$(sed 's/,"kl".*//; s/.*"kept"://' out) < 0.5"
[ ! -e x.gguf ] && [ ! -e x.gguf.partial-* ] || fail "a refused merge wrote a file"
quietly "$hone" merge --overwrite q4.gguf tiny/adapter.gguf --out x.gguf --type f32
quietly "$hone" merge --overwrite q4.gguf tiny/adapter.gguf --out forced.gguf --force
says_type() { "$hone" inspect --keys "$1" | grep -qE "general.file_type .*[^0-9]$2\$" || fail "$1: general.file_type is not $2, of most numbers"; }
says_type q4.gguf 15
says_type forced.gguf 15
says_type x.gguf 0
quietly "$hone" run forced.gguf --prompt question --count 2 --temperature 0
# A real one, into bf16 weights of a bf16 base and of a Q4_K base.
quietly "$hone" quantize --overwrite wide.gguf b16.gguf bf16
quietly "$hone" train b16.gguf --data c.jsonl --out big --steps 8 --batch 4 --rank 4 --rate 2e-2
quietly "$hone" merge --overwrite b16.gguf big/adapter.gguf --out x.gguf --json
holds "bf16 keeps it" "$(number kl) < 1e-4 && $(number kl) < $(number kl_base) / 100"
refuses 'expected 100 to 100' "$hone" merge --overwrite b16.gguf big/adapter.gguf --out y.gguf --keep 1
refuses 'at most 1e-12' "$hone" merge --overwrite b16.gguf big/adapter.gguf --out y.gguf --budget 1e-12
refuses 'trained on another base' "$hone" merge --overwrite wide.gguf big/adapter.gguf --out y.gguf
echo '{"ids":[5,6,7,8]}' >ids.jsonl
quietly "$hone" train "$2/tests/differential/models/llama" --data ids.jsonl --out hf --steps 2
refuses 'is a directory: expected a GGUF file' "$hone" merge --overwrite "$2/tests/differential/models/llama" hf/adapter.gguf --out y.gguf
[ ! -e y.gguf ] || fail "a refused merge wrote a file"
passed
