#!/bin/sh
# files.sh BUILD SOURCE: model files from the command line: made, looked at, converted, quantised,
# refused; the same bytes whatever the number of threads.
set -u
build=$1 source=$2
hone=$build/hone
models=$source/tests/differential/models
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
run() { # run COMMAND...: succeeds
    "$@" >out 2>err || { cat out err; fail "$*: status $?"; }
    n=$((n + 1))
}
refuses() { # refuses STATUS WORDS COMMAND...
    status=$1 words=$2
    shift 2
    "$@" >out 2>err
    got=$?
    [ "$got" -eq "$status" ] || { cat out err; fail "$*: status $got, expected $status"; }
    grep -q -- "$words" err || { cat err; fail "$*: the message lacks '$words'"; }
    n=$((n + 1))
}
same() { cmp -s "$1" "$2" || fail "$3"; n=$((n + 1)); }
other() { cmp -s "$1" "$2" && fail "$3"; n=$((n + 1)); }
equal="layers=1 width=256 ffn=512 heads=4 vocab=320" # as many key heads, where the architecture says so
shape="$equal kv_heads=2"

# The same seed, the same bytes.
types="f32 f16 bf16 q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k_m q4_k_m q5_k_m q6_k iq4_nl iq4_xs tq1_0 tq2_0 mxfp4 nvfp4"
for type in $types; do
    run "$hone" new --overwrite qwen3 one.gguf $shape --type "$type" --threads 1
    for threads in 2 3 8; do
        run "$hone" new --overwrite qwen3 more.gguf $shape --type "$type" --threads $threads
        same one.gguf more.gguf "$type: $threads threads, other bytes"
    done
    run "$hone" new --overwrite qwen3 more.gguf $shape --type "$type" --seed 1
    other one.gguf more.gguf "$type: another seed, the same bytes"
    run "$hone" inspect one.gguf
done
for arch in llama qwen2 qwen3moe gemma2 gemma3 gemma3n gemma4 gpt-oss gpt2 phi3 olmoe smollm3 granite granitemoe \
    bert; do
    keys=$shape
    case $arch in gpt2 | bert) keys=$equal ;; esac
    run "$hone" new --overwrite $arch one.gguf $keys --threads 1
    run "$hone" new --overwrite $arch more.gguf $keys --threads 3
    same one.gguf more.gguf "$arch: 3 threads, other bytes"
    run "$hone" inspect one.gguf --json --tensors
done

# What is set is what the model has.
for arch in llama qwen3moe gemma2 gemma3 gemma4 gpt-oss granite; do
    run "$hone" new --overwrite $arch one.gguf $shape
    run "$hone" new --overwrite $arch more.gguf $shape rope.freq_base=500 attention.layer_norm_rms_epsilon=0.001
    other one.gguf more.gguf "$arch: keys that change nothing"
done
refuses 2 "given twice" "$hone" new --overwrite llama one.gguf width=64 width=128
refuses 2 "takes this from other keys" "$hone" new --overwrite gpt2 one.gguf $shape

# Converting and quantising, too.
for type in bf16 q4_k_m; do
    run "$hone" convert --overwrite "$models/llama" one.gguf --type $type --threads 1
    run "$hone" convert --overwrite "$models/llama" more.gguf --type $type --threads 3
    same one.gguf more.gguf "convert to $type: 3 threads, other bytes"
done
run "$hone" new --overwrite llama base.gguf $shape --type bf16
run "$hone" quantize --overwrite base.gguf one.gguf q4_k_m --threads 1
run "$hone" quantize --overwrite base.gguf more.gguf q4_k_m --threads 3
same one.gguf more.gguf "quantize: 3 threads, other bytes"
refuses 1 "loses twice" "$hone" quantize --overwrite one.gguf more.gguf q2_k
run "$hone" quantize --overwrite one.gguf more.gguf q2_k --requantize
refuses 2 "is not known" "$hone" quantize --overwrite base.gguf more.gguf q4_9

# It says what it did: by kind of tensor, and where rows did not fit; never that nothing became what was asked for.
says() { # PATTERN: a line of the last command's output
    grep -Eq -- "$1" out || { cat out; fail "no line matches '$1'"; }
    n=$((n + 1))
}
run "$hone" new --overwrite qwen3moe wide.gguf layers=4 width=256 heads=4 kv_heads=2 head_dim=64 expert_ffn=256 experts=4 used=2
run "$hone" quantize --overwrite wide.gguf more.gguf q4_k_m
says '^embedding +1 +512.00 KiB -> +72.00 KiB +4.50  1 q4_k$'
says '^attention +16 +3.00 MiB -> +448.50 KiB +4.67  14 q4_k, 2 q6_k$'
says '^experts +12 +12.00 MiB -> +1.82 MiB +4.84  10 q4_k, 2 q6_k$'
says '^head +1 .* 6.56  1 q6_k$'
says '^norms, biases +17 .* 32.00  17 f32$'
says '^other +4 .* 32.00  4 f32$'
says '^all +51 +16.03 MiB -> +2.45 MiB +4.90$'
grep -Eq 'multiple|no tensor' out err && fail "rows of 256 do not fit blocks of 256"
run "$hone" new --overwrite llama narrow.gguf layers=2 width=96 heads=2 kv_heads=1 head_dim=48 ffn=96
run "$hone" quantize --overwrite narrow.gguf more.gguf q4_k_m
says '^13 tensors have rows of 96, no multiple of the 256 in a block of q4_k: q5_0 \(token_embd.weight, ...\)$'
says '^3 tensors have rows of 96, no multiple of the 256 in a block of q6_k: q8_0 '
grep -q 'no tensor is q4_k, which was asked for' err || fail "nothing is q4_k, and nothing is said"
run "$hone" quantize --overwrite narrow.gguf more.gguf q4_0
grep -q 'no tensor is' err && fail "tensors are q4_0, and it is denied"
run "$hone" new --overwrite llama odd.gguf layers=1 width=40 heads=2 kv_heads=1 head_dim=20 ffn=40 --type f16
rm -f none.gguf
refuses 1 'no tensor of it can be q4_k, and none would change' "$hone" quantize odd.gguf none.gguf q4_k_m
[ ! -e none.gguf ] || fail "a file that nobody asked for"

# A file in place of the one it is made from: never.
cp base.gguf self.gguf
refuses 2 "self.gguf: is an input" "$hone" quantize --overwrite self.gguf self.gguf q8_0
same base.gguf self.gguf "quantize in place: the input has other bytes"

# Adapters.
for model in llama qwen3 gemma3 llama-tied; do
    run "$hone" import --overwrite "$source/tests/differential/adapters/$model" a.gguf --base "$models/$model" --name A
    run "$hone" export --overwrite a.gguf --peft peft --base "$models/$model"
    run "$hone" import --overwrite peft b.gguf --base "$models/$model" --name A
    same a.gguf b.gguf "$model: an adapter exported and imported has other bytes"
    run "$hone" inspect a.gguf
done
run "$hone" convert --overwrite "$models/llama" base.gguf
run "$hone" import --overwrite "$source/tests/differential/adapters/llama" a.gguf --base base.gguf --name A
run "$hone" import --overwrite "$source/tests/differential/adapters/llama" b.gguf --base "$models/llama" --name A
same a.gguf b.gguf "an adapter for a GGUF base has other bytes"
refuses 2 "expected --base" "$hone" import --overwrite peft a.gguf
refuses 1 "has no place for it" "$hone" import --overwrite "$source/tests/differential/adapters/llama" no.gguf --base "$models/gpt2"
refuses 1 "general.type" "$hone" export --overwrite base.gguf --peft no --base "$models/llama"

# What is no model, and what is only half of one.
head -c 3000 base.gguf >half.gguf
refuses 1 "half.gguf: cut off" "$hone" inspect half.gguf
head -c 200000 base.gguf >half.gguf
echo '<!DOCTYPE html>' >page.gguf
refuses 1 "page.gguf: expected a GGUF file, found an HTML page" "$hone" inspect page.gguf
refuses 1 "none.gguf: No such file" "$hone" inspect none.gguf
refuses 1 "no config.json" "$hone" inspect "$dir"
refuses 1 "/nowhere/x.gguf" "$hone" new --overwrite llama /nowhere/x.gguf $shape
refuses 2 "heads over" "$hone" new --overwrite llama no.gguf $shape heads=3
(
    ulimit -f 100
    refuses 1 "no.gguf" "$hone" new --overwrite llama no.gguf $shape
    [ ! -e no.gguf ] && [ ! -e no.gguf.partial-* ] || fail "a file is left"
) || exit 1
[ ! -e no.gguf ] || fail "no.gguf is there"

run "$build/tests/conformance/gguf_large" --hone "$hone"
cat out
# What weights are for, and how many of them a token meets, a directory says as the GGUF of it does; that alone has constants.
uses() { # FILE: use and parameters, without those constants
    run "$hone" inspect "$1" --json
    tr '}' '\n' <out | sed -n 's/.*"\([a-z-]*\)":{"tensors":[0-9]*,"parameters":\([0-9]*\),.*/\1 \2/p' | grep '^[a-z]' | grep -v other
    active=$(sed -n 's/.*"active_parameters":\([0-9]*\),.*/\1/p' out) other=$(sed -n 's/.*"other":{"tensors":[0-9]*,"parameters":\([0-9]*\),.*/\1/p' out)
    echo "active $((active - ${other:-0}))"
}
for model in "$models"/*; do
    case $model in */bert) continue ;; esac # whose kinds of sentences GGUF's has one of
    run "$hone" convert "$model" u.gguf --overwrite
    uses "$model" >directory
    uses u.gguf >gguf
    grep -q '^active' directory && grep -q '^embedding' directory && same directory gguf "$model: uses of weights differ"
done
# What a file says of itself is shown, not obeyed.
run "$hone" new --overwrite llama esc.gguf $shape --name "$(printf 'a\033[31mred\007')"
run "$hone" inspect esc.gguf --tensors --keys
[ "$(tr -d -c '\033\007' <out | wc -c)" -eq 0 ] && grep -q 'a.*\[31mred' out || fail "inspect passes escapes on"
n=$((n + 1))
echo "$n passed, 0 failed, 0 skipped"
