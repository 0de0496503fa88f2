#!/bin/sh
# ADAPTER-KEY-IGNORED: a key of an adapter's file is read past that says when, or to what, its matrices are added, and an
# option is taken of what an adapter says nothing about. Here a key that nobody knows is refused by name, by whoever
# applies or copies; one that acts from its invocation tokens on (aLoRA) is passed on, and never applied to all tokens.
. "$2/tests/failures/cli.sh"
dense d.gguf
chats 8 c.jsonl
quietly "$hone" train d.gguf --data c.jsonl --out r --steps 2 --batch 4 --rank 2 --targets attn_q --samples 0
quietly "$hone" export r/adapter.gguf --peft peft --base d.gguf
rm peft/hone.gguf # another's adapter says nothing of its making
quietly "$hone" import peft plain.gguf --base d.gguf --name plain
use() { # COMMAND ADAPTER
    rm -rf made
    case $1 in
    eval) "$hone" eval d.gguf "$2" --data c.jsonl ;;
    merge) "$hone" merge d.gguf "$2" --out made --force ;;
    run) "$hone" run d.gguf --lora "$2" -p "a question" -n 2 ;;
    logits) "$hone" logits d.gguf --lora "$2" --tokens 1,2,3 --out made ;;
    peft) "$hone" export "$2" --peft made --base d.gguf ;;
    gguf) "$hone" export "$2" --gguf made ;;
    esac
}
all="eval merge run logits peft gguf"
for command in $all; do
    quietly use $command plain.gguf
done
for key in general.name:lora.scaling adapter.lora.alpha:adapter.lora.ahpla; do
    LC_ALL=C sed "s/${key%:*}/${key#*:}/" plain.gguf >changed.gguf
    cmp -s plain.gguf changed.gguf && fail "$key is not there"
    for command in $all; do
        refuses "changed.gguf: key ${key#*:}: no key that is known of adapters" use $command changed.gguf
        [ ! -e made ] || [ -z "$(ls made)" ] || fail "$command left something behind"
    done
done

# One that acts on some of the tokens.
sed 's/"bias":"none"/"bias":"none","alora_invocation_tokens":[5,6]/' peft/adapter_config.json >config
cp -r peft some && cp config some/adapter_config.json
quietly "$hone" import some some.gguf --base d.gguf
for command in eval merge run logits; do
    refuses 'key adapter.alora.invocation_tokens: it acts from its 2 invocation tokens on' use $command some.gguf
done
quietly use peft some.gguf
grep -q '"alora_invocation_tokens":\[5,6\]' made/adapter_config.json || fail "the tokens are lost"
quietly use gguf some.gguf
shows '^adapter.alora.invocation_tokens .*5, 6' "$hone" inspect made --keys

# Options of a base that is not told, or that the adapter says nothing about.
wrong() { # WORDS COMMAND...: status 2, and the words
    refuses "$@"
    [ "$got" -eq 2 ] || { cat err; fail "$*: status $got, expected 2"; }
}
for word in "template nowhere" "template-name zz" "ignore zz"; do
    wrong "--${word% *}: it is for --base" "$hone" export plain.gguf --gguf no.gguf --$word
done
for to in "--gguf no.gguf" "--peft no"; do
    wrong '--template-name zz: the adapter says nothing of a template' "$hone" export plain.gguf $to --base d.gguf --template-name zz
done
refuses 'nowhere.gguf: No such file' "$hone" export plain.gguf --gguf no.gguf --base nowhere.gguf
quietly "$hone" new llama --first spread other.gguf layers=2 width=32 heads=2 kv_heads=1 head_dim=16 ffn=64
refuses 'do not fit' "$hone" export plain.gguf --gguf no.gguf --base other.gguf
[ ! -e no.gguf ] && [ ! -e no ] || fail "something was written"
quietly "$hone" export plain.gguf --gguf yes.gguf --base d.gguf
passed
