#!/bin/sh
# SIGNAL-LOSS: SIGTERM and SIGHUP, which a machine that shuts down and a connection that ends send, lose
# what Ctrl-C saves. Here all three finish the step, save, and end with 128 and the signal's number; what
# is half written goes, and what the parent ignores stays ignored.
. "$2/tests/failures/cli.sh"
dense d.gguf
chats 12 c.jsonl
has_partial() { ls | grep -q partial; }
has_steps() { [ -s "$1/metrics.jsonl" ]; }
for signal in INT TERM HUP; do
    case $signal in INT) number=2 ;; TERM) number=15 ;; HUP) number=1 ;; esac
    env --default-signal=INT,TERM,HUP "$hone" train d.gguf --data c.jsonl --out $signal --steps 100000 --save-every 100000 \
        --batch 4 --rank 2 --targets attn_q --threads 1 >out 2>err &
    job=$!
    until_there $job has_steps $signal
    kill -$signal $job
    wait $job
    is "SIG$signal: the status" $((128 + number)) $?
    step=$(grep -o '"step":[0-9]*' $signal/metrics.jsonl | tail -1 | cut -d: -f2)
    [ -f "$signal/step-$(printf %08d $step).ckpt" ] || fail "SIG$signal: step $step is not saved: $(ls $signal)"
    grep -q "stopped after step $step" err || { cat err; fail "SIG$signal: it is not told"; }
    [ -z "$(ls $signal | grep -E 'partial|adapter')" ] || fail "SIG$signal: something is left"
    n=$((n + 1))
done
# What a run has said is kept, also over a session that was there.
quietly "$hone" new llama r.gguf layers=8 width=256 heads=4 ffn=1024 context=4096 --tokenizer hone:tiny
speaks() { [ -f out ] && [ "$(wc -c <out)" -gt 20 ]; }
for signal in INT TERM HUP; do
    case $signal in INT) number=2 ;; TERM) number=15 ;; HUP) number=1 ;; esac
    ln -f kept.bin before.bin 2>/dev/null
    rm -f out
    env --default-signal=INT,TERM,HUP "$hone" run r.gguf --prompt "One day" --count 4000 --ignore-end --threads 1 --session kept.bin \
        >out 2>err &
    job=$!
    until_there $job speaks
    kill -$signal $job
    wait $job
    is "SIG$signal to a run: the status" $((128 + number)) $?
    grep -q interrupted err || { cat err; fail "SIG$signal to a run: it is not told"; }
    [ -s kept.bin ] && ! [ kept.bin -ef before.bin ] || fail "SIG$signal to a run: its session is not saved: $(ls)"
    "$hone" run r.gguf --prompt "One day" --count 1 --threads 1 --session kept.bin >out 2>err || { cat err; fail "a saved session"; }
    n=$((n + 1))
done
# What is half written goes. A signal that comes when the file is whole tests nothing: then again.
interrupted_new() { # SIGNAL: stopped in the middle, so that nothing depends on who is faster
    rm -f big.gguf
    env --default-signal=INT,TERM,HUP,QUIT "$hone" new llama big.gguf layers=40 width=1024 heads=8 ffn=4096 --threads 1 >out 2>err &
    job=$!
    until_there $job has_partial
    kill -STOP $job 2>/dev/null
    has_partial || { kill -CONT $job 2>/dev/null; wait $job || { cat err; fail "new ended by itself"; }; return 1; }
    kill -$1 $job
    kill -CONT $job
    wait $job
    status=$?
    [ ! -f big.gguf ]
}
for signal in INT TERM HUP QUIT; do
    tries=1
    until interrupted_new $signal; do
        tries=$((tries + 1))
        [ $tries -le 20 ] || fail "SIG$signal: twenty files were whole before it came"
    done
    [ $status -ge 129 ] || fail "SIG$signal: new ended with status $status"
    [ -z "$(ls | grep partial)" ] || fail "SIG$signal: half a file is left: $(ls)"
    n=$((n + 1))
done
# A program in the background of a script does not die of the Ctrl-C that is meant for the script.
deaf_run() {
    rm -rf deaf
    env --ignore-signal=INT,HUP "$hone" train d.gguf --data c.jsonl --out deaf --steps 60 --batch 4 --rank 2 --targets attn_q >out 2>err &
    job=$!
    until_there $job has_steps deaf
    kill -STOP $job
    before=$(grep -c '"loss"' deaf/metrics.jsonl)
    kill -INT $job
    kill -HUP $job
    kill -CONT $job
    wait $job
    is "a signal that is ignored" 0 $?
    [ -f deaf/adapter.gguf ] || fail "a signal that is ignored ended the run"
    [ "$before" -lt 60 ]
}
tries=1
until deaf_run; do
    tries=$((tries + 1))
    [ $tries -le 20 ] || fail "twenty runs had ended before the signal came"
done
passed
