#!/bin/sh
# RESUME-LOSS: killed and resumed, a run has lost its moments, schedule, random state or place in
# the data. Here the final adapter has the hash of a run that nothing stopped, after kill -9 at
# twenty random instants; and a checkpoint that was cut short is refused by name.
. "$2/tests/failures/cli.sh"
dense d.gguf
chats 40 c.jsonl
how='--data c.jsonl --steps 60 --batch 4 --rank 8 --dropout 0.05 --rate 1e-2 --save-every 3 --held-fraction 0.1 --eval-every 10'
go() { "$hone" train d.gguf $how --out "$@"; }
quietly go whole
want=$(digest)
kills=0 rounds=0 seed=12345
while [ $kills -lt 20 ]; do
    rounds=$((rounds + 1))
    rm -rf run
    done=
    while [ -z "$done" ]; do
        resume=
        ls run/step-*.ckpt >/dev/null 2>&1 && resume=--resume
        [ -n "$resume" ] || rm -rf run
        "$hone" train d.gguf $how --out run $resume >out 2>err &
        pid=$!
        if [ $kills -lt 20 ]; then
            seed=$(((seed * 1103515245 + 12345) % 2147483648))
            sleep "0.$(printf %03d $((seed / 65536 % 250 + 10)))"
            if kill -9 $pid 2>/dev/null; then kills=$((kills + 1)); fi
        fi
        wait $pid 2>/dev/null && done=1
        [ -n "$done" ] || [ "$(tail -c 400 err | grep -c 'hone train:')" = 0 ] || { cat err; fail "it failed"; }
    done
    is "round $rounds: the hash" "$want" "$(digest)"
    is "every step once" 60 "$(grep -c '"loss":' run/metrics.jsonl)"
    [ $rounds -lt 40 ] || fail "not killed often enough"
done
echo "$kills kills in $rounds runs"
# Truncated, altered, of other data or another configuration.
rm -rf cut && quietly go cut
last=$(ls cut/step-*.ckpt | tail -1)
cp "$last" good.ckpt
size=$(wc -c <good.ckpt)
for keep in $((size - 1)) $((size / 2)) 100 0; do
    head -c $keep good.ckpt >"$last"
    refuses "$(basename "$last")" go cut --resume
done
cp good.ckpt "$last"
printf 'X' | dd of="$last" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
refuses "$(basename "$last")" go cut --resume
cp good.ckpt "$last"
echo '{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}' >>c.jsonl
refuses 'data' go cut --resume
passed
