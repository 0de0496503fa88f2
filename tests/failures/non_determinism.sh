#!/bin/sh
# NON-DETERMINISM: the same seed, another adapter. Here its hash is the same for every number of
# threads, instruction set, memory plan, cut into micro-batches and recomputation, in either numerics.
. "$2/tests/failures/cli.sh"
mixture moe.gguf
quietly "$hone" quantize moe.gguf q8.gguf q8_0
quietly "$hone" quantize moe.gguf b16.gguf bf16
chats 24 c.jsonl
same() { # WHAT OPTIONS...: under $set, of $model
    what=$1
    shift
    rm -rf r
    quietly env $set "$hone" train $model --data c.jsonl --out r --steps 5 --batch 8 --rank 4 --dropout 0.1 \
        --targets attn,experts,router --rate 1e-2 --numerics $numerics "$@"
    [ -n "$want" ] || want=$(digest)
    is "$what" "$want" "$(digest)"
}
for model in moe.gguf q8.gguf b16.gguf; do
    want='' set='' numerics=f32
    [ $model = b16.gguf ] && numerics=mixed
    same "again" --threads 2
    for threads in 1 2 3 8; do same "$threads threads" --threads $threads; done
    for level in $("$hone" devices --levels); do
        set="HN_ISA_MASK=$level"
        same "$level" --threads 2
    done
    set=
    for plan in inplace reuse separate poison; do same "plan $plan" --plan $plan; done
    for tokens in 60 120 240 480; do same "micro-batches of $tokens tokens" --micro-tokens $tokens; done
    for every in 0 1 2 3; do same "recomputation $every" --recompute $every; done
    same "all at once" --threads 3 --plan separate --micro-tokens 70 --recompute 1
done
# The file says seed and numerics: losses show that they matter.
losses() { sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' r/metrics.jsonl | tr '\n' ' '; }
same "once more"
first=$(losses) want=
same "another seed" --seed 7
[ "$(losses)" != "$first" ] || fail "the seed changes nothing"
want= numerics=f32
same "other numerics"
[ "$(losses)" != "$first" ] || fail "the numerics change nothing"
passed
