#!/bin/sh
# OLD-RECORDS: a checkpoint and an adapter of version 1, as a hone of then wrote them (old_records/make.sh),
# are read by the digests of then, say so, and give what they gave; and what of them was altered is refused.
. "$2/tests/failures/cli.sh"
from=$2/tests/failures/old_records
export XDG_CACHE_HOME="$dir/cache"
quietly "$hone" new llama d.gguf --first spread layers=1 width=16 heads=1 kv_heads=1 head_dim=16 ffn=16 tied=true
is "the base of then" "$(cat "$from/BASE")" "$(sha256sum <d.gguf | cut -d' ' -f1)"
cp "$from/c.jsonl" .
mkdir r && cp "$from/step-00000002.ckpt" r
note='of version 1'
train() { # BASE MORE...
    base=$1
    shift
    "$hone" train "$base" --data c.jsonl --out r --steps 4 --save-every 2 --batch 2 --rank 1 --targets attn_q --rate "${rate-0.05}" --samples 0 --threads 1 --resume "$@"
}
logits() { "$hone" logits d.gguf --tokens 7,9,11,60,4 --out "$1" --overwrite --threads 1 --lora "$2"; }
again() { rm -rf r/step-* r/adapter.gguf && cp "$from/step-00000002.ckpt" r; }
# They are what they were: the adapter that the old run ended with is the one that the resumed run ends with.
shows "going on after step 2, of a checkpoint $note" train d.gguf
shows "adapter .*: $note: its base is told by a sample" logits then.npy "$from/adapter.gguf"
quietly logits now.npy r/adapter.gguf
grep -q "$note" err && fail "what is written now is of version 1"
cmp then.npy now.npy || fail "resumed, it gives another adapter than then"
quietly "$hone" logits d.gguf --tokens 7,9,11,60,4 --out base.npy --threads 1
cmp -s base.npy then.npy && fail "the adapter does nothing"
n=$((n + 1))
# On another base, of another configuration, of other data.
quietly "$hone" new llama e.gguf --first spread layers=1 width=16 heads=1 kv_heads=1 head_dim=16 ffn=16 tied=true --seed 5
again
refuses 'made with another base' train e.gguf
rate=0.04
refuses 'made with another configuration' train d.gguf
unset rate
sed 's/is one/is won/' "$from/c.jsonl" >c.jsonl
refuses 'made with another data file' train d.gguf
cp "$from/c.jsonl" .
refuses 'trained on another base' "$hone" logits e.gguf --tokens 7,9 --out x.npy --lora "$from/adapter.gguf"
# Single bits: of every eleventh byte of the tensors, and of the digests.
flip() { # FROM TO PLACE BIT
    cp "$1" "$2"
    byte=$(od -An -tu1 -j "$3" -N1 "$1")
    printf "\\$(printf %03o $((byte ^ (1 << $4))))" | dd of="$2" bs=1 seek="$3" conv=notrunc 2>/dev/null
}
size=$(wc -c <"$from/step-00000002.ckpt")
numbers=$((size - 384)) # six tensors of sixteen numbers
place=$numbers
while [ $place -lt $size ]; do
    again
    flip "$from/step-00000002.ckpt" r/step-00000002.ckpt $place $((place % 8))
    refuses 'checkpoint r/step-00000002.ckpt: .*digest of its tensors' train d.gguf
    place=$((place + 11))
done
for key in '"digest":"' '"base":"' '"config":"' '"data":"' '"step":"'; do
    at=$(grep -abo "$key" "$from/step-00000002.ckpt" | head -1 | cut -d: -f1)
    again
    flip "$from/step-00000002.ckpt" r/step-00000002.ckpt $((at + ${#key})) 0
    refuses 'checkpoint r/step-00000002.ckpt' train d.gguf
done
size=$(wc -c <"$from/adapter.gguf")
place=$((size - 128 + 3)) # two tensors of sixteen numbers: their exponents; a last bit may drown in the test's logits
while [ $place -lt $size ]; do
    flip "$from/adapter.gguf" f.gguf $place $((place / 4 % 6))
    refuses 'adapter f.gguf: .*self-test' logits x.npy f.gguf
    place=$((place + 4))
done
passed
