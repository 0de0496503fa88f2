#!/bin/sh
# make.sh HONE FOLDER [OPTION...]: the embedded model, from nothing, in FOLDER: stories, a
# tokenizer of their words, random weights, training, quantising. The same bits every time, on
# every machine. Options go to hone train; with --resume it goes on.
set -e
hone=$1 folder=$2 recipe=$(cd "$(dirname "$0")" && pwd)
shift 2
mkdir -p "$folder"
cd "$folder"

# Seed 1 is trained on; seed 99 is held out and its first stories judge.
[ -f train.jsonl ] || "$hone" story --seed 1 --count 144000 --out train.jsonl
[ -f held.jsonl ] || "$hone" story --seed 99 --count 256 --out held.jsonl
"$hone" story --overwrite --seed 1 --count 20000 --out words.txt
"$hone" new-tokenizer --overwrite tokenizer.gguf words.txt --vocab 4864
"$hone" new --overwrite qwen3moe random.gguf --tokenizer tokenizer.gguf --name hone-tiny --seed 1 --first spread --copies \
    layers=3 width=128 heads=8 kv_heads=8 head_dim=64 experts=8 used=2 expert_ffn=128 context=512 tied=true \
    rope.freq_base=10000
"$hone" train "$recipe/run.toml" --out run "$@"
"$hone" quantize --overwrite run/model.gguf hone-tiny.gguf q8_0
sha256sum -c "$recipe/SHA256" # the committed ones
