#!/bin/sh
# session.sh BUILD SOURCE: caches, sessions in files, adapters, memory and bench as a user meets them.
set -u
hone=$1/hone
models=$2/tests/differential/models
adapters=$2/tests/differential/adapters
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
passes() { n=$((n + 1)); }
gets() { # gets FILE COMMAND...: its output
    file=$1
    shift
    "$@" >"$file" 2>err </dev/null || { status=$?; cat err; fail "$*: status $status"; }
}
same() { # same WHAT FILE FILE
    cmp -s "$2" "$3" || { head -c 300 "$2"; echo; head -c 300 "$3"; fail "$1: $2 and $3 differ"; }
    passes
}
differ() { # differ WHAT FILE FILE
    cmp -s "$2" "$3" && fail "$1: $2 and $3 are the same"
    passes
}
refuses() { # refuses STATUS WORDS COMMAND...
    status=$1 words=$2
    shift 2
    "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$status" ] || { cat out err; fail "$*: status $got, expected $status"; }
    grep -q -- "$words" err || { cat err; fail "$*: the message lacks '$words'"; }
    passes
}
go() { # go FILE OPTIONS...: ids that a random model goes on with
    file=$1
    shift
    gets "$file" "$hone" run m.gguf -n 20 --ids --quiet --ignore-end "$@"
}
a100=0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789
gets /dev/null "$hone" new --overwrite gemma3 m.gguf layers=6 width=64 heads=4 kv_heads=2 head_dim=32 ffn=128 window=32 context=4096
gets /dev/null "$hone" new --overwrite gemma3 other.gguf layers=6 width=64 heads=4 kv_heads=2 head_dim=32 ffn=128 window=32 \
    context=4096 --seed 1

# Every type of cache: one answer on any number of threads, whether windows keep everything or not.
for type in f32 f16 bf16 q8_0 q4_0; do
    go one -p "$a100$a100" --cache $type --threads 1
    [ "$(wc -w <one)" -eq 20 ] || fail "--cache $type: $(cat one)"
    go three -p "$a100$a100" --cache $type --threads 3 --keep-all
    same "--cache $type" one three
done
refuses 2 "expected f32, f16, bf16, q8_0 or q4_0" "$hone" run m.gguf -p x --cache q5_0
refuses 1 "cache_k" "$hone" run $models/llama -p x --cache q8_0

# In bf16 too, the logits of a long prompt are the same at every level, and by all of them.
for arch in llama qwen3moe gemma3; do
    experts=
    [ $arch = qwen3moe ] && experts='experts=4 used=2 expert_ffn=96'
    gets /dev/null "$hone" new --overwrite $arch b.gguf --type bf16 layers=2 width=96 heads=4 kv_heads=2 head_dim=32 ffn=160 $experts
    gets /dev/null "$hone" logits --overwrite b.gguf -p "$a100" --numerics bf16 --threads 2 --out all.npy
    for level in $("$hone" devices --levels); do
        HN_ISA_MASK=$level "$hone" logits --overwrite b.gguf -p "$a100" --numerics bf16 --threads 1 --out one.npy \
            >out 2>err </dev/null || { cat err; fail "$arch at $level"; }
        same "$arch in bf16 at $level" all.npy one.npy
    done
done

# A session's file: the same text with it, and without, and the file goes on.
go want -p "$a100" --cache q8_0
go first -p "$a100" --cache q8_0 --session s.hone
same "leaving a session" want first
[ -s s.hone ] || fail "no session was left"
go second -p "$a100" --cache q8_0 --session s.hone --threads 3
same "with a session" want second
go want -p "${a100}more" --cache q8_0
go longer -p "${a100}more" --cache q8_0 --session s.hone
same "going on with a session" want longer
gets /dev/null "$hone" inspect s.hone --keys
cp s.hone kept
for wrong in "cache of q8_0: expected f16|m.gguf|--cache f16" \
             "numerics f32: expected bf16|m.gguf|--cache q8_0 --numerics bf16" \
             "another model|other.gguf|--cache q8_0" "session takes 60|m.gguf|--cache q8_0 --context 60"; do
    words=${wrong%%|*} rest=${wrong#*|}
    status=1
    case $words in *takes*) status=2 ;; esac
    refuses $status "$words" "$hone" run "${rest%%|*}" -p x -n 1 --session s.hone ${rest#*|}
    same "a session that was refused" s.hone kept
done
size=$(wc -c <s.hone)
printf '\001\002\003' | dd of=s.hone bs=1 seek=$((size - 50)) conv=notrunc 2>dd.err
refuses 1 "SHA-256" "$hone" run m.gguf -p x -n 1 --session s.hone --cache q8_0
head -c $((size / 2)) kept >s.hone
refuses 1 "s.hone" "$hone" run m.gguf -p x -n 1 --session s.hone --cache q8_0
refuses 1 "not a session" "$hone" run m.gguf -p x -n 1 --session m.gguf
refuses 1 "nowhere" "$hone" run m.gguf -p x -n 1 --session nowhere/s.hone
(ulimit -f 8; exec "$hone" run m.gguf -p "$a100" -n 1 --session full.hone) >out 2>err </dev/null
[ $? -eq 1 ] && grep -q full.hone err || { cat err; fail "a session on a full disk"; }
[ ! -e full.hone ] && [ ! -e full.hone.partial-* ] || fail "half a session is left"
passes

# How far a cache is from one in f32: what KL says of each type.
i=0
while [ $i -lt 30 ]; do echo "line $i: the quick brown fox jumps over it $((i * i))"; i=$((i + 1)); done >text
gets /dev/null "$hone" perplexity m.gguf text --chunk 128 --save f32.safetensors
for type in f16 q8_0 q4_0; do
    gets $type "$hone" perplexity m.gguf text --chunk 128 --cache $type --against f32.safetensors --json
    grep -q '"kl":' $type || fail "no KL of $type"
done
cmp -s q8_0 q4_0 && fail "q8_0 and q4_0 are the same"
passes

# Adapters.
llama=$models/llama
gets /dev/null "$hone" import --overwrite $adapters/llama a.gguf --base $llama
logits() { # logits FILE OPTIONS...
    file=$1
    shift
    gets /dev/null "$hone" logits --overwrite $llama --tokens 3,1,4,1,5,9,2,6 --out "$file" "$@"
}
logits plain
logits with --lora a.gguf
differ "an adapter" plain with
logits one --lora a.gguf:1
same "a scale of 1" with one
logits half --lora a.gguf:0.5
differ "a scale of 0.5" with half
logits none --lora a.gguf:1 --lora a.gguf:-1
gets without "$hone" run $llama -p x -n 9 --ids --quiet --ignore-end --temperature 0
gets lora "$hone" run $llama -p x -n 9 --ids --quiet --ignore-end --temperature 0 --lora a.gguf:9
differ "run with an adapter" without lora
gets back "$hone" run $llama -p x -n 9 --ids --quiet --ignore-end --temperature 0 --lora a.gguf:9 --lora a.gguf:-9
gets kl "$hone" perplexity $llama text --chunk 64 --lora a.gguf
gets kl0 "$hone" perplexity $llama text --chunk 64
differ "perplexity with an adapter" kl kl0
gets /dev/null "$hone" run $llama -p x -n 2 --quiet --session l.hone --lora a.gguf
refuses 1 "other adapters" "$hone" run $llama -p x -n 2 --session l.hone
refuses 2 "scale other than 0" "$hone" run $llama -p x --lora a.gguf:0
refuses 1 "none.gguf" "$hone" run $llama -p x --lora none.gguf
many=""
for i in 1 2 3 4 5 6 7 8 9; do many="$many --lora a.gguf"; done
refuses 2 "at most 8" "$hone" run $llama -p x $many

# What inspect foretells is what is used, within 5 %, but for the program's own pages, which a model of no size has too.
memory_of() { sed -n "s/^memory: at most \([0-9]*\) bytes.* and \([0-9]*\) of files.*/\\$1/p" err; }
"$hone" run $llama -p x -n 1 --quiet --used >out 2>err </dev/null || { cat err; fail "--used"; }
program=$(memory_of 2)
gets /dev/null "$hone" new --overwrite llama big.gguf --type q8_0 width=512 heads=8 kv_heads=4 ffn=2048 layers=12 vocab=4096 \
    context=4096 tied=true
i=0
while [ $i -lt 11 ]; do printf '%s' "$a100"; i=$((i + 1)); done >prompt
for type in f32 q8_0; do
    gets told "$hone" inspect big.gguf --context 1150 --cache $type --json
    told=$(sed -n 's/.*"total": *\([0-9]*\).*/\1/p' told)
    "$hone" run big.gguf -f prompt -n 49 --context 1150 --cache $type --ids --quiet --ignore-end --used \
        >out 2>err </dev/null || { cat err; fail "--used"; }
    used=$(($(memory_of 1) - program))
    if [ -n "${HN_SANITIZED:-}" ] || ! [ -r /proc/self/status ]; then continue; fi
    [ $((used * 100)) -le $((told * 105)) ] && [ $((used * 100)) -ge $((told * 95)) ] ||
        fail "--cache $type: $told bytes foretold, $used used"
    passes
done
gets all "$hone" inspect m.gguf --context 4096 --keep-all --json
gets windows "$hone" inspect m.gguf --context 4096 --json
cache() { sed -n 's/.*"cache": *\([0-9]*\).*/\1/p' "$1"; }
[ $(($(cache windows) * 2)) -lt $(cache all) ] || fail "windows: $(cache windows) of $(cache all) bytes"
passes

# Tokens a second.
gets table "$hone" bench m.gguf --prompt 20,40 --generate 5 --repeat 2 --json b.json
[ "$(grep -c '^ *[24]0 .* 5 ' table)" -eq 2 ] || { cat table; fail "bench"; }
grep -q '"prompt_tokens_per_second":[0-9.]*[1-9]' b.json && grep -q '"generate_tokens_per_second"' b.json ||
    fail "bench: $(cat b.json)"
passes
refuses 2 "--prompt 5,,6" "$hone" bench m.gguf --prompt 5,,6
refuses 2 "was made for 4096" "$hone" bench m.gguf --prompt 5000
refuses 1 "none.gguf" "$hone" bench none.gguf

# Beside another program, which is the same here, or one that says nothing that can be compared; what it ran in is gone.
mkdir temporary
export TMPDIR=$PWD/temporary
if [ -z "${HN_SANITIZED-}" ]; then # whose training steps take a minute
    gets beside "$hone" bench m.gguf --beside "$hone" --prompt 20 --generate 5 --repeat 1 --threads 1 --json beside.json
    [ "$(grep -cE '^(prompt of 20|generating after 20|training step, 1 thread).* [0-9.]+ +[0-9.]+ +[0-9.]+$' beside)" -eq 3 ] ||
        { cat beside; fail "bench --beside"; }
    [ "$(grep -o '"ratio":' beside.json | wc -l)" -eq 3 ] || fail "bench --beside: $(cat beside.json)"
fi
refuses 1 "nowhere/hone: No such file" "$hone" bench m.gguf --beside nowhere/hone --repeat 1
printf '#!/bin/sh\nexit 3\n' >fails
printf '#!/bin/sh\nexit 0\n' >silent
chmod +x fails silent
refuses 1 "fails bench: ended with status 3" "$hone" bench m.gguf --beside ./fails --repeat 1
refuses 1 "bench.json" "$hone" bench m.gguf --beside ./silent --repeat 1
refuses 2 "kernels: expected a model" "$hone" bench kernels --beside "$hone"
refuses 2 "bench gate: expected no --only" "$hone" bench gate --only gemm
[ -z "$(ls temporary)" ] || fail "bench --beside left $(ls temporary)"
unset TMPDIR
echo "$n passed, 0 failed, 0 skipped"
