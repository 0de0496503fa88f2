#!/bin/sh
# The model that is built in: what it must have learned. BUILD SOURCE [--quick: without the demo, which make demo runs]
hone=$1/hone source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_passed=0 n_failed=0
expect() { # NAME EXPECTED FOUND
    if [ "$2" = "$3" ]; then
        n_passed=$((n_passed + 1))
    else
        n_failed=$((n_failed + 1))
        printf '%s: expected\n%s\nfound\n%s\n' "$1" "$2" "$3"
    fi
}
$hone tiny "$work/tiny.gguf" >/dev/null
expect 'it is the file of the tree' 0 "$(cmp "$work/tiny.gguf" "$source/assets/hone-tiny.gguf"; echo $?)"
bytes=$(wc -c <"$work/tiny.gguf" | tr -d ' ')
expect 'under 4 MB' yes "$([ "$bytes" -lt 4000000 ] && echo yes || echo "$bytes")"
expect 'the committed one' yes "$(grep -q "$(sha256sum "$work/tiny.gguf" | cut -d' ' -f1)" "$source/recipes/tiny/SHA256" && echo yes)"

# Its loss on stories that it has never seen, beside their entropy.
$hone story --seed 7 --count 64 --out "$work/new.jsonl"
nats=$($hone story --seed 7 --count 64 --entropy | sed -n 's/^nats *\([0-9.]*\).*/\1/p')
ratio=$($hone eval "$work/tiny.gguf" --data "$work/new.jsonl" --json 2>/dev/null |
    tr ',' '\n' | sed 's/[^0-9.a-z]//g' | awk -v nats="$nats" '
        /^loss/ { loss = substr($0, 5) } /^tokens/ { tokens = substr($0, 7) }
        END { printf "%.4f", loss * tokens / nats }')
echo "held-out loss is $ratio of the entropy"
expect 'within 10 % of the entropy' yes "$(awk -v r="$ratio" 'BEGIN { print ((r > 0.99 && r <= 1.1) ? "yes" : r) }')"

# A hundred stories of its own: 90 hold together, and none copies.
$hone story --seed 1 --count 144000 --out "$work/train.jsonl"
"$source/recipes/tiny/judge.sh" "$hone" "$work/tiny.gguf" "$work" >"$work/verdict" 2>&1
expect '90 of 100 hold together, none copies' 0 "$?"
tail -2 "$work/verdict"

# The demo: what it knew, what it knows, and the one adapter.
if [ "${3:-}" != --quick ]; then
    [ "$(uname -m)" = x86_64 ] && HN_ISA_MASK=avx2 && export HN_ISA_MASK # another set than the model's making
    expect 'the demo' 0 "$(cd "$work" && "$hone" demo >"$work/demo" 2>&1; echo $?)"
    tail -4 "$work/demo"
fi

echo "$n_passed passed, $n_failed failed, 0 skipped"
[ $n_failed = 0 ]
