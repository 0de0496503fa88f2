#!/bin/sh
# train.sh BUILD SOURCE: `hone train` as a user meets it, and everything that it refuses, by name.
. "$2/tests/failures/cli.sh"
tables=$2/src/train
dense d.gguf
chats 20 c.jsonl
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    echo "{\"prompt\":\"what is $i? \",\"chosen\":\"it is number $i of ten.\",\"rejected\":\"who knows $i?\"}"
done >pairs.jsonl
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    echo "{\"prompt\":\"what is $i? \",\"completion\":\"it is number $i of ten.\",\"label\":true}"
    echo "{\"prompt\":\"what is $i? \",\"completion\":\"who knows $i?\",\"label\":false}"
done >labels.jsonl
train() { "$hone" train d.gguf --data c.jsonl "$@" --batch 4 --rank 4; }
those() { # DEF WORD: "a, b or c", the lines of a table that have the word before their help: an option, or a kind of examples
    awk -F'"' -v word="$2" '/^HN_[A-Z]+\(/ && (" " $1 " " $2 " ") ~ ("[ (]" word "[ ,]") { split($1, of, /[(,]/); name[++n] = of[2] }
        END { if (!n) print "nobody"; for (i = 1; i <= n; i++) printf "%s%s", (i == 1 ? "" : i == n ? " or " : ", "), name[i] }' "$tables/$1.def"
}
status() { # STATUS: of the last refusal
    is "the status" "$1" "$got"
}

# One command, and everything else by default: printed.
shows '^sha256 [0-9a-f]{64}$' train --out r --steps 4
shows '^4 steps in f32, rate 0.0002 \(cosine\), adamw in f32, seed 1$' train --out dry --steps 4 --dry-run
[ ! -e dry ] || fail "--dry-run wrote something"
shows '^trained: [0-9]+ numbers in 28 tensors, for 14 weights \(lora\)' train --dry-run --steps 4
shows '^memory [0-9.]+ GiB: weights' train --dry-run --steps 4
is "a line a step" 4 "$(grep -c '"loss":' r/metrics.jsonl)"

# run.toml holds the same options, and gives the same bits.
cat >run.toml <<'D'
model = "d.gguf"       # what is trained
data = ["c.jsonl"]
out = "toml"
steps = 4
batch = 4
rank = 4
D
quietly train --out again --steps 4
want=$(digest)
quietly "$hone" train run.toml
is "run.toml" "$want" "$(digest)"
# A line of a kind that its option does not take is refused: it took the word behind it, or was as if it were not there.
while IFS='|' read -r line words; do
    { sed '/^out/d; /^rank/d' run.toml; echo "$line"; } >odd.toml
    refuses "odd.toml: line [0-9]+: ${line%% *}: expected $words" "$hone" train odd.toml --dry-run
    status 2
done <<'D'
rank = true|a number or a text in quotes, found true
rank = false|a number or a text in quotes, found false
memory = false|a number or a text in quotes, found false
held = false|a number or a text in quotes, found false
rank = [4, 8]|one value, found several
rank = []|a value, found an empty array
rslora = "true"|true or false, found 'true'
rslora = 1|true or false, found '1'
rslora = []|a value, found an empty array
rslora = [true, false]|one value, found several
D
shows '^trained' "$hone" train d.gguf --data c.jsonl --steps 4 --dry-run --out nosuch.toml

# Each checkpoint as an adapter: its numbers are those of a run that ended there, and its contract holds; so too after a run that was
# stopped at its end and goes on; and none of an earlier run stays.
kept() { "$hone" train d.gguf --data c.jsonl --batch 4 --rank 4 --rate 1e-2 --schedule constant --warmup 0 --save-every 2 "$@"; }
numbers() { tail -c 20000 "$1" | sha256sum; }
quietly kept --out points --steps 6 --keep 3 --keep-adapters
points=$(digest)
is "an adapter of each but the last" "points/step-00000002.gguf points/step-00000004.gguf" "$(echo points/step-*.gguf)"
for at in 2 4; do
    quietly kept --out point$at --steps $at
    is "the numbers of step $at" "$(numbers point$at/adapter.gguf)" "$(numbers points/step-0000000$at.gguf)"
    shows "^hone.train.steps .* $at\$" "$hone" inspect points/step-0000000$at.gguf --keys
    shows "^points/step-0000000$at.gguf" "$hone" eval d.gguf points/step-0000000$at.gguf --data c.jsonl
done
[ "$(numbers points/adapter.gguf)" != "$(numbers points/step-00000004.gguf)" ] || fail "step 4 is the result"
four=$(sha256sum <points/step-00000004.gguf)
rm points/step-0000000*.gguf points/adapter.gguf
quietly kept --out points --steps 6 --keep 3 --keep-adapters --resume
is "the same result" "$points" "$(digest)"
is "the same of step 4" "$four" "$(sha256sum <points/step-00000004.gguf)"
truncate -s 5000 points/step-00000002.ckpt
rm points/adapter.gguf
refuses 'step-00000002.ckpt' kept --out points --steps 6 --keep 3 --keep-adapters --resume
[ ! -e points/adapter.gguf ] || fail "a result beside a checkpoint that is cut"
quietly kept --out points --steps 6 --overwrite
[ ! -e points/step-00000004.gguf ] || fail "an adapter of an earlier run stays"
refuses '--keep-adapters: whole tensors alone are trained' kept --out whole --steps 2 --keep-adapters --targets all:full

# Answers while it trains: of the base before the first step, of what is learned at each checkpoint, of the result at the end;
# the result has the same bits with them, and so has a run that was stopped and goes on.
along() { "$hone" train d.gguf --data c.jsonl --batch 4 ${rank---rank 4} --rate 3e-2 --schedule constant --warmup 0 --steps 6 --save-every 2 --samples "${samples-2}" "$@"; }
said() { # FOLDER: steps with samples; whether the first and the last are those before and after; whether any differ
    ruby -rjson -e 'lines = File.readlines("#{ARGV[0]}/metrics.jsonl").map { |l| JSON.parse(l) }.select { |l| l["samples"] }
        all = JSON.parse(File.read("#{ARGV[0]}/samples.json"))["samples"]
        first, last = lines.values_at(0, -1).map { |l| l["samples"].map { |s| s["answer"] } }
        same = first == all.map { |s| s["before"] } && last == all.map { |s| s["after"] }
        asked = lines.all? { |l| l["samples"].map { |s| s.slice("prompt", "expected") } == all.map { |s| s.slice("prompt", "expected") } }
        puts "#{lines.map { |l| l["step"] }.join(" ")} #{same} #{asked} #{first != last}"' "$1"
}
quietly along --out alone
want=$(digest)
is "no answers" 0 "$(grep -c '"samples":' alone/metrics.jsonl)"
quietly along --out along --samples-along
is "the same bits" "$want" "$(digest)"
is "answers" "0 2 4 6 true true true" "$(said along)"
rm along/adapter.gguf along/step-00000006.ckpt
quietly along --out along --samples-along --resume
is "the same bits again" "$want" "$(digest)"
is "answers again" "0 2 4 6 true true true" "$(said along)"
rm along/adapter.gguf along/step-00000006.ckpt # as if it had been killed between a checkpoint and its answers
grep -v '^{"step":[456],"samples":' along/metrics.jsonl >cut && mv cut along/metrics.jsonl
quietly along --out along --samples-along --resume
is "answers of a checkpoint without any" "0 2 4 6 true true true" "$(said along)"
quietly along --out along --samples-along --resume
is "one verdict, of the last end" 1 "$(grep -c '"verdict":' along/metrics.jsonl)"
quietly along --out magnitudes --samples-along --targets attn:dora
is "answers with magnitudes" "0 2 4 6 true true true" "$(said magnitudes)"
rank=
quietly along --out wholly --samples-along --targets all:full # whole tensors have none
unset rank
is "answers of whole tensors" "0 2 4 6 true true true" "$(said wholly)"
quietly along --out bf16 --samples-along --numerics mixed
is "answers in bf16" "0 2 4 6 true true true" "$(said bf16)"
quietly "$hone" report along
samples=0
refuses '--samples-along: no samples are made' along --out none --samples-along
unset samples
refuses '--samples-along takes no value' train --out none --samples-along=3

# A run that was killed in the middle of a line: its page has the steps before that, and it goes on with the line made anew.
quietly train --out torn --steps 4 --save-every 2
want=$(digest)
rm torn/step-00000004.ckpt torn/adapter.gguf torn/report.html
sed -n 1,4p torn/metrics.jsonl | head -c -30 >cut.jsonl
cp cut.jsonl torn/metrics.jsonl
quietly "$hone" report torn
[ -s torn/report.html ] || fail "no page of a run that was killed"
quietly train --out torn --steps 4 --save-every 2 --resume
is "the same bits" "$want" "$(digest)"
is "each step once" "1 2 3 4" "$(sed -n 's/^{"step":\([0-9]*\),"loss".*/\1/p' torn/metrics.jsonl | tr '\n' ' ' | sed 's/ $//')"
{ head -1 torn/metrics.jsonl | head -c -30; cat torn/metrics.jsonl; } >cut.jsonl
cp cut.jsonl torn/metrics.jsonl
refuses 'torn/metrics.jsonl: byte' "$hone" report torn

# A certificate at the end: of the same data and rank as hone prove's, check by check.
shows '^[0-9]+ checks in [0-9.]+ s: 0 failed, 0 skipped$' train --out proved --steps 2 --prove
quietly "$hone" prove d.gguf --data c.jsonl --rank 4 --json alone.json
is "the same rows" "$(grep '"check":' alone.json)" "$(grep '"check":' proved/certificate.json)"
is "of which file it is" "  \"result\": \"$(sha256sum proved/adapter.gguf | cut -d ' ' -f 1)\"," "$(grep '"result":' proved/certificate.json)"
[ -z "$(grep '"result":' alone.json)" ] || fail "a certificate without a run is of a file"
quietly train --out proved --steps 2 --overwrite
[ ! -e proved/certificate.json ] || fail "a certificate of an earlier run stays"

# hone eval says of the adapter what the run said at its end, of the same held-out examples.
quietly train --out held --steps 6 --held-fraction 0.3
told=$(sed -n 's/.*"held_loss":\([0-9.]*\).*/\1/p' held/metrics.jsonl | tail -1)
quietly "$hone" eval d.gguf held/adapter.gguf --data c.jsonl --held-fraction 0.3 --json
found=$(tr '{' '\n' <out | sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' | tail -1)
holds "the same loss" "($found - $told) ^ 2 < 1e-12 && $found > 1"
shows '^held/adapter.gguf +[0-9.]+ +[0-9.]+ +[0-9.]+ % ' "$hone" eval d.gguf held/adapter.gguf r/adapter.gguf --data c.jsonl
is "side by side" 4 "$(wc -l <out)"

# Mixed numerics: of a base of any type; the adapter says so, is tried in them to the bit, and measured in
# others, by run, logits, eval and prove.
quietly "$hone" quantize --overwrite d.gguf b.gguf bf16
quietly "$hone" train b.gguf --data c.jsonl --batch 4 --rank 4 --out mixed --steps 6 --save-every 3 --numerics mixed --rate 1e-2
made=$(digest)
shows 'hone.adapter.numerics.*mixed.2' "$hone" inspect mixed/adapter.gguf --keys
quietly "$hone" logits --overwrite b.gguf --tokens 5,6,7,8,9 --numerics mixed --lora mixed/adapter.gguf --out mixed.npy
grep -q KL err && fail "bits were asked, and a KL is told"
shows 'of mixed numerics, run in f32: KL [0-9.e-]+ of its last logits, budget 0.01' \
    "$hone" logits --overwrite b.gguf --tokens 5,6,7,8,9 --lora mixed/adapter.gguf --out wide.npy
cmp -s mixed.npy wide.npy && fail "mixed numerics give the logits of f32"
shows '0 failed, 0 skipped' "$hone" prove b.gguf --data c.jsonl --numerics mixed
shows '^distance ' "$hone" prove b.gguf --data c.jsonl --numerics mixed
shows '^mixed/adapter.gguf' "$hone" eval b.gguf mixed/adapter.gguf --data c.jsonl --numerics mixed
grep -q KL err && fail "bits were asked, and a KL is told"
rm mixed/step-00000006.ckpt mixed/adapter.gguf
refuses 'another --numerics: it was mixed.2, now it is f32' "$hone" train b.gguf --data c.jsonl --batch 4 --rank 4 --out mixed --steps 6 --rate 1e-2 --resume
quietly "$hone" train b.gguf --data c.jsonl --batch 4 --rank 4 --out mixed --steps 6 --save-every 3 --numerics mixed --rate 1e-2 --resume
is "mixed, resumed" "$made" "$(digest)"
for base in d.gguf blocks.gguf; do # in f32, and in blocks
    [ -e $base ] || quietly "$hone" quantize --overwrite d.gguf $base q8_0
    quietly "$hone" train $base --data c.jsonl --batch 4 --rank 4 --out mixed-$base --steps 2 --numerics mixed
    shows '0 failed, 0 skipped' "$hone" prove $base --data c.jsonl --numerics mixed
done
quietly "$hone" train b.gguf --data c.jsonl --batch 4 --out masters --steps 2 --numerics mixed --targets all:full
shows '0 failed, 0 skipped' "$hone" prove b.gguf --data c.jsonl --numerics mixed --targets all:full

shows '  linear#.* sums=blocks' "$hone" plan d.gguf --numerics mixed --of prompt --steps
shows '  linear#.* sums=chain' "$hone" plan d.gguf --of prompt --steps
grep -q sums=blocks out && fail "f32 has products in blocks"

# What its first definition made, when products were chains: its own test is run in that, and a run that began in it does not go on.
cp -r "$2/tests/e2e/mixed_1" . && chmod u+w mixed_1 mixed_1/*
shows 'mixed_1/adapter.gguf: of the first definition of mixed numerics' \
    "$hone" logits --overwrite b.gguf --tokens 5,6,7,8,9 --numerics mixed --lora mixed_1/adapter.gguf --out now.npy
refuses 'another --numerics: it was mixed, now it is mixed.2' \
    "$hone" train b.gguf --data c.jsonl --batch 4 --rank 1 --targets attn_q --out mixed_1 --steps 2 --save-every 1 --numerics mixed --rate 1e-2 --resume
quietly "$hone" perplexity --overwrite b.gguf c.jsonl --chunk 64 --chunks 1 --numerics mixed --save saved
sed 's/"numerics":"mixed.2"/"numerics":"mixed"  /' saved >old
cmp -s saved old && fail "what is saved does not say in what"
refuses "old: its logits are of numerics 'mixed': expected f32, bf16.2, mixed.2 or int8.1" \
    "$hone" perplexity b.gguf c.jsonl --chunk 64 --chunks 1 --against old
quietly "$hone" prove b.gguf --data c.jsonl --numerics mixed --targets attn:dora
refuses "numerics 'bf16': losses are of f32 or mixed numerics" "$hone" eval b.gguf --data c.jsonl --numerics bf16
shows '^distance  *1  *0 ' "$hone" prove b.gguf --data c.jsonl --numerics bf16
refuses '--targets, --rank, --directions: nothing is trained in bf16' "$hone" prove b.gguf --data c.jsonl --numerics bf16 --targets all
refuses '--numerics bf16: expected f32 or mixed' train --out x --numerics bf16

# Refusals.
echo 'stepz = 4' >>run.toml
refuses 'run.toml.*stepz|stepz' "$hone" train run.toml
status 2
refuses 'unknown option --nonsense' train --out x --nonsense
refuses "target 'atn' matches no tensor" train --out x --targets atn
refuses 'blk.0.attn_q.weight is q8_0: a weight in blocks cannot be trained in full' sh -c \
    '"$1" quantize d.gguf q.gguf q8_0 && "$1" train q.gguf --data c.jsonl --out x --targets attn_q:full' sh "$hone"
refuses 'line 1: expected supervised tokens, found none' sh -c \
    'echo "{\"ids\":[1,2],\"weights\":[0,0]}" >none.jsonl; "$1" train d.gguf --data none.jsonl --out x' sh "$hone"
refuses 'nosuch.jsonl' "$hone" train d.gguf --data nosuch.jsonl --out x
refuses 'expected --data FILE' "$hone" train d.gguf --out x
refuses 'GiB are needed' train --out x --memory 1M
refuses 'not finite' "$hone" train d.gguf --data c.jsonl --batch 4 --out nan --rate 1e9 --targets all:full --optimizer sgd --clip 0 --warmup 0 --schedule constant --steps 30
refuses 'a run is there already' train --out r
refuses 'no run to go on with' train --out nothing --resume
refuses '--patience 2: expected --eval-every' train --out x --patience 2
refuses 'the data has single examples, which are for '"$(those goals HN_SINGLES)" train --out x --goal dpo
refuses '--balance batch: expected --balance-weight with it' train --out x --balance batch
refuses '--kl-weight is of '"$(those goals kl-weight)"': the goal is sft' train --out x --kl-weight 0.5
refuses '--beta is of '"$(those goals beta)"': the goal is sft' train --out x --beta 0.5
refuses '--beta 0: expected more than 0' train --out x --beta 0
refuses '--eps 0: expected more than 0' train --out x --eps 0
refuses '--beta is of '"$(those goals beta)"': the goal is sft' "$hone" eval d.gguf --data c.jsonl --beta 0.5
refuses '--goal dpo: the data has single examples' "$hone" eval d.gguf --data c.jsonl --goal dpo
refuses '--cooldown is of wsd: the schedule is cosine' train --out x --cooldown 0.5
refuses '--moments is of '"$(those optimizers moments)"': the optimizer is sgd' train --out x --optimizer sgd --moments bf16
refuses 'labelled examples, which are for '"$(those goals HN_LABELLED)" "$hone" train d.gguf --data labels.jsonl --out x
refuses '--batch 1: expected 2 at least' "$hone" train d.gguf --data labels.jsonl --out x --goal kto --batch 1
refuses '--desirable-weight is of '"$(those goals desirable-weight)"': the goal is sft' train --out x --desirable-weight 2
refuses '--undesirable-weight 0: expected more than 0' "$hone" train d.gguf --data labels.jsonl --out x --goal kto --undesirable-weight 0
refuses 'expected single examples' "$hone" train d.gguf --data c.jsonl --data labels.jsonl --out x
refuses '--moments is of '"$(those optimizers moments)"': the optimizer is lion' train --out x --optimizer lion --moments bf16
refuses 'pairs, which are for '"$(those goals HN_PAIRS)" "$hone" eval d.gguf --data pairs.jsonl --goal sft
refuses 'expected '"$(those optimizers '.*')" train --out x --optimizer adam
refuses '--beta2 is of '"$(those optimizers beta2)"': the optimizer is sgd' train --out x --optimizer sgd --beta2 0.9
[ ! -e x ] || fail "a refused run left a folder"

# Lion has betas of its own, which the adapter says; adamw's are not they.
quietly train --out lion --steps 4 --optimizer lion --rate 5e-5
want=$(digest)
quietly train --out lion2 --steps 4 --optimizer lion --rate 5e-5 --beta1 0.9 --beta2 0.99
is "lion's own betas" "$want" "$(digest)"
quietly train --out lion3 --steps 4 --optimizer lion --rate 5e-5 --beta2 0.999
[ "$(digest)" != "$want" ] || fail "--beta2 of lion changes nothing"
shows '^4 steps in f32, rate 5e-05 \(cosine\), lion in f32, seed 1$' train --dry-run --steps 4 --optimizer lion --rate 5e-5

# Preferences without a base: the loss falls, and hone eval says of the adapter what the run said.
quietly "$hone" train d.gguf --data pairs.jsonl --out orpo --goal orpo --steps 12 --batch 4 --rank 4 --rate 2e-3 --held-fraction 0.3
holds "orpo's held-out loss" "$(sed -n 's/.*"held_loss":\([0-9.]*\).*/\1/p' orpo/metrics.jsonl | tail -1) < $(sed -n 's/.*"held_loss":\([0-9.]*\).*/\1/p' orpo/metrics.jsonl | head -1)"
told=$(sed -n 's/.*"held_loss":\([0-9.]*\).*/\1/p' orpo/metrics.jsonl | tail -1)
quietly "$hone" eval d.gguf orpo/adapter.gguf --data pairs.jsonl --goal orpo --held-fraction 0.3 --json
found=$(tr '{' '\n' <out | sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' | tail -1)
holds "the same loss of orpo" "($found - $told) ^ 2 < 1e-12 && $found > 0.1"

# Labelled answers: the same of kto, whose micro-batches and interruptions do not show.
kto() { "$hone" train d.gguf --data labels.jsonl --goal kto --batch 6 --rank 4 --rate 2e-3 --steps 12 --held-fraction 0.3 --save-every 5 "$@"; }
quietly kto --out kto
want=$(digest)
quietly kto --out kto2 --micro-tokens 100 --threads 1
is "kto in small micro-batches" "$want" "$(digest)"
quietly kto --out kto3 --undesirable-weight 0.5
[ "$(digest)" != "$want" ] || fail "--undesirable-weight changes nothing"
holds "kto's held-out loss" "$(sed -n 's/.*"held_loss":\([0-9.]*\).*/\1/p' kto/metrics.jsonl | tail -1) < 0.49"
told=$(sed -n 's/.*"held_loss":\([0-9.]*\).*/\1/p' kto/metrics.jsonl | tail -1)
quietly "$hone" eval d.gguf kto/adapter.gguf --data labels.jsonl --held-fraction 0.3 --json
found=$(tr '{' '\n' <out | sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' | tail -1)
holds "the same loss of kto" "($found - $told) ^ 2 < 1e-12 && $found > 0.1"

# A plan that was accepted holds, to the last checkpoint: from the least memory on, in steps of 64 KiB.
for goal in dpo kto; do
    file=pairs.jsonl
    [ $goal = kto ] && file=labels.jsonl
    tight() { "$hone" train d.gguf --data $file --goal $goal --out tight --overwrite --steps 1 --batch 24 --samples 0 --memory "$1"; }
    refuses 'GiB are needed' tight 1M
    need=$(sed -n 's/.* \([0-9.]*\) GiB are needed.*/\1/p' err)
    for k in 1 2 3 4 5 6 7 8; do
        quietly tight "$(awk "BEGIN { printf \"%.0f\", $need * 1048576 * 1.006 + $k * 64 }")K"
    done
done

# Whole tensors of a Hugging Face directory: a model in GGUF, whose rows lie otherwise in a llama's
# attention; the one that the converted file's training gives.
ids='{"ids":[1,5,9,17,30,2,40,41,8]}'
for i in 1 2 3 4; do echo "$ids"; ids="{\"ids\":[7,$i,11,3,$((i * 9)),20]}"; done >ids.jsonl
for name in llama gemma3 mixtral; do
    rm -rf whole whole2
    quietly "$hone" convert --overwrite "$2/tests/differential/models/$name" w.gguf
    for base in "$2/tests/differential/models/$name" w.gguf; do
        quietly "$hone" train "$base" --data ids.jsonl --out whole --steps 6 --batch 4 --rate 1e-2 --targets all:full
        quietly "$hone" logits --overwrite whole/model.gguf --tokens 1,5,9,17,30 --out $name.npy
        [ ! -e whole/base.gguf ] || fail "$name: base.gguf was left"
        [ -e whole2 ] || { mv whole whole2 && mv $name.npy dir.npy; }
    done
    cmp -s dir.npy $name.npy || fail "$name: another model of the directory than of its GGUF"
    n=$((n + 1))
done

# Another base, another configuration, other data: a checkpoint goes on with its own only.
quietly train --out run --steps 8 --save-every 2
refuses 'another --rate: it was .*, now it is 0.001' train --out run --steps 8 --resume --rate 1e-3
cp c.jsonl kept.jsonl
sed 's/question 3/question x/' kept.jsonl >c.jsonl
refuses 'data' train --out run --steps 8 --resume
cp kept.jsonl c.jsonl
quietly "$hone" new --first spread --overwrite llama other.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 --seed 9
refuses 'base' "$hone" train other.gguf --data c.jsonl --out run --steps 8 --resume --batch 4 --rank 4

# A disk that fills up at a checkpoint: said, nothing half-written, and the last one still stands.
(
    trap '' XFSZ
    ulimit -f 20
    "$hone" train d.gguf --data c.jsonl --out full --steps 4 --save-every 1 --rank 64 >out 2>err
    echo $? >code
)
[ "$(cat code)" -ne 0 ] && [ "$(cat code)" -lt 128 ] || { cat err; fail "a full disk: status $(cat code)"; }
grep -Eq 'step-00000001.ckpt.*(large|space|written)' err || { cat err; fail "a full disk is not named"; }
there full/*.partial-* full/*.ckpt && fail "half a checkpoint was left"
n=$((n + 1))

# Ctrl-C finishes the step, saves, and says how to go on.
env --default-signal=INT "$hone" train d.gguf --data c.jsonl --out stop --steps 100000 --save-every 100000 --batch 4 --rank 4 >out 2>err &
pid=$!
until_there $pid [ -s stop/metrics.jsonl ]
kill -INT $pid
wait $pid
[ $? -eq 130 ] || fail "an interrupted run says that it is done"
grep -q 'this goes on with it:$' err && [ "$(tail -1 err)" = "  $hone train -o stop --resume" ] || { cat err; fail "how to go on is not said"; }
is "it is saved" 1 "$(ls stop/step-*.ckpt | wc -l)"

# Killed before its first checkpoint: it goes on by its folder alone, or another begins there.
quietly train --out calm --steps 40 --save-every 40 --samples 0
want=$(digest)
killed_early() {
    rm -rf early
    "$hone" train d.gguf --data c.jsonl --out early --steps 40 --save-every 40 --samples 0 --batch 4 --rank 4 >out 2>err &
    pid=$!
    until_there $pid [ -s early/metrics.jsonl ]
    kill -9 $pid
    wait $pid 2>/dev/null
    [ -s early/metrics.jsonl ] || { cat err; fail "it ended by itself"; }
    ! there early/*.ckpt early/adapter.gguf
}
kill_early() { # one that is too late tests nothing: again
    tries=1
    until killed_early; do
        tries=$((tries + 1))
        [ $tries -le 20 ] || fail "not killed early enough in twenty runs"
    done
}
kill_early
quietly "$hone" train -o early --resume
grep -q 'no step was saved: going on from the beginning' out || fail "where it goes on is not said"
is "killed early, resumed" "$want" "$(digest)"
refuses 'a run is there already' train --out early --steps 40 --save-every 40 --samples 0
kill_early
quietly train --out early --steps 40 --save-every 40 --samples 0
is "killed early, begun again" "$want" "$(digest)"
kill_early
quietly "$hone" train -o early --resume --rate 1e-3 --steps 4
quietly "$hone" train -o early --resume # and that is what it was told then

# Its folder is held while samples and report are written.
telling_run() {
    rm -rf telling
    "$hone" train d.gguf --data c.jsonl --out telling --steps 2 --batch 4 --rank 4 --samples 64 >out 2>err &
    pid=$!
    until [ -e telling/adapter.gguf ] || ! kill -0 $pid 2>/dev/null; do :; done
    looks=0
    while [ ! -e telling/report.html ] && kill -0 $pid 2>/dev/null; do
        flock -n telling/lock test ! -e telling/report.html && fail "the folder was given away before its report"
        looks=$((looks + 1))
    done
    wait $pid || { cat err; fail "what held it failed"; }
    [ $looks -gt 0 ]
}
tries=1
until telling_run; do # looked at too late: again
    tries=$((tries + 1))
    [ $tries -le 20 ] || fail "its report was there at once in twenty runs"
done
n=$((n + 2))
# A window that changes while it runs: what is drawn after fits it.
if ruby -e 'require "pty"' 2>/dev/null; then
    quietly ruby "$2/tests/e2e/progress_terminal.rb" "$hone" d.gguf c.jsonl window
else
    echo "skipped: a terminal: ruby is not installed"
fi
passed
