#!/bin/sh
# UNTRIED-ADAPTER: a command takes an adapter that its own self-test would refuse, and one whose test
# was taken out. Here every command that applies or copies one holds it to the whole of its contract.
. "$2/tests/failures/cli.sh"
dense d.gguf
quietly "$hone" new llama --first spread other.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 --seed 5
chats 12 c.jsonl
quietly "$hone" train d.gguf --data c.jsonl --out r --steps 4 --batch 4 --rank 4 --rate 1e-2 --targets attn_q
a=r/adapter.gguf
commands="eval merge peft gguf grads run chat logits perplexity"
echo "Some words of a text that is long enough to be judged." >text.txt
use() { # COMMAND BASE ADAPTER
    rm -rf made
    case $1 in
    eval) "$hone" eval "$2" "$3" --data c.jsonl ;;
    merge) "$hone" merge "$2" "$3" --out made --force ;;
    peft) "$hone" export "$3" --peft made --base "$2" ;;
    gguf) "$hone" export "$3" --gguf made --base "$2" ;;
    grads) "$hone" grads "$2" --from "$3" --data c.jsonl --out made ;;
    run) "$hone" run "$2" --lora "$3" -p "a question" -n 2 ;;
    chat) echo hello | "$hone" chat "$2" --lora "$3" -n 2 ;;
    logits) "$hone" logits "$2" --lora "$3" --tokens 1,2,3 --out made ;;
    perplexity) "$hone" perplexity "$2" text.txt --chunk 32 --lora "$3" ;;
    esac
}
all_refuse() { # WORDS BASE ADAPTER
    for command in $commands; do
        refuses "$1" use $command "$2" "$3"
        [ ! -e made ] || [ -z "$(ls made)" ] || fail "$command left something behind"
    done
}
edit() { # FROM TO, of the same length
    LC_ALL=C sed "s/$1/$2/g" $a >changed.gguf
    cmp -s $a changed.gguf && fail "$1 is not there"
}
for command in $commands; do
    quietly use $command d.gguf $a
done
all_refuse 'trained on another base' other.gguf $a
edit 'hone.adapter.test.tokens' 'hone.adapter.tset.tokens'
all_refuse 'hone.adapter.test.tokens is missing' d.gguf changed.gguf
edit 'hone.adapter.test.logits.sha256' 'hone.adapter.tset.logits.sha256'
all_refuse 'hone.adapter.test.logits.sha256 is missing' d.gguf changed.gguf
edit 'hone.adapter.base.sha256' 'hone.adapter.base.sah256'
all_refuse 'hone.adapter.base.sha256 is missing' d.gguf changed.gguf
edit 'hone.adapter.tokenizer.sha256' 'hone.adapter.tokenizer.sah256'
all_refuse 'hone.adapter.tokenizer.sha256 is missing' d.gguf changed.gguf
# One bit of one weight.
size=$(wc -c <$a)
cp $a changed.gguf
printf '\077' | dd of=changed.gguf bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
cmp -s $a changed.gguf && printf '\100' | dd of=changed.gguf bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
all_refuse 'its self-test gives other logits than it recorded|the file was altered' d.gguf changed.gguf
# Another tokenizer, another template: of the same base.
quietly "$hone" train d.gguf --data c.jsonl --out t --steps 2 --batch 4 --rank 4 --targets attn_q \
    --template "$2/tests/differential/templates/real/qwen2_5.jinja"
commands="eval merge peft gguf grads run chat"
all_refuse 'trained with another chat template' d.gguf t/adapter.gguf
quietly "$hone" merge d.gguf t/adapter.gguf --force --out m.gguf --template "$2/tests/differential/templates/real/qwen2_5.jinja"
grep -aq 'You are Qwen' m.gguf || fail "the merged model has not the template"
quietly "$hone" export t/adapter.gguf --base d.gguf --gguf x.gguf --template "$2/tests/differential/templates/real/qwen2_5.jinja"
shows 'forced: hone.adapter.template.sha256' "$hone" run d.gguf --lora t/adapter.gguf --force -p a -n 2
passed
