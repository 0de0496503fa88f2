#!/bin/sh
# hone story, new-tokenizer and new --tokenizer as a user meets them: BUILD SOURCE
hone=$1/hone
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
has() { # NAME WORDS TEXT
    case $3 in *"$2"*) expect "$1" yes yes ;; *) expect "$1" "... $2 ..." "$3" ;; esac
}
digest() { sha256sum "$1" | cut -c1-16; }

# The same stories on every machine.
$hone story --seed 3 --count 200 --out "$work/a.txt"
$hone story --seed 3 --count 200 --out "$work/a.jsonl"
$hone story --seed 3 --count 200 --chats --out "$work/chats.jsonl"
expect 'stories' fc0393e4656ed367 "$(digest "$work/a.txt")"
expect 'chats' db004bd797d3e6ae "$(digest "$work/chats.jsonl")"
expect 'any part of them' "$($hone story --seed 3 --first 7 --count 3)" \
    "$($hone story --seed 3 --count 10 | tail -n +15)"
expect 'the last of all' 0 "$($hone story --first 9223372036854775807 >/dev/null; echo $?)"
has 'and none after it' 'expected it and --count to end at' "$($hone story --first 9223372036854775807 --count 2 2>&1)"
expect 'a line a story' 200 "$(wc -l <"$work/a.jsonl" | tr -d ' ')"
has 'messages' '"role": "assistant"' "$(head -1 "$work/chats.jsonl")"

# Entropy.
report=$($hone story --entropy --seed 3 --count 300)
has 'each story is read back' '300, each with one derivation' "$report"
has 'nats' '100.5810 nats' "$report"
expect 'chats too' 0 "$($hone story --entropy --chats --count 100 >/dev/null; echo $?)"

# The judge.
has 'stories hold' '200 of 200 stories hold together' "$($hone story --check "$work/a.txt")"
has 'in either layout' '200 of 200 stories hold together' "$($hone story --check "$work/a.jsonl")"
name=$(sed -n 's/.*, and \([A-Z][a-z]*\) the .*/\1/p' "$work/a.txt" | head -1)
awk -v name="$name" '!done && index($0, name " the") { n = index($0, name " the") + length(name)
    rest = substr($0, n); sub(name, "Nobody", rest); $0 = substr($0, 1, n - 1) rest; done = 1 } 1' \
    "$work/a.txt" >"$work/b.txt"
report=$($hone story --check "$work/b.txt" 2>&1)
expect 'a swapped name' 1 "$?"
has 'is named by its sentence' 'sentence' "$report"
has 'one of all' '199 of 200 stories hold together' "$report"
expect 'fewer may do' 0 "$($hone story --check "$work/b.txt" --need 199 >/dev/null; echo $?)"
report=$($hone story --check "$work/b.txt" --against "$work/a.jsonl" --need 0 2>&1)
expect 'copies' 1 "$?"
has 'are shown' 'copied: ' "$report"
$hone story --seed 4 --count 200 --out "$work/c.jsonl"
has 'other stories copy nothing' '; 0 copy 20 words' \
    "$($hone story --check "$work/c.jsonl" --against "$work/a.txt")"
report=$($hone story --against "$work/a.txt" 2>&1)
expect 'against without check' 2 "$?"
has 'says so' 'it is for --check' "$report"
report=$($hone story --out "$work/a.csv" 2>&1)
has 'another ending' 'expected a name in .jsonl or .txt' "$report"

# Tokenizers.
has 'a tokenizer' ': 700 tokens' "$($hone new-tokenizer "$work/t.gguf" "$work/a.jsonl" --vocab 700)"
$hone new-tokenizer "$work/u.gguf" "$work/a.txt" --vocab 700 >/dev/null
expect 'of texts, whatever holds them' "$(digest "$work/t.gguf")" "$(digest "$work/u.gguf")"
$hone new qwen3moe --first spread "$work/m.gguf" --tokenizer "$work/t.gguf" layers=1 width=64 2>/dev/null
expect 'goes into a model' "$($hone tokenize "$work/t.gguf" --ids 'One sunny morning')" \
    "$($hone tokenize "$work/m.gguf" --ids 'One sunny morning')"
has 'with its chat template' '<|end|><|assistant|>' \
    "$(echo '[{"role":"user","content":"Hello"}]' >"$work/h.json"; $hone render "$work/m.gguf" "$work/h.json")"
report=$($hone new-tokenizer "$work/v.gguf" "$work/chats.jsonl" 2>&1)
has 'messages are no texts' 'expected a chat template' "$report"
report=$($hone new qwen3moe --first spread "$work/w.gguf" --tokenizer "$work/a.txt" 2>&1)
expect 'no tokenizer' 1 "$?"

echo "$n_passed passed, $n_failed failed, 0 skipped"
[ $n_failed = 0 ]
