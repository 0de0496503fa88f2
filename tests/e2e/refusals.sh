#!/bin/sh
# refusals.sh BUILD SOURCE: what is wrong with a model, a prompt or a disk is named, with one line and a status, by
# every command that meets it; nothing is left behind.
set -u
export LC_ALL=C
hone=$1/hone
models=$2/tests/differential/models
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
refuses() { # refuses STATUS WORDS COMMAND...: one line that has all of the words, which are separated by |
    status=$1 words=$2
    shift 2
    "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$status" ] || { cat out err; fail "$*: status $got, expected $status"; }
    [ "$(grep -c '^hone [a-z]*: ' err)" -eq 1 ] || { cat err; fail "$*: expected one line"; }
    rest=$words
    while [ -n "$rest" ]; do
        word=${rest%%|*}
        grep '^hone [a-z]*: ' err | grep -qF -- "$word" || { cat err; fail "$*: the message lacks '$word'"; }
        case $rest in *\|*) rest=${rest#*|} ;; *) rest="" ;; esac
    done
    n=$((n + 1))
}
everyone() { # everyone STATUS WORDS MODEL: all commands that run a model
    refuses "$1" "$2" "$hone" run "$3" -p x -n 1
    refuses "$1" "$2" "$hone" logits "$3" --tokens 1,2 --out x.npy
    refuses "$1" "$2" "$hone" perplexity "$3" text --chunk 16
    refuses "$1" "$2" "$hone" bench "$3" --prompt 8 --generate 1 --repeat 1
    refuses "$1" "$2" "$hone" inspect "$3" --context 64
    [ ! -e x.npy ] || fail "$3: x.npy was left"
}
"$hone" new qwen3 --first spread m.gguf width=64 heads=4 kv_heads=2 layers=2 2>/dev/null || fail "hone new"
i=0
while [ $i -lt 20 ]; do echo "line $i of a text"; i=$((i + 1)); done >text

# Files that are not there, or no files, or not whole, or none of ours.
everyone 1 "nowhere.gguf|No such file" nowhere.gguf
: >empty.gguf
everyone 1 "empty.gguf" empty.gguf
echo 'this is no model' >words.gguf
everyone 1 "words.gguf" words.gguf
head -c 30000 m.gguf >cut.gguf
everyone 1 "cut.gguf" cut.gguf
head -c $(($(wc -c <m.gguf) - 10)) m.gguf >cut.gguf
everyone 1 "cut.gguf|end" cut.gguf
mkdir hollow
everyone 1 "hollow" hollow
cp m.gguf closed.gguf
chmod 000 closed.gguf
[ "$(id -u)" -eq 0 ] || everyone 1 "closed.gguf|ermission" closed.gguf

# A tensor that is missing, and one that has no place.
sed 's/blk\.1\.ffn_up\.weight/blk.1.ffn_no.weight/' m.gguf >missing.gguf
everyone 1 "missing.gguf|blk.1.ffn_" missing.gguf

# A type and an architecture that nobody knows. After a vector's name: rank (4 bytes), size (8), type.
at=$(grep -abo 'output_norm\.weight' m.gguf | head -n 1 | cut -d: -f1)
cp m.gguf type.gguf
printf '\147' | dd of=type.gguf bs=1 seek=$((at + 18 + 12)) conv=notrunc 2>dd.err
everyone 1 "type.gguf|output_norm.weight|103" type.gguf
sed 's/qwen3/qwenX/g' m.gguf >arch.gguf
refuses 1 "arch.gguf|qwenX" "$hone" run arch.gguf -p x -n 1
refuses 1 "arch.gguf|qwenX" "$hone" logits arch.gguf --tokens 1 --out x.npy

# Numbers that disagree with tensors; in a file the size follows the key's type (4 bytes).
cp m.gguf width.gguf
at=$(grep -abo 'qwen3\.feed_forward_length' m.gguf | head -n 1 | cut -d: -f1)
printf '\005\001' | dd of=width.gguf bs=1 seek=$((at + 25 + 4)) conv=notrunc 2>dd.err
everyone 1 "width.gguf|ffn_|261" width.gguf
copy_dir() { # copy_dir NAME KEY VALUE: a directory whose config.json says something else
    mkdir "$1" && cp $models/llama/* "$1" || exit 1
    sed "s/\"$2\": *[^,]*/\"$2\": $3/" $models/llama/config.json >"$1/config.json"
    cmp -s "$1/config.json" $models/llama/config.json && fail "$2 is not in config.json"
}
copy_dir shapes intermediate_size 77
everyone 1 "shapes|77" shapes
copy_dir vocabulary vocab_size 100
for command in "run vocabulary -p x" "perplexity vocabulary text --chunk 16" "chat vocabulary --template text"; do
    refuses 1 "expected [100,32], found [331,32]" "$hone" $command
done
copy_dir unknown model_type '"lorem"'
sed -i 's/LlamaForCausalLM/LoremForCausalLM/' unknown/config.json
everyone 1 "unknown|LoremForCausalLM" unknown
copy_dir heads num_attention_heads 7
everyone 1 "heads" heads

# A sequence that does not fit, and ids beyond the vocabulary.
refuses 2 "the prompt has 30 tokens|context of 30" "$hone" run m.gguf -p 012345678901234567890123456789 --context 30
refuses 2 "was made for 2048" "$hone" run m.gguf -p x --context 2049
refuses 2 "token 1 is 512|vocabulary has 512" "$hone" logits m.gguf --tokens 1,512 --out x.npy
refuses 2 "a chunk of 4096|was made for 2048" "$hone" perplexity m.gguf text --chunk 4096
refuses 2 "a chunk takes 2048" "$hone" perplexity m.gguf text --chunk 2048

# A disk that is full: nothing half is left, whatever was to be written.
for command in "logits m.gguf -p 0123456789 --out x.out" "perplexity m.gguf text --chunk 64 --save x.out" \
    "run m.gguf -p x -n 1 --session x.out" "new llama x.out" "quantize m.gguf x.out q8_0" \
    "convert $models/llama x.out" "imatrix m.gguf text --chunk 64 --out x.out"; do
    (ulimit -f 2; exec "$hone" $command) >out 2>err </dev/null
    [ $? -eq 1 ] && grep -q 'x.out' err || { cat out err; fail "$command on a full disk"; }
    [ ! -e x.out ] && [ ! -e x.out.partial-* ] || fail "$command: half a file is left"
    n=$((n + 1))
done
refuses 1 "nowhere/x.npy" "$hone" logits m.gguf --tokens 1 --out nowhere/x.npy
echo "$n passed, 0 failed, 0 skipped"
