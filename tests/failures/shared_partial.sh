#!/bin/sh
# SHARED-PARTIAL: two programs that write one file write into one NAME.partial, and end with 0 and a
# file of neither; a link that somebody put there is followed. Here each file in the making has a name
# of its own, made new, and one run at a time works in a folder.
. "$2/tests/failures/cli.sh"
shape="layers=4 width=128 heads=4 kv_heads=2 head_dim=32 ffn=256"
quietly "$hone" new llama one.gguf $shape --seed 1
quietly "$hone" new llama two.gguf $shape --seed 2
one=$(sha256sum <one.gguf) two=$(sha256sum <two.gguf)
i=0 more=
while [ $i -lt 12 ]; do
    i=$((i + 1))
    rm -f x.gguf
    "$hone" new llama x.gguf $shape --seed 1 $more 2>err.1 &
    first=$!
    "$hone" new llama x.gguf $shape --seed 2 $more 2>err.2 &
    wait $first
    a=$?
    wait $!
    b=$?
    found=$(sha256sum <x.gguf)
    case "$a $b" in
    "0 0") [ "$more" ] || fail "both say that x.gguf is theirs" ;;
    "0 2") [ "$found" = "$one" ] || fail "the first ended with 0: it is not its file" ;;
    "2 0") [ "$found" = "$two" ] || fail "the second ended with 0: it is not its file" ;;
    *) cat err.1 err.2; fail "status $a and $b" ;;
    esac
    [ "$found" = "$one" ] || [ "$found" = "$two" ] || fail "the file is of neither"
    [ -z "$(ls | grep partial)" ] || fail "something is left"
    n=$((n + 1))
    [ $i -lt 6 ] || more=--overwrite
done
# A link in the place of the old common name is nobody's.
echo precious >victim
ln -s victim y.gguf.partial
quietly "$hone" new llama y.gguf $shape --seed 1
is "what a link pointed to" precious "$(cat victim)"
is "the file" "$one" "$(sha256sum <y.gguf)"
# What one that was killed left goes with the next; what one that lives makes does not.
touch z.gguf.partial-0123456789abcdef z.gguf.partial-mine
quietly "$hone" new llama z.gguf $shape --seed 1
is "the sweep" "z.gguf z.gguf.partial-mine" "$(echo z.gguf*)"

# A run's folder is one run's.
dense d.gguf
chats 12 c.jsonl
train() { "$hone" train d.gguf --data c.jsonl --out r --batch 4 --rank 2 --targets attn_q --threads 1 "$@"; }
"$hone" train d.gguf --data c.jsonl --out r --batch 4 --rank 2 --targets attn_q --threads 1 --steps 100000 --save-every 3 >out.1 2>err.1 &
job=$!
until_there $job [ -s r/metrics.jsonl ]
refuses "r/lock is held by process $job on " train --steps 4 --overwrite
refuses "r/lock is held by process $job on " train --steps 100000 --resume
kill -9 $job
wait $job 2>/dev/null
# The holder is dead, and so is its lock.
[ -s r/lock ] || fail "there is no stale lock to see"
quietly train --steps 6 --save-every 3 --overwrite
is "lines of steps" 6 "$(grep -c '"loss"' r/metrics.jsonl)"

# A folder that is moved while a run works there is its own no more: what is begun under its name is another's.
moves() { # the first is stopped in the middle, and the second has ended when it goes on
    rm -rf r moved
    train --steps 2000 --save-every 50 >out.1 2>err.1 &
    job=$!
    until_there $job [ -s r/metrics.jsonl ]
    kill -STOP $job 2>/dev/null
    mv r moved
    quietly train --steps 6 --seed 2 --save-every 2
    before=$(cat r/adapter.gguf r/step-*.ckpt r/metrics.jsonl r/report.html r/run.toml | sha256sum)
    kill -CONT $job
    wait $job
    is "the status of one whose folder was moved" 1 $?
    grep -q "r/lock: expected the lock that is held, found another" err.1 || { cat err.1; fail "the lock is not named"; }
    is "what another run left" "$before" "$(cat r/adapter.gguf r/step-*.ckpt r/metrics.jsonl r/report.html r/run.toml | sha256sum)"
}
moves
rm -rf r
train --steps 2000 --save-every 50 >out.1 2>err.1 &
job=$!
until_there $job [ -s r/metrics.jsonl ]
kill -STOP $job
rm r/lock
kill -CONT $job
wait $job
is "the status of one whose lock was removed" 1 $?
grep -q "r/lock: expected the lock that is held, found none" err.1 || { cat err.1; fail "the lock is not named"; }
[ ! -e r/adapter.gguf ] || fail "it left a result all the same"
passed
