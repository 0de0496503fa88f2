#!/bin/sh
# OPTION-WITHOUT-EFFECT: an option is taken, and changes nothing. What hangs on other options alone is in tables, which unit/options
# goes over; here is what hangs on a value, on a file or on a model. Each is refused by name, as wrong usage.
. "$2/tests/failures/cli.sh"
wrong() { # WORDS COMMAND...: status 2, and the words
    refuses "$@"
    [ "$got" -eq 2 ] || { cat err; fail "$*: status $got, expected 2"; }
}
dense d.gguf
chats 12 c.jsonl
echo '{"text": "a cat sat on a mat"}' >texts.jsonl
train() { "$hone" train d.gguf --data c.jsonl --dry-run "$@"; }

# Of a run.
printf 'patience = 2\neval-every = 1\nmodel = "d.gguf"\ndata = ["c.jsonl"]\n' >patience.toml
wrong '--patience 2: no example is held out' "$hone" train patience.toml --dry-run
wrong '--eval-every: it is for --held or --held-fraction' train --eval-every 1 --held-fraction 0
wrong '--epochs beside --steps' train --steps 3 --epochs 2
quietly train --steps 0 --epochs 2
wrong '--batch beside --batch-tokens' train --batch-tokens 400 --batch 4
quietly train --batch-tokens 0 --batch 4
wrong 'c.jsonl: --held-fraction 0.0001 holds out none of 12 examples' train --eval-every 1 --held-fraction 0.0001
wrong 'c.jsonl: --held-fraction 0.0001 holds out none of 12 examples' "$hone" eval d.gguf --data c.jsonl --held-fraction 0.0001
printf '{"prompt": "a", "completion": ""}\n' >hollow.jsonl
printf '{"prompt": "a", "completion": "b"}\n' >full.jsonl
wrong '--held hollow.jsonl: expected examples to evaluate on, found none: 1 dropped' \
    "$hone" eval d.gguf --plain --data full.jsonl --held hollow.jsonl --drop-empty
for command in "eval d.gguf" "grads d.gguf -o g.st"; do
    wrong '--examples 13: there are 12' "$hone" $command --data c.jsonl --examples 13
done
quietly "$hone" eval d.gguf --data c.jsonl --examples 12

# Of a run file: what is typed comes after it, and so does what a rule puts in its place; both in the file are a mistake.
printf 'model = "d.gguf"\ndata = ["c.jsonl"]\nsteps = 5\nbatch-tokens = 400\n' >steps.toml
shows '^6 steps' "$hone" train steps.toml --dry-run --epochs 2 --batch 4
shows '^5 steps' "$hone" train steps.toml --dry-run --batch 4
printf 'model = "d.gguf"\ndata = ["c.jsonl"]\nepochs = 2\nbatch = 4\n' >epochs.toml
shows '^5 steps' "$hone" train epochs.toml --dry-run --steps 5
shows '^6 steps' "$hone" train epochs.toml --dry-run
for line in "epochs = 3" "batch = 4"; do
    { cat steps.toml; echo "$line"; } >both.toml
    wrong "--${line% = *} beside --" "$hone" train both.toml --dry-run
done
printf 'eval-every = 1\nmodel = "d.gguf"\ndata = ["c.jsonl"]\n' >eval.toml
wrong '--eval-every 1: no example is held out' "$hone" train eval.toml --dry-run
quietly train --patience 2 --eval-every 1 --held-fraction 0.3
wrong '--least-rate is of schedules that go down: the schedule is constant' train --schedule constant --least-rate 0.1
quietly train --schedule linear --least-rate 0.1
for word in "rank 4" "alpha 8" "dropout 0.1" rslora; do
    wrong "--${word% *} is of low-rank changes: with --targets norm" train --targets norm --$word
    quietly train --targets norm,attn --$word
done
echo 'x' >x.jinja
printf '{{ messages[0].content }}{%% if tools %%}T{%% endif %%}{%% if documents %%}D{%% endif %%}{{ a }}' >all.jinja
for command in "train d.gguf --dry-run --data" "show-tokens d.gguf" "eval d.gguf --data"; do
    wrong '--template x.jinja: expected no --template-name with it, found zz' "$hone" $command c.jsonl --template x.jinja --template-name zz
    wrong "no chat template named 'zz' in the model" "$hone" $command texts.jsonl --template-name zz
done
for command in "show-tokens hone:tiny" "eval hone:tiny --data"; do
    wrong '--template-name default: expected messages' "$hone" $command texts.jsonl --template-name default
done
wrong '--template all.jinja: expected messages' "$hone" grads d.gguf --data texts.jsonl --template all.jinja -o g.st

# Of a file's weight, where every example is taken once; and of --force, where nothing is forced.
for command in "show-tokens d.gguf" "eval d.gguf --data" "prove d.gguf --targets attn_q --data" "grads d.gguf -o g.st --data"; do
    wrong 'c.jsonl: a weight of 0.5: expected none, for it says how often an epoch' "$hone" $command c.jsonl:0.5
done
quietly "$hone" train d.gguf --dry-run --data c.jsonl:0.5
quietly "$hone" eval d.gguf --data c.jsonl:1
wrong '--force: it is for adapters, of which none is given' "$hone" eval d.gguf --data c.jsonl --force

# Of what gradients are of: an adapter has its own scale, which --rslora once multiplied.
quietly "$hone" train d.gguf --data c.jsonl --out r --steps 2 --rank 2 --samples 0
wrong '--overwrite beside --resume: a run that goes on keeps what is there' "$hone" train --out r --resume --overwrite
for word in "targets attn" "rank 4" "alpha 8" "seed 3" rslora; do
    wrong "--${word% *} beside --from: the adapter says it" "$hone" grads d.gguf --data c.jsonl --from r/adapter.gguf --$word -o g.st
done
wrong 'unknown option --held' "$hone" grads d.gguf --data c.jsonl --held c.jsonl -o g.st

# Of files.
quietly "$hone" imatrix d.gguf texts.jsonl --out i.gguf --chunk 16
# One vector for four experts, in the older form: it was passed over. One entry, 26 letters, 1 call, 32 numbers.
{ printf '\001\000\000\000\032\000\000\000blk.0.ffn_gate_exps.weight\001\000\000\000\040\000\000\000'; head -c 128 /dev/zero | tr '\000' '\077'; } >one.dat
wrong '--imatrix: no tensor is encoded in blocks' "$hone" quantize d.gguf q.gguf f16 --imatrix i.gguf
quietly "$hone" quantize d.gguf q.gguf q4_0 --imatrix i.gguf
wrong '--keep none\*=f16: no tensor has such a name' "$hone" quantize d.gguf p.gguf q4_0 --keep 'none*=f16'
wrong '--keep \*_norm.weight=f16: such tensors stay as they are' "$hone" quantize d.gguf p.gguf q4_0 --keep '*_norm.weight=f16'
wrong '--keep blk.0.attn_q.weight=f32: all that it names is another.s before it' \
    "$hone" quantize d.gguf p.gguf q4_0 --keep 'blk.*.attn_q.weight=f16' --keep 'blk.0.attn_q.weight=f32'
for type in i32 i64 bool q8_1; do # of integers the encoder was a NULL
    wrong "--keep \*attn_v.weight=$type: weights are not written so" "$hone" quantize d.gguf p.gguf q4_0 --keep "*attn_v.weight=$type"
    wrong "--keep \*attn_v.weight=$type: weights are not written so" "$hone" new llama p.gguf --keep "*attn_v.weight=$type"
done
mixture x.gguf
refuses 'ffn_gate_exps.weight: 1 x 32 numbers: the tensor needs 4 x 32' "$hone" quantize x.gguf p.gguf q4_0 --imatrix one.dat
[ ! -e p.gguf ] || fail "p.gguf is there"
quietly "$hone" quantize d.gguf p.gguf q4_0 --keep 'blk.0.attn_q.weight=f32' --keep 'blk.*.attn_q.weight=f16'
rm p.gguf
# Each number is one that it may be, and the model of them is none: no reader would take the file, so none is written.
for arch in olmoe qwen3moe; do
    wrong 'n.gguf: tensor blk.0.ffn_gate_inp.weight is missing' "$hone" new $arch n.gguf experts=0
done
wrong 'key olmoe.expert_used_count is 4: expected 1 or more of olmoe.expert_count, 3' "$hone" new olmoe n.gguf experts=3 used=4
wrong 'key deepseek2.rope.dimension_count is 7: expected an even number' "$hone" new deepseek2 n.gguf rope.dimension_count=7
test ! -e n.gguf || fail "hone new left a file that is no model"
wrong '--keep none=f16: no tensor' "$hone" new llama n.gguf --keep none=f16
wrong 'k_eq_v=true: llama has values of its own' "$hone" new llama n.gguf k_eq_v=true
quietly "$hone" new gemma4 n.gguf k_eq_v=true layers=6 width=64
# What no reader would take is not begun: it was written, and then refused.
for word in "used=2" "heads=3 kv_heads=1 width=16" "experts=2 used=5"; do
    wrong 'expected' "$hone" new llama u.gguf $word
    [ ! -e u.gguf ] || fail "new llama $word: a file is there"
done
quietly "$hone" export r/adapter.gguf --peft peft --base d.gguf
wrong 'its numbers are rounded to f16, and the self-test that it carries was recorded before: --type f32' "$hone" import peft a.gguf --base d.gguf --type f16
quietly "$hone" import peft a.gguf --base d.gguf
shows '"keys":\[\{"name":"general' "$hone" inspect d.gguf --json --keys
wrong '--keys: expected a GGUF file' "$hone" inspect "$2/tests/differential/models/llama" --keys

# Of a template.
echo '[{"role": "user", "content": "x"}]' >m.json
echo '[]' >none.json
printf '{{ messages[0].content }}' >plain.jinja
for word in "tools none.json" "documents none.json" "set a=1"; do
    wrong "--${word% *}.*expected a .*that" "$hone" render d.gguf m.json --template plain.jinja --$word
    quietly "$hone" render d.gguf m.json --template all.jinja --$word
done

# Of a server, which ends before it serves.
for word in "cache bogus" "context 100000000" "template-name zz" "ignore zz" "calls bogus"; do
    wrong "${word#* }" "$hone" serve hone:tiny --port 0 --$word
done
refuses 'nowhere.gguf' "$hone" serve nowhere.gguf --port 0
is "a file that is not there" 1 "$got"

# Said twice: the first would say nothing. What may be repeated is a list, and a run file's word may be typed anew.
wrong '--prompt: given twice' "$hone" run d.gguf -p a --prompt=b
wrong '--quiet: given twice' "$hone" run d.gguf -p a -n 2 --quiet --quiet
wrong '--overwrite: given twice' "$hone" logits d.gguf -p a --out l.npy --overwrite --overwrite
quietly "$hone" run d.gguf -p a -n 2 --logit-bias 5=1 --logit-bias 6=1
wrong 'a is set twice' "$hone" render d.gguf m.json --template all.jinja --set a=1 --set a=2
wrong '--set a=: byte 0: expected a value' "$hone" render d.gguf m.json --template all.jinja --set a=
for command in "perplexity d.gguf texts.jsonl --chunk 16" "embed d.gguf a --pooling mean" "bench d.gguf --prompt 4 --generate 1 --repeat 1"; do
    wrong '--overwrite: no option names a file' "$hone" $command --overwrite
done

# Of schedules, which no run comes to the end of.
wrong '--warmup 7: more than the 3 steps of the run' train --steps 3 --warmup 7
wrong '--warmup 2 beside --cooldown 2: more than the 3 steps of the run' train --steps 3 --warmup 2 --schedule wsd --cooldown 2
wrong '--warmup 1.5: expected a whole number of steps, or a share below 1' train --steps 3 --warmup 1.5
quietly train --steps 3 --warmup 2
quietly train --steps 41 --warmup 0.5 --schedule wsd --cooldown 0.5
for word in "rate 1e308" "clip 1e-308" "clip-elements 1e-50" "beta1 1e-308" "weight-decay 1e39" "alpha 1e-308"; do
    wrong "--${word% *} 1e[-+0-9]*: expected 0, or a number from" train --$word
done
wrong "target 'attn:alpha=1e39': '1e39' is no number that f32 has" train --targets attn:alpha=1e39

# Of draws: what is off, or takes another value on its way to f32.
run() { "$hone" run d.gguf -p a -n 2 "$@"; }
wrong '--last: it is for --repetition or --frequency or --presence' run --last 5
quietly run --last 5 --presence 1
for word in "top-k 5" "top-p 0.5" "min-p 0.1"; do
    wrong "--${word% *} beside --temperature 0" run --temperature 0 --$word
    wrong "--${word% *} beside --temperature 0" run --$word --temperature 0.00
    quietly run --temperature 0.5 --$word
done
for word in "temperature 1e-50" "temperature 1e300" "top-p 1e-50" "min-p 1e-50" "repetition 1e-50" "frequency 1e39" "presence 1e39"; do
    wrong "--${word% *} 1e[-+0-9]*: expected 0, or a number from" run --$word
done
wrong '--logit-bias 5=1e39: expected' run --logit-bias 5=1e39
wrong '--logit-bias 5=-1e39: expected' run --logit-bias 5=-1e39
quietly run --logit-bias 5=-inf
wrong '--regex: .*expected \)' run --regex '('
wrong "--session: expected a file's name" run --session ''
is "nothing was generated for it" 0 "$(wc -c <out)"

# Of a bench: what is of models, and what of kernels.
for word in "prompt 4" "generate 4" "repeat 2" "cache f16" mapped "batches 2" "numerics bf16"; do
    wrong "--${word% *}: kernels: expected a model" "$hone" bench kernels --$word
    wrong "--${word% *}: gate: expected a model" "$hone" bench gate --$word
done
wrong 'expected no --only, --blas, --quick' "$hone" bench gate --quick
for word in quick "only gemm" "blas no.so"; do
    wrong "--${word% *}: it is of kernels" "$hone" bench d.gguf --$word
done
quietly "$hone" bench d.gguf --prompt 4 --generate 1 --repeat 1

# Of a template: of the one that is chosen, and what it reads from outside.
printf '{{ messages[0].tools }}{%% for a in messages %%}{{ a.content }}{%% endfor %%}{%% set b = 2 %%}{{ b }}' >own.jinja
for word in "tools none.json" "set a=1" "set b=1" "clock 5" no-generation-prompt; do
    wrong "--${word% *}.*expected a " "$hone" render d.gguf m.json --template own.jinja --$word
done
mkdir hf && cp "$2"/tests/differential/models/llama/* hf
printf '{%% if tools %%}T{%% endif %%}{{ a }}{{ strftime_now("%%Y") }}{%% if add_generation_prompt %%}G{%% endif %%}' >hf/chat_template.jinja
for word in "tools none.json" "set a=1" "clock 5" no-generation-prompt; do
    quietly "$hone" render hf m.json --$word
    wrong "--${word% *}.*expected a " "$hone" render hf m.json --template own.jinja --$word
done
for word in "tools none.json" "set a=1"; do
    wrong "--${word% *}.*expected a " "$hone" chat hf --template own.jinja --$word
done
echo '{"messages": [{"role": "user", "content": "x"}], "tools": [{}], "else": 1}' >else.json
wrong 'the key else: expected messages, tools or documents' "$hone" render hf else.json
echo '{"messages": [{"role": "user", "content": "x"}], "tools": [{}]}' >held.json
quietly "$hone" render hf held.json
wrong 'tools: beside the messages, which hold some' "$hone" render hf held.json --tools none.json

# Of what only prints, and of where it goes.
wrong "'--bogus' is one word too many" "$hone" version --bogus x
shows '^usage: hone version' "$hone" version --help
shows '^usage: hone' "$hone" help help
if [ -c /dev/full ]; then
    for words in version help "run --help" "help run"; do
        "$hone" $words >/dev/full 2>err
        is "$words on a full disk" 1 $?
        "$hone" $words >&- 2>err
        is "$words on nothing" 1 $?
    done
fi
passed
