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
# Another template than the model's: the adapter carries it, and what serves it writes chats by it.
real=$2/tests/differential/templates/real
train() { # OUT MODEL MORE...
    out=$1 model=$2
    shift 2
    quietly "$hone" train "$model" --data c.jsonl --out $out --steps 2 --batch 4 --rank 4 --targets attn_q "$@"
}
train t d.gguf --template "$real/qwen2_5.jinja"
for command in run chat logits perplexity merge peft gguf; do
    quietly use $command d.gguf t/adapter.gguf
    grep -q forced err && fail "$command: it was forced"
    [ $command != merge ] || grep -aq 'You are Qwen' made || fail "the merged model has not the template"
    [ ! -e made ] || rm -rf made
done
asked() { # how many tokens the question took: it is told by the template
    echo hello | "$hone" chat d.gguf "$@" --lora t/adapter.gguf -n 2 --verbose >/dev/null 2>err || { cat err; fail "chat $*"; }
    sed -n 's/^prompt: \([0-9]*\) tokens.*/\1/p' err
}
given=$(asked --template "$real/qwen2_5.jinja")
is "the prompt by what it carries" "$given" "$(asked)"
[ "$given" != "$(echo hello | "$hone" chat d.gguf -n 2 --verbose 2>&1 >/dev/null | sed -n 's/^prompt: \([0-9]*\) tokens.*/\1/p')" ] || fail "both templates give as many tokens"
# What is told to be another is refused, or forced.
refuses 'trained with another chat template' "$hone" chat d.gguf --lora t/adapter.gguf --template "$real/qwen3.jinja" -n 2
for command in eval grads; do # these write examples by what they are told
    refuses 'trained with another chat template' use $command d.gguf t/adapter.gguf
done
refuses 'trained with another chat template' "$hone" export t/adapter.gguf --base d.gguf --gguf x.gguf --template "$real/qwen3.jinja"
refuses 'trained with another chat template' "$hone" merge d.gguf t/adapter.gguf --force --out x.gguf --template "$real/qwen3.jinja"
refuses 'no chat template named' "$hone" merge d.gguf t/adapter.gguf --force --out x.gguf --template-name nosuch
echo hello >hello
shows 'forced: hone.adapter.template.sha256' sh -c '"$1" chat d.gguf --lora t/adapter.gguf --template "$2" --force -n 2 <hello' sh "$hone" "$real/qwen3.jinja"
train u d.gguf --template "$real/qwen3.jinja"
refuses 'trained with several chat templates' sh -c '"$1" chat d.gguf --lora t/adapter.gguf --lora u/adapter.gguf -n 2 <hello' sh "$hone"
# One of the model's own, by its name.
mkdir -p named/additional_chat_templates
cp "$2"/tests/differential/models/qwen3/* named
for name in chat_template additional_chat_templates/rag; do
    printf '{%% for m in messages %%}%s{{ m.content }}{{ eos_token }}{%% endfor %%}' $name >named/$name.jinja
done
quietly "$hone" convert named n.gguf
train v n.gguf --template-name rag
quietly sh -c '"$1" chat n.gguf --lora v/adapter.gguf -n 2 <hello' sh "$hone"
quietly sh -c '"$1" chat n.gguf --lora v/adapter.gguf --template-name rag -n 2 <hello' sh "$hone"
refuses 'trained with another chat template' sh -c '"$1" chat n.gguf --lora v/adapter.gguf --template-name default -n 2 <hello' sh "$hone"
for command in merge gguf; do
    quietly use $command n.gguf v/adapter.gguf
done
quietly "$hone" merge n.gguf v/adapter.gguf --force --out w.gguf --template-name rag
quietly "$hone" export v/adapter.gguf --base n.gguf --gguf w2.gguf --template-name rag
passed
