#!/bin/sh
# NON-FINITE SUCCESS: a run that met infinity ends in an adapter and exit status 0. Here the step
# stops before anything is updated, names what is not finite, and leaves the last good checkpoint.
. "$2/tests/failures/cli.sh"
dense d.gguf
chats 8 c.jsonl
# The file ends in a tensor's data: four bytes of it become infinity.
size=$(wc -c <d.gguf)
for at in 4 40000 200000; do
    cp d.gguf inf.gguf
    printf '\000\000\200\177' | dd of=inf.gguf bs=1 seek=$((size - size % 4 - at)) conv=notrunc 2>/dev/null
    refuses 'not finite|is inf|non-finite|NaN|nan' "$hone" train inf.gguf --data c.jsonl --out r$at --steps 3 --rank 2 --targets all
    [ ! -e r$at/adapter.gguf ] || fail "an adapter was written"
    refuses 'not finite|is inf|non-finite|NaN|nan' "$hone" grads inf.gguf --data c.jsonl --out g.safetensors
    [ ! -e g.safetensors ] || fail "gradients were written"
done
for optimizer in sgd adamw; do
    refuses 'step [0-9]+|not finite' "$hone" train d.gguf --data c.jsonl --out big-$optimizer --steps 40 --batch 4 \
        --rate 1e9 --optimizer $optimizer --clip 0 --save-every 1 --warmup 0 --targets all:full --schedule constant
    cat err
    grep -Eq 'not finite|inf|nan' err || fail "what is not finite is not named"
    [ ! -e big-$optimizer/model.gguf ] || fail "a model was written"
done
# Of scores that are no numbers no expert is the best: the same words, and not those of what reads the choice.
mixture m.gguf
refuses 'step 2: .*the first that is not finite: [a-z_]+#' "$hone" train m.gguf --data c.jsonl --out routed --steps 3 --batch 4 --rate 1e30 \
    --save-every 1 --warmup 0
is "the status of what came of numbers" 1 "$got"
[ ! -e routed/adapter.gguf ] || fail "an adapter was written"
# What was good before stays, and a run that was good ends well.
quietly "$hone" train d.gguf --data c.jsonl --out good --steps 3 --rank 2
cp good/adapter.gguf kept.gguf
refuses 'a run is there already' "$hone" train d.gguf --data c.jsonl --out good --steps 40 --rate 1e9
cmp -s good/adapter.gguf kept.gguf || fail "the adapter was overwritten"
passed
