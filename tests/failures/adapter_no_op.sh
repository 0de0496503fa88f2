#!/bin/sh
# ADAPTER-NO-OP: an adapter loads without a word, and nothing of it applies. Here every tensor has its
# place or it is refused; so are another base, tokenizer or template, and logits that are not those
# that the adapter recorded of itself.
. "$2/tests/failures/cli.sh"
dense d.gguf
quietly "$hone" new llama --first spread other.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 --seed 5
quietly "$hone" quantize d.gguf q8.gguf q8_0
chats 12 c.jsonl
quietly "$hone" train d.gguf --data c.jsonl --out r --steps 20 --batch 4 --rank 4 --rate 1e-2
a=r/adapter.gguf
quietly "$hone" eval d.gguf $a --data c.jsonl --json
losses=$(tr '{' '\n' <out | sed -n 's/.*"loss":\([0-9.e+-]*\).*/\1/p' | tr '\n' ' ')
holds "the adapter changes the loss" "${losses% * } / 2 > $(echo $losses | cut -d' ' -f2)"
judged() { "$hone" eval "$1" "$2" --data c.jsonl; }
edit() { # FROM TO, of the same length
    [ ${#1} -eq ${#2} ] || fail "$1, $2"
    LC_ALL=C sed "s/$1/$2/g" $a >changed.gguf
    cmp -s $a changed.gguf && fail "$1 is not there"
    is "nothing moved" "$(wc -c <$a)" "$(wc -c <changed.gguf)"
}
edit blk.1.attn_q.weight.lora_a blk.1.attn_x.weight.lora_a
refuses 'attn_q.weight.lora_a is missing|attn_x.weight.lora_a: the model .* has no place' judged d.gguf changed.gguf
edit blk.1.attn_q.weight.lora_b blk.7.attn_q.weight.lora_b
refuses 'is missing|has no place' judged d.gguf changed.gguf
edit blk.1.attn_q.weight.lora_ blk.7.attn_q.weight.lora_
refuses 'blk.7.attn_q.weight.lora_[ab]: the model .* has no place for it' judged d.gguf changed.gguf
refuses 'trained on another base' judged other.gguf $a
refuses 'trained on another base' judged q8.gguf $a
shows 'adapter .*: forced: the base: trained on' "$hone" eval other.gguf $a --data c.jsonl --force
refuses 'hone.adapter.template.sha256' "$hone" eval d.gguf $a --data c.jsonl --template "$2/tests/differential/templates/real/qwen2_5.jinja"
shows 'forced: hone.adapter.template.sha256' "$hone" eval d.gguf $a --data c.jsonl --force --template "$2/tests/differential/templates/real/qwen2_5.jinja"
# One bit of one weight: the self-test's digest.
size=$(wc -c <$a)
cp $a changed.gguf
printf '\077' | dd of=changed.gguf bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
cmp -s $a changed.gguf && printf '\100' | dd of=changed.gguf bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
refuses 'its self-test gives other logits than it recorded|the file was altered' judged d.gguf changed.gguf
head -c $((size - 64)) $a >changed.gguf
refuses 'changed.gguf' judged d.gguf changed.gguf
# A directory and its GGUF are one model: the rows without a token that a file of GGUF gives names to are no other
# tokenizer. A token of another name is.
cp -r "$2/tests/differential/models/phi3" m
printf '{"prompt": "one and %s? ", "completion": "more."}\n' 1 2 3 4 >p.jsonl
quietly "$hone" convert m m.gguf
for trained in m m.gguf; do
    quietly "$hone" train $trained --data p.jsonl --plain --out of --steps 1 --batch 4 --rank 2 --targets attn_output --samples 0
    for model in m m.gguf; do
        quietly "$hone" eval $model of/adapter.gguf --data p.jsonl --plain
        quietly "$hone" logits $model --lora of/adapter.gguf --tokens 5,6,7 --out $model.npy --overwrite
    done
    is "logits of both" "$(cksum <m.npy)" "$(cksum <m.gguf.npy)"
    sed 's/"!"/"!!"/' "$2/tests/differential/models/phi3/tokenizer.json" >m/tokenizer.json
    refuses 'trained with another tokenizer' "$hone" eval m of/adapter.gguf --data p.jsonl --plain
    cp "$2/tests/differential/models/phi3/tokenizer.json" m/tokenizer.json
    rm -rf of
done
passed
