#!/bin/sh
# SIGNAL-LOSS: SIGTERM and SIGHUP, which a machine that shuts down and a connection that ends send, lose
# what Ctrl-C saves. Here all three finish the step, save, and end with 128 and the signal's number; what
# is half written goes, and what the parent ignores stays ignored.
. "$2/tests/failures/cli.sh"
dense d.gguf
chats 12 c.jsonl
wait_for() { # COMMAND...
    i=0
    while ! "$@" && [ $i -lt 400 ]; do sleep 0.02; i=$((i + 1)); done
}
has_partial() { ls | grep -q partial; }
has_steps() { [ -s "$1/metrics.jsonl" ]; }
train() { # FOLDER STEPS OPTIONS...
    folder=$1 steps=$2
    shift 2
    exec "$hone" train d.gguf --data c.jsonl --out $folder --steps $steps --save-every 100000 --batch 4 --rank 2 --targets attn_q --threads 1 "$@"
}
for signal in INT TERM HUP; do
    case $signal in INT) number=2 ;; TERM) number=15 ;; HUP) number=1 ;; esac
    env --default-signal=INT,TERM,HUP "$hone" train d.gguf --data c.jsonl --out $signal --steps 100000 --save-every 100000 \
        --batch 4 --rank 2 --targets attn_q --threads 1 >out 2>err &
    job=$!
    wait_for has_steps $signal
    kill -$signal $job
    wait $job
    is "SIG$signal: the status" $((128 + number)) $?
    step=$(grep -o '"step":[0-9]*' $signal/metrics.jsonl | tail -1 | cut -d: -f2)
    [ -f "$signal/step-$(printf %08d $step).ckpt" ] || fail "SIG$signal: step $step is not saved: $(ls $signal)"
    grep -q "stopped after step $step" err || { cat err; fail "SIG$signal: it is not told"; }
    [ -z "$(ls $signal | grep -E 'partial|adapter')" ] || fail "SIG$signal: something is left"
    n=$((n + 1))
done
# What is half written goes.
for signal in INT TERM HUP QUIT; do
    env --default-signal=INT,TERM,HUP,QUIT "$hone" new llama big.gguf layers=40 width=1024 heads=8 ffn=4096 --threads 1 >out 2>err &
    job=$!
    wait_for has_partial
    sleep 0.1
    kill -$signal $job
    wait $job
    [ $? -ge 129 ] || [ -f big.gguf ] || fail "SIG$signal: new ended with another status"
    [ -z "$(ls | grep partial)" ] || fail "SIG$signal: half a file is left: $(ls)"
    [ ! -f big.gguf ] || fail "SIG$signal: it came too late to test anything"
    n=$((n + 1))
done
# A program in the background of a script does not die of the Ctrl-C that is meant for the script.
env --ignore-signal=INT,HUP "$hone" train d.gguf --data c.jsonl --out deaf --steps 60 --batch 4 --rank 2 --targets attn_q >out 2>err &
job=$!
wait_for has_steps deaf
kill -INT $job
kill -HUP $job
wait $job
is "a signal that is ignored" 0 $?
[ -f deaf/adapter.gguf ] || fail "a signal that is ignored ended the run"
passed
