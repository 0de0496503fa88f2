#!/bin/sh
# hone in int8 numerics as a user meets it: the same bits whatever computes them, and what it is refused for: BUILD SOURCE
. "$2/tests/failures/cli.sh"
mixture moe.gguf
quietly "$hone" new llama wide.gguf layers=2 width=256 heads=4 kv_heads=2 ffn=512 vocab=300 --seed 3
quietly "$hone" quantize moe.gguf moe-q8.gguf q8_0
for type in q4_k_m q6_k q2_k_s iq4_xs tq1_0; do quietly "$hone" quantize wide.gguf "wide-$type.gguf" $type; done
logits() { # MODEL OPTIONS...
    model=$1
    shift
    quietly "$hone" logits "$model" --tokens 5,9,2,44,17,8,3,101,12,6,77,21 --out l.npy --overwrite "$@"
    sha256sum <l.npy
}
for model in moe-q8.gguf wide-q4_k_m.gguf wide-q6_k.gguf wide-q2_k_s.gguf wide-iq4_xs.gguf wide-tq1_0.gguf; do
    want=$(logits $model --numerics int8)
    [ "$want" != "$(logits $model)" ] || fail "$model: int8 has the logits of f32"
    for threads in 1 3; do is "$model, $threads threads" "$want" "$(logits $model --numerics int8 --threads $threads)"; done
    for level in $("$hone" devices --levels); do
        is "$model, $level" "$want" "$(logits $model --numerics int8 --isa "$level")"
    done
    for plan in reuse separate poison; do is "$model, plan $plan" "$want" "$(logits $model --numerics int8 --plan $plan)"; done
done

# Generation: packed and as the file lies, and gone on with from a session's file, which f32 may not.
quietly "$hone" tiny tiny.gguf
said() { quietly "$hone" run tiny.gguf --temperature 0 --count 12 --prompt "One day a small boy" "$@" && cat out; }
want=$(said --numerics int8)
is 'mapped' "$want" "$(said --numerics int8 --mapped)"
is 'leaving its keys' "$want" "$(said --numerics int8 --session s.hone)"
is 'taking them' "$want" "$(said --numerics int8 --session s.hone)"
refuses 'numerics int8.1' "$hone" run tiny.gguf --count 2 --prompt "One day a small boy" --session s.hone

chats 8 c.jsonl
refuses 'int8 numerics multiply by matrices in block formats, and there is none' \
    "$hone" logits wide.gguf --tokens 5,9 --out n.npy --numerics int8
refuses '--numerics int8: expected f32 or mixed' "$hone" train moe-q8.gguf --data c.jsonl --out r --steps 1 --numerics int8
refuses "numerics 'int8': losses are of f32 or mixed numerics" "$hone" eval moe-q8.gguf --data c.jsonl --numerics int8
[ ! -e r ] || fail "a refused run left its folder"
passed
