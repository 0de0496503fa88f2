#!/bin/sh
# OUTPUT-OVER-INPUT: a command that is told to write where it reads destroys its input and says that all
# is well. Here no command writes over a file that it reads, whatever its name is, and over no other
# file without --overwrite.
. "$2/tests/failures/cli.sh"
quietly "$hone" new llama d.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64
chats 8 c.jsonl
echo "Some words of a text that is long enough to be read by somebody." >text.txt
quietly "$hone" train d.gguf --data c.jsonl --out r --steps 2 --batch 4 --rank 2 --targets attn_q
cp r/adapter.gguf a.gguf
quietly "$hone" logits d.gguf --tokens 1,2,3 --out l.npy
quietly "$hone" op silu --in l.npy --out y.npy
ln d.gguf hard.gguf
ln -s d.gguf soft.gguf
sums() { cat d.gguf a.gguf c.jsonl text.txt l.npy | sha256sum; }
before=$(sums)
onto() { # COMMAND...: refused, and every input is what it was
    refuses 'is an input too|is there already' "$@"
    is "$*: the inputs" "$before" "$(sums)"
    [ -z "$(ls | grep partial)" ] || fail "$*: something is left"
}
for file in d.gguf ./d.gguf hard.gguf soft.gguf "$dir/d.gguf"; do
    for more in '' --overwrite; do
        onto "$hone" quantize d.gguf "$file" q8_0 $more
        onto "$hone" merge d.gguf a.gguf --out "$file" --force $more
        onto "$hone" logits d.gguf --tokens 1,2,3 --out "$file" $more
        onto "$hone" imatrix d.gguf text.txt --out "$file" --chunk 8 $more
        onto "$hone" grads d.gguf --data c.jsonl --out "$file" $more
        onto "$hone" export a.gguf --gguf "$file" --base d.gguf $more
        onto "$hone" perplexity d.gguf text.txt --chunk 8 --save "$file" $more
    done
done
for more in '' --overwrite; do
    onto "$hone" merge d.gguf a.gguf --out a.gguf --force $more
    onto "$hone" export a.gguf --gguf a.gguf --base d.gguf $more
    onto "$hone" imatrix d.gguf text.txt --out text.txt --chunk 8 $more
    onto "$hone" grads d.gguf --data c.jsonl --out c.jsonl $more
    onto "$hone" op silu --in l.npy --out l.npy $more
    onto "$hone" new-tokenizer text.txt text.txt $more
    onto "$hone" new llama d.gguf layers=1 width=64 --tokenizer d.gguf $more
done
# A run in a folder where its model or data lies as a result.
mkdir in && cp d.gguf in/model.gguf
cp in/model.gguf kept.gguf
refuses 'is there already' "$hone" train in/model.gguf --data c.jsonl --out in --steps 2 --batch 4
refuses 'model.gguf: is an input' "$hone" train in/model.gguf --data c.jsonl --out in --steps 2 --batch 4 --overwrite
cmp in/model.gguf kept.gguf || fail "the model is another"
# Also where a run's folder is locked, where its numbered files are, and what is refused takes nothing of an earlier run with it.
runs() { "$hone" train d.gguf --data c.jsonl "$@" --steps 2 --batch 4 --rank 2 --targets attn_q; }
for name in lock step-00000009.ckpt step-00000009.gguf; do
    rm -rf of && mkdir of && cp c.jsonl of/$name && echo earlier >of/adapter.gguf
    for more in '' --overwrite; do
        for told in "--data of/$name" "--held of/$name"; do
            refuses "is an input too|is there already" runs $told --format jsonl --out of $more
            cmp c.jsonl of/$name || fail "$name is another"
            is "what an earlier run left" earlier "$(cat of/adapter.gguf)"
        done
    done
done
# And somebody's own of such a name, which nobody reads.
rm -rf of && mkdir of && echo mine >of/lock
refuses 'of/lock: expected a lock of hone.s, found another file' runs --out of --overwrite
is "somebody's lock" "lock mine" "$(ls of) $(cat of/lock)"
rm -rf of && mkdir of && echo mine >of/step-00000001.gguf
refuses 'is there already' runs --out of --save-every 1 --keep-adapters
is "somebody's adapter" mine "$(cat of/step-00000001.gguf)"
quietly runs --out of --save-every 1 --keep-adapters --overwrite

# What is there stays without --overwrite, and is another with it.
echo mine >o.gguf
for command in "quantize d.gguf o.gguf q8_0" "merge d.gguf a.gguf --force --out o.gguf" "tiny o.gguf" \
    "new llama o.gguf layers=1 width=64" "story --count 2 --out o.jsonl" "plan d.gguf --of token --svg o.gguf" \
    "grads d.gguf --data c.jsonl --out o.gguf" "export a.gguf --base d.gguf --gguf o.gguf"; do
    echo mine >o.jsonl
    echo mine >o.gguf
    refuses 'is there already: --overwrite replaces it' "$hone" $command
    is "$command" "mine mine" "$(cat o.gguf o.jsonl | tr '\n' ' ' | sed 's/ $//')"
    quietly "$hone" $command --overwrite
    [ "$(cat o.gguf o.jsonl | tr -d '\0' | head -c 10000 | tr '\n' ' ' | sed 's/ $//')" != "mine mine" ] || fail "$command: --overwrite did not"
done
# One that comes while the command works stays too.
has_partial() { ls | grep -q partial; }
comes_between() { # the command is stopped in the middle; one that was done before tests nothing
    rm -f made.gguf
    "$hone" new llama made.gguf layers=8 width=1024 heads=8 ffn=4096 --threads 1 2>err &
    job=$!
    until_there $job has_partial
    kill -STOP $job 2>/dev/null
    has_partial || { kill -CONT $job; wait $job; return 1; }
    echo mine >mine
    ln mine made.gguf 2>/dev/null
    came=$?
    kill -CONT $job
    wait $job
    status=$?
    rm -f mine
    return $came
}
tries=1
until comes_between; do
    tries=$((tries + 1))
    [ $tries -le 20 ] || fail "twenty files were whole before another came"
done
[ $status -ne 0 ] || fail "a file that came in between is no failure"
[ "$(head -c 5 made.gguf)" = mine ] || fail "a file that came in between was replaced"
grep -q 'made.gguf.*is there already' err || { cat err; fail "a file that came in between is not named"; }
[ -z "$(ls | grep partial)" ] || fail "something is left beside a file that came in between"
n=$((n + 1))
# An export does not mix two adapters.
mkdir peft && echo mine >peft/hone.gguf
refuses 'is there already' "$hone" export a.gguf --peft peft --base d.gguf
is "nothing was added" hone.gguf "$(ls peft)"
quietly "$hone" demo --help
passed
