#!/bin/sh
# CONTEXT-OVERRUN: sequences longer than the model was made for are trained, at positions that it
# has never seen. They are refused by name unless --too-long says otherwise, by every command.
. "$2/tests/failures/cli.sh"
takes() { "$@" >out 2>err || { cat err; fail "$*: status $?"; }; n=$((n + 1)); }
"$hone" new llama --first spread m.gguf context=64 >/dev/null 2>&1 || fail "hone new"
words='one two three four five six seven eight nine ten eleven twelve thirteen fourteen'
printf '{"text": "short"}\n{"text": "%s"}\n' "$words" >d.jsonl
says='d.jsonl: line 2: expected at most 64 tokens, which is the context of the model, found'
refuses "$says" "$hone" show-tokens m.gguf d.jsonl
refuses "$says" "$hone" train m.gguf --data d.jsonl --out run --dry-run
refuses "$says" "$hone" train m.gguf --data d.jsonl --out run
refuses "$says" "$hone" eval m.gguf --data d.jsonl
refuses "$says" "$hone" eval m.gguf --data d.jsonl --max-length 1000
for i in 1 2 3 4 5 6 7 8; do echo "$words"; done >text.txt
for command in "perplexity m.gguf text.txt" "imatrix m.gguf text.txt --out i.gguf"; do
    refuses 'm.gguf: a chunk of 65 tokens: the model was made for 64' "$hone" $command --chunk 65
    takes "$hone" $command
done
ids=$(seq -s , 1 65)
refuses 'm.gguf: a sequence of 65 tokens: the model was made for 64' "$hone" logits m.gguf --tokens "$ids" --out l.npy
test ! -e l.npy || fail "logits left a file"
takes "$hone" logits m.gguf --tokens "${ids%,65}" --out l.npy
refuses 'line 2: expected at most 32 tokens, as --max-length says' "$hone" show-tokens m.gguf d.jsonl --max-length 32
takes "$hone" show-tokens m.gguf d.jsonl --too-long keep-start --examples 0
grep -q 'longest 64$' out || { cat out; fail "keep-start keeps 64"; }
takes "$hone" show-tokens m.gguf d.jsonl --too-long keep-end --max-length 1000 --examples 0
grep -q 'longest 64$' out || { cat out; fail "keep-end keeps 64"; }
takes "$hone" show-tokens m.gguf d.jsonl --too-long allow --examples 0
grep -q 'longest 8[0-9]$' out || { cat out; fail "allow keeps all"; }
takes "$hone" eval m.gguf --data d.jsonl --too-long allow
refuses 'expected no --max-length with it' "$hone" eval m.gguf --data d.jsonl --too-long allow --max-length 99

# Positions that were learned end with their table: nothing lets a sequence go on beyond it.
head -n 1 d.jsonl >s.jsonl
"$hone" new gpt2 --first spread t.gguf context=64 >/dev/null 2>&1 || fail "hone new gpt2"
# longrope's angles end likewise. A run hears of it before it begins, not at the step that comes to the long example.
for model in t.gguf "$2/tests/differential/models/phi3"; do
    for words in "show-tokens $model d.jsonl" "eval $model --data d.jsonl" "prove $model --data d.jsonl" \
        "train $model --data d.jsonl --out beyond --dry-run" "train $model --data d.jsonl --out beyond" \
        "train $model --data s.jsonl --held d.jsonl --out beyond"; do
        refuses 'd.jsonl: line 2: expected at most 64 tokens, beyond which the model has no positions, found' \
            "$hone" $words --too-long allow
    done
    test ! -e beyond || fail "$model: a run was begun"
done
made='a context of 65 tokens: the model was made for 64'
for command in "run t.gguf --prompt one" "run t.gguf --prompt one --draft t.gguf" "serve t.gguf --port 0"; do
    refuses "$made" "$hone" $command --context 65
done
refuses 'made for 64' "$hone" logits t.gguf --tokens "$ids" --out t.npy
takes "$hone" logits t.gguf --tokens "${ids%,65}" --out t.npy
takes "$hone" train t.gguf --data d.jsonl --out within --too-long keep-start --steps 1 --rank 2
echo "$n passed, 0 failed, 0 skipped"
