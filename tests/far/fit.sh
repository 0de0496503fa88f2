#!/bin/sh
# far/fit.sh BUILD: a model with experts over devices of which some have memory of their own, so much and no more: by
# number, by memory, experts apart. Whatever lies where, the bits are those of cpu; what a device takes is what the plan said.
set -u
hone=$1/tests/far/hone
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export HN_TEST_DEVICES=cpu
export HN_ISA_MASK=avxvnni+avx512vnni+avx512bf16+neon # but a matrix unit, whose squares take a megabyte: what a far has is tight
n=0
fail() { echo "FAILED: $*"; [ -f log ] && tail -n 5 log; exit 1; }
passes() { n=$((n + 1)); }
count() { cut -d ' ' -f "$1" counts; } # 1: calls on far, 5: on the host in its place
peak() { sed -n 's/.*place, \([0-9]*\) bytes.*/\1/p' counts; }
read_back() { sed -n 's/.* \([0-9]*\) read$/\1/p' counts; }
on() { # on MEMORY COMMAND...: with that much on each far; what far did is in `counts`
    : >counts
    if [ "$1" = - ]; then unset HN_FAR_MEMORY; else export HN_FAR_MEMORY="$1"; fi
    shift
    HN_FAR_COUNTS=counts "$@" >log 2>&1
}
refuses() { # refuses STATUS MEMORY WORDS COMMAND...
    status=$1 memory=$2 words=$3
    shift 3
    on "$memory" "$@"
    got=$?
    [ "$got" -eq "$status" ] || fail "$*: status $got, expected $status"
    grep -q -- "$words" log || fail "$*: the message lacks '$words'"
    passes
}

new="--seed 1 vocab=300 width=64 heads=4 ffn=96"
# shellcheck disable=SC2086
"$hone" new --overwrite qwen3moe m.gguf layers=6 experts=4 used=2 expert_ffn=32 $new >log 2>&1 &&
    "$hone" quantize m.gguf q.gguf q8_0 >log 2>&1 && "$hone" new llama dense.gguf layers=2 $new >log 2>&1 || fail "models"
for i in 1 2 3 4 5 6 7 8; do echo '{"prompt": "question '$i'", "completion": " answer '$i$i'"}'; done >d.jsonl

# ---- the same bits wherever layers and experts lie ----
logits() { # logits MEMORY FILE OPTIONS...
    memory=$1 file=$2
    shift 2
    on "$memory" "$hone" logits --overwrite m.gguf --tokens 3,4,5,6,7 --out "$file" "$@"
}
run() { # run MEMORY FILE OPTIONS...
    memory=$1 file=$2
    shift 2
    on "$memory" "$hone" run q.gguf -p 'Once upon' -n 24 --context 128 --ids --quiet --ignore-end "$@" && cp log "$file"
}
train() { # train MEMORY FOLDER OPTIONS...
    memory=$1 folder=$2
    shift 2
    rm -rf "$folder"
    on "$memory" "$hone" train q.gguf --data d.jsonl --plain --held-fraction 0.2 --eval-every 2 --steps 3 --batch 4 --rank 4 \
        --targets attn,experts --threads 1 --samples 1 --out "$folder" "$@"
}
logits - cpu.npy || fail logits
run - cpu.ids || fail run
train - cpu || fail train
try() { # try MEMORY OPTIONS...
    memory=$1
    shift
    logits "$memory" own.npy "$@" || fail "logits $* with $memory"
    cmp -s own.npy cpu.npy || fail "logits differ: $* with $memory"
    run "$memory" own.ids "$@" || fail "run $* with $memory"
    cmp -s own.ids cpu.ids || fail "the text differs: $* with $memory"
    [ "${2:-}" = --fit ] || [ "$(count 1)" -gt 0 ] || fail "nothing ran on far: run $*"
    train "$memory" own "$@" || fail "train $* with $memory"
    cmp -s own/adapter.gguf cpu/adapter.gguf || fail "the adapter differs: $* with $memory"
    [ "$(count 1)" -gt 0 ] || fail "nothing ran on far: train $*"
    [ "$(count 5)" -eq 0 ] || fail "$(count 5) calls on the host in far's place: train $*"
    passes
}
for devices in far,cpu far,far cpu,far; do
    try - --device $devices
done
for devices in far far,cpu far,far; do
    try - --device $devices --experts cpu
done
try - --device cpu,far --experts far1
try 4500000 --device far,cpu --fit
try 5000000 --device far,far --fit
try 5000000,3000000 --device far,far,cpu --fit --experts cpu

for devices in far far,cpu far,far; do
    try - --device $devices --stream
done
try - --device far --stream --experts cpu

# ---- more weights than a device has memory: they are sent there, two layers' at a time ----
# shellcheck disable=SC2086
"$hone" new llama big.gguf layers=8 ffn=1024 --seed 1 vocab=300 width=64 heads=4 >log 2>&1 || fail "a model of 6.5 MiB"
big() { # big MEMORY FILE OPTIONS...
    memory=$1 file=$2
    shift 2
    on "$memory" "$hone" logits --overwrite big.gguf --tokens 3,4,5 --out "$file" "$@"
}
big - big.npy || fail "big.gguf"
big - own.npy --device far || fail "big.gguf on far"
all=$(count 1)
for memory in 3300000 4500000 6500000; do
    big $memory own.npy --device far --fit || fail "big.gguf with $memory bytes"
    cmp -s own.npy big.npy || fail "big.gguf with $memory bytes: the logits differ"
    [ "$(count 1)" -eq "$all" ] && [ "$(count 5)" -eq 0 ] || fail "with $memory bytes: $(count 1) of $all calls on far"
    passes
done
on - "$hone" plan big.gguf --device far --stream --of token --context 64 --steps || fail "plan"
ahead=$(sed '/linear#/,$d' log | grep -c 'copy between devices .*@far')
[ "$ahead" -eq 14 ] || fail "$ahead matrices were sent before the first product: those of two layers are 14"
[ "$(grep -c 'copy between devices .*@far' log)" -eq 56 ] || fail "not each of 56 matrices once"
passes
on - "$hone" plan big.gguf --device far --stream --of training --targets attn --micro-tokens 8 --steps || fail "plan"
sent=$(grep -c 'copy between devices .*f32\[1024,64\]' log)
[ "$sent" -ge 28 ] || fail "$sent of layers' matrices were sent, there and back"
passes

# ---- what a plan says is what is taken, to the byte ----
logits - own.npy --device far || fail "logits on far"
whole=$(peak) all=$(count 1)
logits "$whole" own.npy --device far,cpu --fit || fail "logits with all that it takes"
[ "$(count 1)" -eq "$all" ] || fail "$whole bytes are enough for all of it, and $(count 1) of $all calls ran on far"
passes
logits $((whole - 1)) own.npy --device far,cpu --fit || fail "logits with a byte less"
[ "$(count 1)" -lt "$all" ] && [ "$(count 1)" -gt 0 ] || fail "a byte less, and $(count 1) of $all calls ran on far"
[ "$(peak)" -lt "$whole" ] || fail "a byte less, and $(peak) of $whole bytes were taken"
cmp -s own.npy cpu.npy || fail "a byte less, and the logits differ"
passes
train - own --device far || fail "train on far"
whole=$(peak) all=$(count 1)
train "$whole" own --device far,cpu --fit || fail "train with all that it takes"
[ "$(count 1)" -eq "$all" ] || fail "$whole bytes are enough to train, and $(count 1) of $all calls ran on far"
passes
train $((whole - 1)) own --device far,cpu --fit || fail "train with a byte less"
[ "$(count 1)" -lt "$all" ] || fail "a byte less, and all of it was trained on far"
cmp -s own/adapter.gguf cpu/adapter.gguf || fail "a byte less, and the adapter differs"
passes

# ---- a weight that the host reads in far's place crosses once, packed or mapped, and not in every run ----
for off in linear linear_id gather linear,linear_id,gather,rms_norm; do
    for way in "" --mapped; do
        export HN_FAR_OFF=$off
        # shellcheck disable=SC2086
        on - "$hone" run q.gguf -p 'Once upon' -n 8 --context 128 --ids --quiet --ignore-end --device far $way || fail "without $off"
        few=$(read_back)
        # shellcheck disable=SC2086
        run - own.ids --device far $way || fail "without $off $way"
        unset HN_FAR_OFF
        cmp -s own.ids cpu.ids || fail "the text differs without $off $way"
        [ "$(count 5)" -gt 0 ] || fail "nothing ran on the host without $off $way"
        [ $(($(read_back) - few)) -lt 300000 ] || fail "16 tokens more, and $(($(read_back) - few)) bytes more were read without $off $way"
        passes
    done
done

# ---- what does not fit is refused by name, before anything is made ----
for command in "logits --overwrite m.gguf --tokens 3,4 --out own.npy" "run m.gguf -p x -n 2 --quiet"; do
    # shellcheck disable=SC2086
    refuses 1 1000 'far: layers 0 to 5 need [0-9]* bytes (weights [1-9][0-9]*, .* and 1000 are available' "$hone" $command \
        --device far --fit
    [ "$(peak)" -eq 0 ] || fail "$(peak) bytes were taken all the same"
done
refuses 1 900000 'far1: layers [0-9] to 5 need' "$hone" run m.gguf -p x -n 2 --quiet --device far,far --fit
refuses 1 900000 'far1: layers [0-9] to 5 need' "$hone" train q.gguf --data d.jsonl --plain --steps 1 --out no --device far,far --fit
[ ! -e no/adapter.gguf ] || fail "an adapter all the same"
refuses 2 - 'the model has no experts' "$hone" logits --overwrite dense.gguf --tokens 3 --out own.npy --experts cpu
refuses 2 - "experts on 'gpu': expected a device of the list" "$hone" logits --overwrite m.gguf --tokens 3 --out own.npy --experts gpu

# ---- and shown ----
cell() { sed -n "s/^  $1  *//p" log | tr -s ' ' | cut -d ' ' -f "$2"; }
on 1300000 "$hone" plan m.gguf --of token --device far,cpu --fit --context 128 --threads 1 --isa ref || fail plan
[ "$(cell far 1)" = 0-1 ] && [ "$(cell cpu1 1)" = 2-5 ] || fail "layers: $(cell far 1) and $(cell cpu1 1)"
[ "$(peak)" -eq 0 ] || fail "planning took $(peak) bytes of far"
passes
on 4000000 "$hone" plan big.gguf --of token --device far --fit --context 64 --threads 1 || fail plan
[ "$(cell far 1)" = 0-7 ] && [ "$(cell far 2)" -gt 0 ] && [ "$(cell far 2)" -lt 8 ] || fail "streamed: $(cell far 2)"
passes
on - "$hone" plan m.gguf --of token --device far --experts cpu --context 128 || fail plan
[ "$(cell far 1)" = 0-5 ] && [ "$(cell cpu1 1)" = - ] && [ "$(cell cpu1 2)" = 576.00 ] || fail "experts"
passes
echo "$n passed"
