#!/bin/sh
# run.sh BUILD SOURCE: run, logits, perplexity and imatrix as a user meets them.
set -u
hone=$1/hone
models=$2/tests/differential/models
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
passes() { n=$((n + 1)); }
gets() { # gets FILE COMMAND...: its output
    file=$1
    shift
    "$@" >"$file" 2>err </dev/null || { status=$?; cat err; fail "$*: status $status"; }
}
same() { # same WHAT FILE FILE
    cmp -s "$2" "$3" || { head -c 300 "$2"; echo; head -c 300 "$3"; fail "$1: $2 and $3 differ"; }
    passes
}
refuses() { # refuses STATUS WORDS COMMAND...
    status=$1 words=$2
    shift 2
    "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$status" ] || { cat out err; fail "$*: status $got, expected $status"; }
    grep -qi -- "$words" err || { cat err; fail "$*: the message lacks '$words'"; }
    passes
}
run() { # run FILE MODEL OPTIONS...: 24 tokens, as ids
    file=$1 model=$2
    shift 2
    gets "$file" "$hone" run "$model" -p 'Once upon' -n 24 --ids --quiet --ignore-end "$@"
}

# The same seed, the same text: at any number of threads, from a directory and from its GGUF file,
# whatever type holds the same values.
for name in llama qwen3moe gemma3 gpt-oss; do
    model=$models/$name
    gets /dev/null "$hone" convert --overwrite "$model" $name.gguf
    gets /dev/null "$hone" convert --overwrite "$model" $name-f32.gguf --type f32
    run want "$model" --seed 7 --threads 1
    [ "$(wc -w <want)" -eq 24 ] || fail "$name: $(cat want): expected 24 ids"
    run three "$model" --seed 7 --threads 3
    same "$name at 3 threads" want three
    run file $name.gguf --seed 7 --threads 3
    same "$name from a file" want file
    run f32 $name-f32.gguf --seed 7
    same "$name in f32" want f32
    run other "$model" --seed 8
    cmp -s want other && fail "$name: two seeds, one text"
    gets /dev/null "$hone" logits --overwrite "$model" --tokens 3,1,4,1,5,9,2,6 --out a.npy --threads 1
    gets /dev/null "$hone" logits --overwrite $name-f32.gguf --tokens 3,1,4,1,5,9,2,6 --out b.npy --threads 3
    same "$name: logits" a.npy b.npy
done
gets /dev/null "$hone" new --overwrite qwen3 new.gguf width=64 heads=4 kv_heads=2 layers=2 context=131072 --seed 3
cp new.gguf copy.gguf
run want new.gguf --threads 1
run copy copy.gguf --threads 3
same "a copy" want copy
run greedy new.gguf --temperature 0
run greedy_again new.gguf --temperature 0 --seed 9
same "the likeliest, whatever the seed" greedy greedy_again
run f16 new.gguf --cache f16 --threads 1
run f16_three new.gguf --cache f16 --threads 3
same "a cache in f16" f16 f16_three

# Where the prompt comes from.
printf 'Once upon' >prompt
gets a "$hone" run new.gguf -f prompt -n 24 --ids --quiet --ignore-end
same "a prompt in a file" want a
"$hone" run new.gguf -f - -n 24 --ids --quiet --ignore-end <prompt >a 2>err || fail "-f -: $(cat err)"
same "a prompt in standard input" want a
"$hone" run new.gguf -n 24 --ids --quiet --ignore-end <prompt >a 2>err || fail "stdin: $(cat err)"
same "a prompt in standard input, by default" want a
gets a "$hone" tokenize new.gguf --ids 'Once upon'
gets text "$hone" run new.gguf -p 'Once upon' -n 24 --quiet --ignore-end
[ "$(wc -c <text)" -gt 24 ] || fail "no text: $(cat text)"
passes

# Ids beyond the tokenizer's, of a vocabulary that is padded, have no text.
gets text "$hone" run $models/llama -p x -n 5 --quiet --logit-bias 330=1000
[ "$(cat text)" = "" ] || fail "a padded vocabulary: $(cat text)"
passes

# Where it ends. 257 is <|im_end|>.
gets a "$hone" run new.gguf -p x -n 5 --ids --quiet --logit-bias 257=1000
[ "$(cat a)" = "" ] || fail "it goes on after its end: $(cat a)"
passes
gets a "$hone" run new.gguf -p x -n 5 --ids --quiet --logit-bias 257=1000 --ignore-end
[ "$(cat a)" = "257 257 257 257 257" ] || fail "it does not ignore its end: $(cat a)"
passes
gets a "$hone" run new.gguf -p x -n 5 --ids --quiet --logit-bias 65=1000 --logit-bias 66=2000
[ "$(cat a)" = "66 66 66 66 66" ] || fail "two biases: $(cat a)"
passes
gets a "$hone" run new.gguf -p xxxx -n 99 --ids --quiet --context 10 --ignore-end
[ "$(wc -w <a)" -eq 6 ] || fail "a context of 10, 4 of them the prompt: $(cat a)"
passes

# Guesses: the same text, and its figures tell how many were right.
for t in 0 0.7 1.5; do
    tiny() { # tiny FILE OPTIONS...
        file=$1
        shift
        gets "$file" "$hone" run hone:tiny -p 'The cat sat on the mat. The dog sat on the mat. The cat sat' -n 60 --ids --ignore-end \
            --temperature $t --seed 3 --repetition 1.1 "$@"
    }
    tiny want
    grep -q guessed err && fail "guesses of nobody: $(cat err)"
    tiny a --draft-ngram 4
    same "n-grams at $t" want a
    grep -q '; guessed [1-9][0-9]*, [0-9]* right; f32$' err || fail "no figures: $(cat err)"
    tiny a --draft hone:tiny --draft-max 5 --session guessed-$t.hone
    same "by itself at $t" want a
    grep -q 'guessed [1-9][0-9]*, [1-9][0-9]* right' err || fail "never right by itself: $(cat err)"
    tiny a --draft hone:tiny --draft-numerics int8 --draft-max 3
    same "in other numerics at $t" want a
    tiny a --draft hone:tiny --draft-ngram 2 --session guessed-$t.hone
    same "from a session at $t" want a
done
gets table "$hone" bench hone:tiny --drafts "$models/../../bench/prompts/drafts.jsonl" --generate 12 --repeat 1 --draft hone:tiny --draft-ngram 3 \
    --json table.json --threads 1
for kind in code repeated chat story; do
    [ "$(grep -c "^$kind .* [0-9]* % " table)" -eq 8 ] || { cat table; fail "bench: not every way of $kind"; }
    passes
done
[ "$(grep -o '"times_plain"' table.json | wc -l)" -eq 32 ] || fail "bench: not every line in JSON"
passes
# Sequences together.
gets table "$hone" bench hone:tiny --batches 1,2,4 --generate 4 --repeat 2 --prompt 5 --threads 1 --numerics int8 --json batches.json
grep -q 'median of 2, processor time, int8$' table || fail "bench: no mode: $(cat table)"
for many in 1 2 4; do
    [ "$(grep -cE "^ +$many +[0-9.]+ +[0-9.]+ +[0-9.]+$" table)" -eq 1 ] || { cat table; fail "bench: no line of $many sequences"; }
    grep -q "\"sequences\":$many," batches.json || fail "bench: no $many sequences in JSON: $(cat batches.json)"
    passes
done
refuses 2 "expected one length of prompts" "$hone" bench hone:tiny --batches 2 --prompt 3,4
refuses 2 "batches 2,x: expected" "$hone" bench hone:tiny --batches 2,x
refuses 2 "kernels: expected a model" "$hone" bench kernels --batches 2
refuses 2 "neither --beside nor --drafts" "$hone" bench hone:tiny --batches 2 --drafts prompt
refuses 2 "--draft-numerics int8: expected --draft" "$hone" run hone:tiny -p x --draft-ngram 3 --draft-numerics int8
refuses 2 "" "$hone" run hone:tiny -p x --draft hone:tiny --draft-numerics f31
refuses 2 "expected --drafts" "$hone" bench hone:tiny --draft hone:tiny
refuses 2 "neither --beside nor --prompt" "$hone" bench hone:tiny --drafts prompt --prompt 5
refuses 2 "kernels: expected a model" "$hone" bench kernels --drafts prompt
refuses 1 "prompt: " "$hone" bench hone:tiny --drafts prompt
refuses 2 "--draft-max 4: expected --draft" "$hone" run hone:tiny -p x --draft-max 4
refuses 2 "the draft model new.gguf: expected the 4789 tokens of hone:tiny" "$hone" run hone:tiny -p x --draft new.gguf
refuses 1 "nowhere" "$hone" run hone:tiny -p x --draft nowhere

# Ctrl-C: what came until then stays, its line ends, and the status tells.
env --default-signal=INT "$hone" run new.gguf -p x -n 99999 --context 100000 --ids --ignore-end --threads 1 >out 2>err &
job=$!
until [ -s out ] || ! kill -0 $job 2>/dev/null; do sleep 0.02; done
kill -INT $job
wait $job
[ $? -eq 130 ] && grep -q interrupted err && [ -s out ] && [ "$(tail -c 1 out)" = "" ] || { cat err; fail "Ctrl-C"; }
passes

# Perplexity: the same at any number of threads, and no distance from itself.
i=0
while [ $i -lt 60 ]; do echo "line $i: the quick brown fox"; i=$((i + 1)); done >text
gets one "$hone" perplexity new.gguf text --chunk 64 --json --threads 1 --save one.safetensors
gets three "$hone" perplexity copy.gguf text --chunk 64 --json --threads 3 --save three.safetensors
same "perplexity at 3 threads" one three
same "saved logits" one.safetensors three.safetensors
judged=$(sed -n 's/.*"tokens": *\([0-9]*\).*/\1/p' one)
[ "$judged" -gt 0 ] && [ $((judged % 32)) -eq 0 ] || fail "of chunks of 64, 32 each are judged: $judged in all"
passes
gets against "$hone" perplexity new.gguf text --chunk 64 --json --against one.safetensors
grep -q '"kl": *-\{0,1\}0[,}]\|"kl": *-\{0,1\}0\.0[,}]' against && grep -q '"agreement": *1\(\.0\)\{0,1\}[,}]' against ||
    fail "against itself: $(cat against)"
passes
refuses 1 "its chunks are '64" "$hone" perplexity new.gguf text --chunk 32 --against one.safetensors
sed 's/"cut"/"cat"/' one.safetensors >uncut.safetensors
refuses 1 "it says nothing of its chunks" "$hone" perplexity new.gguf text --chunk 64 --against uncut.safetensors
gets /dev/null "$hone" perplexity $models/llama text --chunk 64 --save llama.safetensors
refuses 1 "" "$hone" perplexity new.gguf text --chunk 64 --against llama.safetensors
refuses 2 "" "$hone" perplexity new.gguf prompt --chunk 512
cp one.safetensors nan.safetensors
printf '\377\377\377\177' | dd of=nan.safetensors bs=1 seek=$((8 + $(od -An -tu8 -N8 one.safetensors))) conv=notrunc 2>/dev/null
refuses 1 "nan.safetensors: its logits of row 0 are not finite" "$hone" perplexity new.gguf text --chunk 64 --against nan.safetensors
# What is no text: of any other file a figure was given as well.
{ cat text; printf 'caf\351\n'; cat text; } >latin
for command in "perplexity new.gguf latin --chunk 64" "imatrix new.gguf latin --chunk 64 --out x.out" "perplexity new.gguf copy.gguf --chunk 64"; do
    refuses 1 "expected text in UTF-8, found byte 0x" "$hone" $command
    [ ! -e x.out ] || fail "$command: x.out is there"
done
{ cat text; printf 'a\000b'; cat text; } >null
gets /dev/null "$hone" perplexity new.gguf null --chunk 64

gets /dev/null "$hone" imatrix --overwrite new.gguf text --chunk 64 --out one.gguf --threads 1
gets /dev/null "$hone" imatrix --overwrite copy.gguf text --chunk 64 --out three.gguf --threads 3
same "imatrix at 3 threads" one.gguf three.gguf

# Refusals name what is wrong, and leave no file behind.
refuses 2 "token 1 is 99999" "$hone" logits --overwrite new.gguf --tokens 1,99999 --out x.npy
refuses 2 "token 0 is -1" "$hone" logits --overwrite new.gguf --tokens -1 --out x.npy
refuses 2 "expected integers" "$hone" logits --overwrite new.gguf --tokens 1,,2 --out x.npy
refuses 2 "no tokens" "$hone" run new.gguf -p ''
refuses 2 "no tokens" "$hone" run new.gguf
refuses 2 "10 tokens" "$hone" run new.gguf -p 0123456789 --context 9
refuses 2 "was made for 131072" "$hone" run new.gguf -p x --context 131073
refuses 2 "and not both" "$hone" run new.gguf -p x -f prompt
refuses 2 "--json-schema, --regex and --grammar" "$hone" run new.gguf -p x --regex a --grammar b
refuses 2 "--ignore-end, and a grammar" "$hone" run new.gguf -p x --regex a --ignore-end
refuses 2 "logit-bias 5" "$hone" run new.gguf -p x --logit-bias 5
refuses 2 "logit-bias 5=x" "$hone" run new.gguf -p x --logit-bias 5=x
refuses 2 "logit bias of token 512" "$hone" run new.gguf -p x --logit-bias 512=1
refuses 2 "top_p" "$hone" run new.gguf -p x --top-p 1.5
refuses 2 "expected f32, f16, bf16, q8_0 or q4_0" "$hone" run new.gguf -p x --cache i32
refuses 1 "missing.gguf" "$hone" run missing.gguf -p x
refuses 1 "bert" "$hone" run $models/bert -p x
LC_ALL=C sed 's/qwen3/qwxn3/' new.gguf >bad.gguf
refuses 1 "qwxn3" "$hone" run bad.gguf -p x
LC_ALL=C sed 's/blk\.1\.attn_q\.weight/blk.1.attn_x.weight/' new.gguf >bad.gguf
refuses 1 "blk.1.attn_q.weight" "$hone" run bad.gguf -p x
head -c 40000 new.gguf >bad.gguf
refuses 1 "bad.gguf" "$hone" run bad.gguf -p x
refuses 1 "text" "$hone" run text -p x
refuses 1 "nowhere" "$hone" logits --overwrite new.gguf --tokens 1 --out nowhere/x.npy
refuses 1 "nowhere" "$hone" perplexity new.gguf text --chunk 64 --save nowhere/x
refuses 1 "nowhere" "$hone" imatrix --overwrite new.gguf text --chunk 64 --out nowhere/x
for command in "logits new.gguf --tokens-file ids.npy --out x.out" "perplexity new.gguf text --chunk 64 --save x.out" \
    "imatrix new.gguf text --chunk 64 --out x.out"; do
    [ -f ids.npy ] || { # 64 zeros, i32
        printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': (64,), }"
        head -c 256 /dev/zero
    } >ids.npy
    # shellcheck disable=SC2086
    (ulimit -f 1; exec "$hone" $command) >out 2>err </dev/null
    [ $? -eq 1 ] && grep -q x.out err || { cat out err; fail "$command on a full disk"; }
    ls x.* >/dev/null 2>&1 && fail "$command leaves $(ls x.*)"
    passes
done

# Weights in panels and weights where they are mapped say the same: rows in pairs, blocks, experts.
for type in f32 f16 bf16 q8_0; do
    for model in llama llama-tied mixtral; do
        gets out "$hone" convert --overwrite "$models/$model" panels.gguf --type $type
        gets packed "$hone" run panels.gguf -p "a text" -n 48 --temperature 0
        gets mapped "$hone" run panels.gguf -p "a text" -n 48 --temperature 0 --mapped
        same "panels of $model in $type" packed mapped
    done
done
echo "$n passed, 0 failed, 0 skipped"
