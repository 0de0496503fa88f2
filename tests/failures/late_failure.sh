#!/bin/sh
# LATE-FAILURE: a run that has trained ends with an error and without its report because its samples
# do not fit, in the model's context or in memory.
set -u
hone=$1/hone
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
has() { grep -qE -- "$2" "$1" || { cat "$1"; fail "$1 lacks '$2'"; }; n=$((n + 1)); }
"$hone" new llama --first spread m.gguf context=64 width=64 layers=2 >/dev/null 2>&1 || fail "hone new"
printf '{"messages": [{"role": "user", "content": "a question of some words"}, {"role": "assistant", "content": "yes"}]}\n{"messages": [{"role": "user", "content": "no"}, {"role": "assistant", "content": "no"}]}\n' >d.jsonl
"$hone" train m.gguf --data d.jsonl --out run --steps 8 --rank 2 --rate 1e-2 >out 2>err ||
    { cat err; fail "samples beyond the context end the run"; }
has run/samples.json '"before":'
has run/report.html '<h2>Before and after</h2>'
has out 'report.html$'

# What came of it is said at the end, and in the report.
has out '^The loss went from [0-9.]+ to [0-9.]+ on what was trained'
has run/report.html '<p id="verdict">The loss went from'
printf '{"text": "abc"}\n{"text": "abd"}\n' >t.jsonl
printf '{"text": "abe"}\n' >h.jsonl
"$hone" train m.gguf --data t.jsonl --held h.jsonl --out good --steps 20 --rank 8 --rate 1e-2 >out 2>err || { cat err; fail "training"; }
has err '^before training: held-out loss'
has good/metrics.jsonl '^{"step":0,"held_loss":'
has out '^The held-out loss fell from [0-9.]+ to [0-9.]+: training helped'
"$hone" merge m.gguf good/adapter.gguf -o good.gguf >out 2>err || { cat err; fail "merging"; }
printf '{"text": "zzz zzz zzz"}\n{"text": "qqq"}\n' >z.jsonl
"$hone" train good.gguf --data z.jsonl --held t.jsonl --out bad --steps 12 --rank 8 --rate 30 --schedule constant >out 2>err || { cat err; fail "training badly"; }
has out 'The held-out loss rose from'
has out 'is above ln\(vocabulary\)'
has bad/report.html 'is above ln\(vocabulary\)'
echo "$n passed, 0 failed, 0 skipped"
