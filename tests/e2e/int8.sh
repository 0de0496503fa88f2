#!/bin/sh
# hone in int8 numerics as a user meets it: the same bits whatever computes them, and what it is refused for: BUILD SOURCE
. "$2/tests/failures/cli.sh"
mixture moe.gguf
quietly "$hone" new llama wide.gguf layers=2 width=256 heads=4 kv_heads=2 ffn=512 vocab=300 --seed 3
quietly "$hone" quantize moe.gguf moe-q8.gguf q8_0
for type in q4_k_m q6_k q2_k_s iq4_xs tq1_0; do quietly "$hone" quantize wide.gguf "wide-$type.gguf" $type; done
logits() { # MODEL OPTIONS...
    model=$1
    shift
    quietly "$hone" logits "$model" --tokens 5,9,2,44,17,8,3,101,12,6,77,21 --out l.npy --overwrite "$@"
    sha256sum <l.npy
}
for model in moe-q8.gguf wide-q4_k_m.gguf wide-q6_k.gguf wide-q2_k_s.gguf wide-iq4_xs.gguf wide-tq1_0.gguf; do
    printf '{"prompt":"what is it?","completion":"a certificate of logits, in eight bits each."}\n' >p.jsonl
    shows ' 0 failed, 0 skipped' "$hone" prove $model --data p.jsonl --plain --numerics int8
    for kind in distance digest plans threads levels batches cuts; do
        grep -q "^$kind " out || fail "$model: prove has no $kind"
    done
    want=$(logits $model --numerics int8)
    [ "$want" != "$(logits $model)" ] || fail "$model: int8 has the logits of f32"
    for threads in 1 3; do is "$model, $threads threads" "$want" "$(logits $model --numerics int8 --threads $threads)"; done
    for level in $("$hone" devices --levels); do
        is "$model, $level" "$want" "$(logits $model --numerics int8 --isa "$level")"
    done
    for plan in reuse separate poison; do is "$model, plan $plan" "$want" "$(logits $model --numerics int8 --plan $plan)"; done
done

# Generation: packed and as the file lies, and gone on with from a session's file, which f32 may not.
quietly "$hone" tiny tiny.gguf
said() { quietly "$hone" run tiny.gguf --temperature 0 --count 12 --prompt "One day a small boy" "$@" && cat out; }
want=$(said --numerics int8)
is 'mapped' "$want" "$(said --numerics int8 --mapped)"
is 'leaving its keys' "$want" "$(said --numerics int8 --session s.hone)"
is 'taking them' "$want" "$(said --numerics int8 --session s.hone)"
refuses 'numerics int8.1' "$hone" run tiny.gguf --count 2 --prompt "One day a small boy" --session s.hone

# Every command says what it ran in, and that is f32 where nobody asked: docs/quantisation.md tells why.
for mode in f32 int8; do
    how="--numerics $mode"
    [ $mode = int8 ] || how=
    shows "; $mode\$" "$hone" run tiny.gguf --temperature 0 --count 2 --prompt "One day" $how
    shows ", $mode\$" "$hone" bench tiny.gguf --prompt 4 --generate 2 --repeat 1 $how
    echo hello >asked
    "$hone" chat tiny.gguf --count 2 --verbose $how <asked >out 2>err || fail "chat: $(cat err)"
    grep -q "; $mode\$" err || fail "chat does not say $mode: $(cat err)"
    shows "in $mode to " "$hone" logits tiny.gguf --tokens 5,9 --out m.npy --overwrite $how
    n=$((n + 1))
done

# What is not a number has no code in eight bits: the step ends by tensor and row, and no token of it is said. The file ends in
# the last layer's norm, router and three matrices of experts.
cp tiny.gguf nan.gguf
printf '\377%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 |
    dd of=nan.gguf bs=1 seek=$(($(wc -c <tiny.gguf) - 3 * 139264 - 4096 - 512)) conv=notrunc 2>err || fail "dd: $(cat err)"
refuses 'tensor blk.2.ffn_norm.weight: row 0, element 0 is -?nan; .*int8#[0-9]+ by blk.2.ffn_[a-z_]*.weight: row 0 of x \(.*\) is not finite' \
    "$hone" run nan.gguf --numerics int8 --count 4 --prompt "One day a small boy" --temperature 0
is 'what was said' '' "$(tr -d '\n' <out)"

chats 8 c.jsonl
refuses 'int8 numerics multiply by matrices in block formats, and there is none' \
    "$hone" logits wide.gguf --tokens 5,9 --out n.npy --numerics int8
refuses 'int8 numerics multiply by matrices in block formats, and there is none' "$hone" prove wide.gguf --data c.jsonl --numerics int8
refuses '--targets, --rank, --directions: nothing is trained in int8' "$hone" prove moe-q8.gguf --data c.jsonl --numerics int8 --rank 4
refuses '--numerics int8: expected f32 or mixed' "$hone" grads moe-q8.gguf --data c.jsonl --out g --numerics int8
shows '; mixed$' "$hone" grads moe-q8.gguf --data c.jsonl --out g --numerics mixed --rank 2 --targets attn_q
refuses '--numerics int8: expected f32 or mixed' "$hone" train moe-q8.gguf --data c.jsonl --out r --steps 1 --numerics int8
refuses "numerics 'int8': losses are of f32 or mixed numerics" "$hone" eval moe-q8.gguf --data c.jsonl --numerics int8
[ ! -e r ] || fail "a refused run left its folder"
passed
