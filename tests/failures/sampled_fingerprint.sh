#!/bin/sh
# SAMPLED-FINGERPRINT: a digest of a hundred elements a tensor takes a base for another's: most single
# bits can change, and the run goes on to another result. Here the base's identity is of all of it, and
# what was computed once is kept, and not believed of other files. sampled_fingerprint.c: a directory
# and its GGUF have one.
. "$2/tests/failures/cli.sh"
export XDG_CACHE_HOME="$dir/cache"
dense d.gguf
chats 12 c.jsonl
train() { "$hone" train "$1" --data c.jsonl --out r --steps 4 --save-every 2 --batch 4 --rank 2 --targets attn_q --resume; }
quietly "$hone" train d.gguf --data c.jsonl --out r --steps 4 --save-every 2 --batch 4 --rank 2 --targets attn_q
cp -r r kept
size=$(wc -c <d.gguf)
flip() { # FILE AT BIT
    byte=$(od -An -tu1 -j "$2" -N1 "$1")
    printf "\\$(printf %03o $((byte ^ (1 << $3))))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
# In the last tensors, where a sample had nothing.
i=0
while [ $i -lt 12 ]; do
    i=$((i + 1))
    cp d.gguf e.gguf
    flip e.gguf $((size - 1 - i * 1009)) $((i % 8))
    cmp -s d.gguf e.gguf && fail "nothing was changed"
    refuses 'made with another base|trained on another base|is not finite|is nan|is inf' "$hone" eval e.gguf r/adapter.gguf --data c.jsonl
    refuses 'another base' train e.gguf
done
cmp r/adapter.gguf kept/adapter.gguf || fail "a run on another base wrote"
# Tensors of 4 MiB, of which the identity takes a MiB at a time: a bit in any of these.
quietly "$hone" new llama big.gguf layers=1 width=512 heads=8 kv_heads=8 head_dim=64 ffn=2048
quietly "$hone" train big.gguf --data c.jsonl --out big --steps 1 --batch 2 --rank 1 --targets attn_q --samples 0
big=$(wc -c <big.gguf)
i=0
while [ $i -lt 8 ]; do
    i=$((i + 1))
    place=$((big - 4 * i * 175003)) # the last bit of a number
    flip big.gguf $place 0
    refuses 'trained on another base' "$hone" eval big.gguf big/adapter.gguf --data c.jsonl
    flip big.gguf $place 0
done
quietly "$hone" eval big.gguf big/adapter.gguf --data c.jsonl
# What is kept is of these files, and of this user.
sleep 2.1
rm -rf cache
quietly "$hone" eval d.gguf r/adapter.gguf --data c.jsonl
is "what is kept" 1 "$(ls cache/hone/identity-* | wc -l)"
entry=$(echo cache/hone/identity-*)
cp $entry entry
quietly "$hone" eval d.gguf r/adapter.gguf --data c.jsonl
cmp $entry entry || fail "it was kept anew"
# Another's digest in its place is not what the file says of itself; nor are the same bytes, altered.
for i in 20 90 160; do
    cp entry $entry
    flip $entry $i 0
    quietly "$hone" eval d.gguf r/adapter.gguf --data c.jsonl
done
chmod 666 $entry
quietly "$hone" eval d.gguf r/adapter.gguf --data c.jsonl
# A base that was written to in place, its time put back: its inode's time cannot be.
cp d.gguf e.gguf
touch -d '2020-01-01' d.gguf
flip d.gguf $((size - 500)) 3
touch -d '2020-01-01' d.gguf
refuses 'another base' "$hone" eval d.gguf r/adapter.gguf --data c.jsonl
# No place for it is no failure.
cp e.gguf d.gguf
quietly env XDG_CACHE_HOME=/proc/nowhere "$hone" eval d.gguf r/adapter.gguf --data c.jsonl
quietly env -u XDG_CACHE_HOME -u HOME "$hone" eval d.gguf r/adapter.gguf --data c.jsonl
passed
