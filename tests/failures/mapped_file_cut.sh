#!/bin/sh
# MAPPED-FILE-CUT: a file that is cut off while it is mapped ends the program by SIGBUS; base or data that
# change in place end in a result that records what they were. Here each is an error that names the file,
# and no result is left. (mapped_file_cut.c: in a host of the library, with handlers of its own.)
. "$2/tests/failures/cli.sh"
dense d.gguf
chats 12 c.jsonl
wait_for() { # FILE
    i=0
    while [ ! -s "$1" ] && [ $i -lt 400 ]; do sleep 0.02; i=$((i + 1)); done
}
during() { # WORDS COMMAND...: COMMAND happens while a run trains on b.gguf and b.jsonl
    words=$1
    shift
    rm -rf r
    cp d.gguf b.gguf
    cp c.jsonl b.jsonl
    "$hone" train b.gguf --data b.jsonl --out r --steps 100000 --save-every 400 --batch 4 --rank 2 --targets attn_q --threads 1 >out 2>err &
    job=$!
    wait_for r/metrics.jsonl
    sleep 0.3 # beyond the first look at everything
    "$@"
    i=0
    while kill -0 $job 2>/dev/null && [ $i -lt 500 ]; do sleep 0.05; i=$((i + 1)); done
    kill -TERM $job 2>/dev/null
    wait $job
    got=$?
    [ $got -eq 1 ] || { cat err; fail "$*: status $got"; }
    grep -Eq "$words" err || { cat err; fail "$*: the message lacks '$words'"; }
    [ ! -e r/adapter.gguf ] || fail "$*: a failed run left an adapter"
    n=$((n + 1))
}
size=$(wc -c <d.gguf)
bit() { printf '\101' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
during 'b.gguf: was cut short while it was read: it had [0-9]* bytes, now 0' truncate -s 0 b.gguf
during 'b.gguf: was cut short while it was read' truncate -s $((size / 2)) b.gguf
during 'b.jsonl: was cut short while it was read' truncate -s 100 b.jsonl
during 'b.gguf: was written to while it was used' bit b.gguf $((size - 300))
during 'b.jsonl: was written to while it was used' bit b.jsonl 40
# Touched, or replaced under its name, it is what it was: the run goes on.
rm -rf r
cp d.gguf b.gguf
"$hone" train b.gguf --data c.jsonl --out r --steps 300 --save-every 50 --batch 4 --rank 2 --targets attn_q --threads 1 >out 2>err &
job=$!
wait_for r/metrics.jsonl
touch b.gguf
cp d.gguf other.gguf
bit other.gguf $((size - 300))
mv other.gguf b.gguf
wait $job
is "a base that was touched and replaced by name" 0 $?
n=$((n + 1))
# Commands that write one file.
quietly "$hone" new llama big.gguf layers=24 width=512 heads=8 ffn=2048
for command in "quantize big.gguf o.gguf q8_0" "logits big.gguf --tokens 1,2,3,4,5,6,7,8 --out o.gguf" "inspect big.gguf --context 4096"; do
    rm -f o.gguf
    cp big.gguf kept.gguf
    "$hone" $command --threads 1 >out 2>err &
    job=$!
    sleep 0.05
    truncate -s 100000 big.gguf
    wait $job
    got=$?
    [ $got -lt 128 ] || fail "$command: status $got"
    [ $got -eq 0 ] || [ ! -e o.gguf ] || fail "$command: it failed and left a file"
    mv kept.gguf big.gguf
    n=$((n + 1))
done
# Cut when the result has its name, it is what it would have been, and the command says so.
for command in "quantize big.gguf o.gguf q8_0" "logits big.gguf --tokens 1,2,3,4,5,6,7,8 --out o.gguf"; do
    rm -f o.gguf want.gguf
    cp big.gguf kept.gguf
    quietly "$hone" $command --threads 1
    mv o.gguf want.gguf
    "$hone" $command --threads 1 >out 2>err &
    job=$!
    while [ ! -e o.gguf ] && kill -0 $job 2>/dev/null; do :; done
    truncate -s 100000 big.gguf
    wait $job
    is "$command: cut after its end" 0 $?
    cmp o.gguf want.gguf || fail "$command: cut after its end"
    mv kept.gguf big.gguf
    n=$((n + 1))
done
passed
