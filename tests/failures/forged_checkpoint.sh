#!/bin/sh
# FORGED-CHECKPOINT: what a checkpoint says besides its tensors is outside its digest, and one bit of it
# resumes to another result. Here the digest is of the whole file, and numbers are read in one way only.
# A resumption names what is another, and needs nothing typed again. (bit_flips.sh: bits anywhere.)
. "$2/tests/failures/cli.sh"
dense d.gguf
chats 12 c.jsonl
chats 13 more.jsonl
train() { "$hone" train d.gguf --data c.jsonl --out r --save-every 2 --batch 4 --rank "${rank-2}" --targets attn_q --samples 0 "$@"; }
quietly train --steps 6
want=$(sha256sum <r/adapter.gguf)
rm r/step-00000006.ckpt r/adapter.gguf
last=r/step-00000004.ckpt
cp $last kept
forge() { # FROM TO, of the same length
    LC_ALL=C sed "s/$1/$2/" kept >$last
    cmp -s kept $last && fail "'$1' is not there"
    is "nothing moved" "$(wc -c <kept)" "$(wc -c <$last)"
    refuses "step-00000004.ckpt: .*${3:-the file was altered}" train --steps 6 --resume
    [ ! -e r/adapter.gguf ] || fail "a forged checkpoint gave an adapter"
}
forge '"updates":"4"' '"updates":"5"'
forge '"step":"4"' '"step":"3"'
forge '"n_worse":"0"' '"n_worse":"7"'
forge '"best_step":"-1"' '"best_step":"+1"'
forge '"kind":"hone checkpoint 2"' '"kind":"hone checkpoint 1"' .
forge '"kind":"hone checkpoint 2"' '"kind":"hone checkpoint 3"' 'expected a hone checkpoint 1 or 2'
forge '"digest":"[0-9a-f]' '"digest":"x' 'altered|not one'
# Of a digest that was altered itself, both are told as far as they differ.
seal=$(grep -a -o '"digest":"[0-9a-f]*' kept | tail -c 65)
forge "\"digest\":\"\($(printf %.63s "$seal")\)." '"digest":"\1'$(printf %s "$seal" | tail -c 1 | tr 0-9a-f 1-9a-f0) altered
grep -Eq "is $seal, it says" err || { cat err; fail "the digest of its bytes is not told"; }
! grep -q "it says $seal" err || { cat err; fail "the digest that it says is told as the other"; }
cp kept $last
# What is another is named, with both values.
rank=3
refuses 'another --rank: it was 2, now it is 3' train --steps 6 --resume
unset rank
refuses 'another --rate: it was 0.0002.*, now it is 0.001' train --steps 6 --rate 1e-3 --resume
refuses 'another --loss: it was assistant, now it is all' train --steps 6 --loss all --resume
refuses 'another --data file 1: it was SHA-256 [0-9a-f]*, now it is SHA-256' "$hone" train d.gguf --data more.jsonl --out r --save-every 2 --batch 4 --rank 2 --targets attn_q --samples 0 --steps 6 --resume
# Nothing is typed again, from any folder.
mkdir elsewhere
(cd elsewhere && "$hone" train --out ../r --resume >out 2>err) || { cat elsewhere/err; fail "a run does not go on by its folder"; }
is "by its folder alone" "$want" "$(sha256sum <r/adapter.gguf)"
n=$((n + 1))
refuses 'another --rank: it was 2, now it is 5' "$hone" train -o r --resume --rank 5
refuses 'run.toml' "$hone" train --out nowhere --resume
# Killed before anything was saved, it begins again, and ends the same.
rm -f r/step-* r/adapter.gguf r/metrics.jsonl
quietly "$hone" train --out r --resume
is "from its first step" "$want" "$(sha256sum <r/adapter.gguf)"
passed
