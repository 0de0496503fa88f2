#!/bin/sh
# judge.sh HONE MODEL FOLDER [NEED]: what the embedded model must do, of a model and the folder of
# make.sh: NEED (90) of 100 stories sampled at temperature 0.7 hold together, and none has 20 words in a
# row of the training text.
set -e
hone=$1 model=$2 folder=$3 need=${4:-90}
: >"$folder/sampled.txt"
for seed in $(seq 1 100); do
    "$hone" run "$model" --temperature 0.7 --top-k 0 --top-p 1 --min-p 0 --seed "$seed" --count 300 \
        --quiet -p '' | sed 's/^ *//' >>"$folder/sampled.txt"
    echo >>"$folder/sampled.txt"
done
"$hone" story --check "$folder/sampled.txt" --need "$need" --against "$folder/train.jsonl"
