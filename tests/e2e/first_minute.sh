#!/bin/sh
# first_minute.sh BUILD SOURCE: hone as somebody meets it who has just built it: typos, --help, a narrow
# terminal, a pipe, Ctrl-C, and what commands say they made.
set -u
hone=$1/hone
source=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
refuses() { # refuses STATUS WORDS COMMAND...
    status=$1 words=$2
    shift 2
    "$@" >out 2>err
    got=$?
    [ "$got" -eq "$status" ] || { cat err; fail "$*: status $got, expected $status"; }
    grep -qF -- "$words" err || { cat err; fail "$*: the message lacks '$words'"; }
    n=$((n + 1))
}
shows() { # shows PATTERN COMMAND...
    want=$1
    shift
    "$@" >out 2>err || { cat err; fail "$*: status $?"; }
    grep -Eq -- "$want" out || { cat out; fail "$*: no line matches '$want'"; }
    n=$((n + 1))
}

# Typos, and words of others.
refuses 2 "unknown command 'trian', did you mean train?" "$hone" trian m.gguf
refuses 2 "did you mean version?" "$hone" verison
refuses 2 "unknown option --temprature, did you mean --temperature?" "$hone" run m.gguf --temprature 1
refuses 2 "unknown option --lr: here it is --rate" "$hone" train m.gguf --lr 1
refuses 2 "unknown option --batch-size: here it is --batch" "$hone" train m.gguf --batch-size 1
refuses 2 "unknown option --maxlength, did you mean --max-length?" "$hone" train m.gguf --maxlength 1
refuses 2 "layer is no key of a model's shape, did you mean layers?" "$hone" new llama m.gguf layer=2
refuses 1 "architecture qwen3mo is not supported, did you mean qwen3moe?" "$hone" new qwen3mo m.gguf
refuses 2 "unknown option --zzzzzzzz" "$hone" run m.gguf --zzzzzzzz
grep -q 'did you mean' err && fail "a word that is near to nothing got one"
shows '^m.gguf: llama, [0-9]+ tensors \([0-9]+ F32\), [0-9]+ numbers in [0-9.]+ MiB, 32.00 bits each$' "$hone" new llama m.gguf
refuses 2 "did you mean q4_k_m?" "$hone" quantize m.gguf q.gguf q4km
shows '^q.gguf: llama, .* Q4_K, .* bits each$' "$hone" quantize m.gguf q.gguf q4_k_m

# Help: every command's, by both names, with every default, an example that parses, and 80 columns.
shows "^hone [0-9]" "$hone" version
cp out version
shows "^hone [0-9]" "$hone" --version
cmp -s out version || fail "version and --version differ"
shows '^  train  ' "$hone" help
shows '^usage: hone train ' "$hone" help train
cp out help
"$hone" train --help >out && cmp -s out help || fail "help train and train --help differ"
for words in '--rate LR +the learning rate \[0.0002\]' '--rank R +.*\[16\]' '--schedule NAME +.*\[cosine\]' '--dropout P +.*\[0\]' \
    '^what is trained:$' '^the optimiser:$' '^how examples become tokens:$' '^  hone train m.gguf --data'; do
    grep -Eq -- "$words" help || { cat help; fail "help train lacks '$words'"; }
    n=$((n + 1))
done
(mkdir empty && cd empty && "$hone" help --examples) >examples || fail "help --examples"
grep -q WRONG examples && { grep WRONG examples; fail "an example that does not parse"; }
[ "$(wc -l <examples)" -ge 30 ] || fail "fewer examples than commands"
# In an empty folder what an example lacks is files, status 1: one that is wrong usage lacks an option.
grep -Ev '^hone (chat|serve|jobs|bench|demo|devices)' examples | while read -r line; do
    rm -rf lacking
    (mkdir lacking && cd lacking && PATH=$(dirname "$hone"):$PATH && eval "$line") >out 2>err </dev/null
    [ $? -le 1 ] || { cat err; fail "$line: is wrong usage"; }
done || exit 1
sed -n 's/^hone \([a-z-]*\).*/\1/p' examples | while read -r command; do
    COLUMNS=80 "$hone" help "$command" >out || fail "help $command"
    awk -v c="$command" '/^  +(-[a-z], )?--/ || /^ {30}/ { if (length($0) > 80) { print c ": " $0; bad = 1 } } END { exit bad }' out || exit 1
done || fail "a line of help is wider than 80 columns"

# The README begins with commands that talk, and names every architecture that runs.
sed -n '/^## Try it/,/^## Use/p' "$source/README.md" | grep -m4 '^    ' >"$dir/first"
sed -n 3p "$dir/first" | grep -q '^    curl ' || fail "the README's third command is not curl"
grep -q 'build/hone chat' "$dir/first" || fail "the README does not begin with chat"
"$hone" archs | awk '/ run[ ,]/ { print $1 }' >archs
[ "$(wc -l <archs)" -ge 10 ] || fail "archs lists too few"
while read -r arch; do
    grep -qw -- "$arch" "$source/README.md" || fail "the README does not name $arch"
    n=$((n + 1))
done <archs

# archs NAME prints the tables that the readers ask through: a row's name, its use, why.
while read -r arch; do
    "$hone" archs "$arch" >keys || fail "archs $arch"
    for words in '  hidden_size .* used' '  transformers_version .* changes nothing: ' "  $arch.embedding_length .* used" \
        'Every other key is refused'; do
        grep -q "$words" keys || [ "$arch" = gpt2 ] || fail "archs $arch does not say: $words"
    done
done <archs
refuses 1 "architecture lama is not supported, did you mean llama?" "$hone" archs lama

# Talking with nothing to give.
echo 'Tell me a story.' | "$hone" chat --count 8 --temperature 0 >out 2>err || { cat err; fail "chat without a model"; }
[ -s out ] && grep -q 'the one that is built in' err || fail "chat without a model does not say so"
n=$((n + 1))

# In a pipe, what was said first stands first.
printf '{"text": "abc"}\n{"text": "abd"}\n' >d.jsonl
"$hone" train m.gguf --data d.jsonl --out run --steps 2 --rank 2 --samples 0 >/dev/null 2>&1 || fail "training"
"$hone" train m.gguf --data d.jsonl --out run --steps 2 --rank 2 2>&1 | cat >both
[ "$(tail -1 both | grep -c 'a run is there already')" = 1 ] && [ "$(head -1 both | grep -c '^d.jsonl:')" = 1 ] || { cat both; fail "the error stands above what was printed"; }
n=$((n + 1))

# On a terminal the line of steps keeps within it, whatever its width.
if command -v script >/dev/null 2>&1; then
    for width in 40 60 80 120; do
        script -qec "stty cols $width; $hone train m.gguf --data d.jsonl --out at$width --steps 20 --rank 2 --samples 0" /dev/null </dev/null >tty 2>&1 || { cat tty; fail "training on a terminal"; }
        tr '\r' '\n' <tty | sed "s/$(printf '\033')\[K//g" | grep '/20  loss' >lines
        [ -s lines ] || { cat tty; fail "no line of steps"; }
        awk -v w=$width 'length($0) >= w { print; bad = 1 } END { exit bad }' lines || fail "wider than $width columns"
        n=$((n + 1))
    done
fi

# Interrupted: what happened, then a line that can be pasted, and it goes on.
i=0
while [ $i -lt 40 ]; do i=$((i + 1)); echo "{\"text\": \"number $i is not $((i * 7))\"}"; done >"d 2.jsonl"
"$hone" new llama s.gguf layers=1 width=32 heads=2 kv_heads=1 >/dev/null || fail "a small model"
interrupted() {
    rm -rf "stopped here"
    ruby -e 'trap("INT", "DEFAULT"); exec(*ARGV)' "$hone" train s.gguf --data "d 2.jsonl" --out "stopped here" --steps 800 --save-every 400 --rank 2 --samples 0 >out 2>err &
    pid=$!
    until [ -s "stopped here/metrics.jsonl" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    kill -INT $pid
    wait $pid
    status=$?
    [ $status -ne 0 ]
}
tries=1
until interrupted; do # it was done before: again
    tries=$((tries + 1))
    [ $tries -le 20 ] || fail "twenty runs were done before Ctrl-C came"
done
[ $status -eq 130 ] || { cat err; fail "interrupted: status $status, expected 130"; }
grep -q 'stopped after step [0-9]* of 800: the run is saved in stopped here; this goes on with it:$' err || { cat err; fail "no sentence"; }
line=$(tail -1 err)
[ "$line" = "  $hone train -o 'stopped here' --resume" ] || fail "no line to paste: $line"
sh -c "$line" >out 2>err || { cat err; fail "the line does not go on"; }
grep -q '^going on after step' out || { cat out; fail "the line begins anew"; }
n=$((n + 1))

# The report says what it is of.
for words in '<th>model</th><td>m.gguf' '<th>data</th><td>d.jsonl: 2 examples' '<th>command</th><td>.*hone train m.gguf --data d.jsonl' \
    '<th>version</th><td>[0-9]' '<th>machine</th><td>' '<th>date</th><td>20'; do
    grep -q -- "$words" run/report.html || fail "the report lacks '$words'"
    n=$((n + 1))
done
shows 'peft/adapter_model.safetensors: [0-9.]+ ' "$hone" export run/adapter.gguf --peft peft --base m.gguf
echo "$n passed, 0 failed, 0 skipped"
