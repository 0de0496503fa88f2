#!/bin/sh
# Single bits of checkpoints (header and all), adapters and bases, anywhere: each is refused, or changes
# no bit of the result. BUILD SOURCE [COUNT [SEED]]: 12 of each, or as many as are asked for; 1,000 take
# some minutes.
count=${3:-12} seed=${4:-7}
. "$2/tests/failures/cli.sh"
export XDG_CACHE_HOME="$dir/cache"
quietly "$hone" new llama d.gguf layers=2 width=32 heads=2 kv_heads=1 head_dim=16 ffn=32
chats 8 c.jsonl
options="--save-every 2 --batch 4 --rank 2 --targets attn_q,ffn_down --rate 0.05 --samples 0 --threads 1"
quietly "$hone" train d.gguf --data c.jsonl --out r --steps 4 $options
mkdir back && cp r/run.toml back && cp r/step-00000002.ckpt kept.ckpt
want=$(sha256sum <r/adapter.gguf)
judged() { "$hone" eval "$1" "$2" --data c.jsonl --json --threads 1 && "$hone" logits "$1" --lora "$2" --tokens 7,9,11,60,4 --out l.npy --overwrite --threads 1 && cat l.npy; }
judged d.gguf r/adapter.gguf >judged.want 2>err || fail "$(cat err)"
flip() { # FROM TO: one bit, told by $place and $bit
    cp "$1" "$2"
    byte=$(od -An -tu1 -j $place -N1 "$1")
    printf "\\$(printf %03o $((byte ^ (1 << bit))))" | dd of="$2" bs=1 seek=$place conv=notrunc 2>/dev/null
}
places() { # FILE
    awk -v n=$count -v size=$(wc -c <"$1") -v header=${2:-0} -v seed=$seed 'BEGIN {
        srand(seed)
        for (i = 0; i < n; i++) # every third in what comes before the numbers
            print int(rand() * (header && i % 3 == 0 ? header : size)), int(rand() * 8)
    }'
}
last_bits() { # FILE: of as many numbers at its end, which a self-test may round away
    awk -v n=$count -v size=$(wc -c <"$1") 'BEGIN { for (i = 0; i < n; i++) print size - 4 * (1 + i * 7 % 240), 0 }'
}
resumes() { # BASE
    rm -f back/step-* back/adapter.gguf
    cp "$2" back/step-00000002.ckpt
    "$hone" train "$1" --data c.jsonl --out back --steps 4 $options --resume >out 2>err
}
tell() { # WHAT
    all=$(wc -l <places)
    [ $((refused + same)) -eq $all ] || fail "$1: $refused + $same of $all"
    echo "$1: $all single bits: $refused refused, $same without effect on any bit, 0 with another result"
    n=$((n + 1))
}
none() { # STATUS WHAT: it was refused as everything is
    [ $1 -lt 128 ] || fail "$2: ended by a signal"
    [ -s err ] || fail "$2: nothing was said"
}

refused=0 same=0
header=$(od -An -tu8 -N8 kept.ckpt)
places kept.ckpt $header >places
while read -r place bit; do
    flip kept.ckpt flipped.ckpt
    if resumes d.gguf flipped.ckpt; then
        [ "$(sha256sum <back/adapter.gguf)" = "$want" ] || fail "checkpoint: bit $bit of byte $place gave another adapter"
        same=$((same + 1))
    else
        none $? "checkpoint: bit $bit of byte $place"
        [ ! -e back/adapter.gguf ] || fail "checkpoint: a refused run left an adapter"
        refused=$((refused + 1))
    fi
done <places
tell checkpoints

refused=0 same=0
{ places r/adapter.gguf 4000 && last_bits r/adapter.gguf; } >places
while read -r place bit; do
    flip r/adapter.gguf flipped.gguf
    if judged d.gguf flipped.gguf >judged 2>err; then
        sed 's/flipped.gguf/r\/adapter.gguf/' judged | cmp -s - judged.want || fail "adapter: bit $bit of byte $place gave another result"
        same=$((same + 1))
    else
        none $? "adapter: bit $bit of byte $place"
        refused=$((refused + 1))
    fi
done <places
tell adapters

refused=0 same=0
{ places d.gguf 4000 && last_bits d.gguf; } >places
while read -r place bit; do
    flip d.gguf flipped.gguf
    if resumes flipped.gguf kept.ckpt; then
        # what the adapter records of its base is of its numbers, so the whole file is the same
        [ "$(sha256sum <back/adapter.gguf)" = "$want" ] || fail "base: bit $bit of byte $place gave another adapter"
        judged flipped.gguf r/adapter.gguf >judged 2>err || fail "base: bit $bit of byte $place: a run goes on, its adapter is refused: $(cat err)"
        cmp -s judged judged.want || fail "base: bit $bit of byte $place gave another result"
        same=$((same + 1))
    else
        none $? "base: bit $bit of byte $place"
        if judged flipped.gguf r/adapter.gguf >judged 2>err; then # the adapter alone: the same, or refused
            cmp -s judged judged.want || fail "base: bit $bit of byte $place: an adapter of another base gave another result"
        else
            none $? "base: bit $bit of byte $place, an adapter"
        fi
        refused=$((refused + 1))
    fi
done <places
tell bases
passed
