#!/bin/sh
# show_tokens.sh BUILD SOURCE: `hone show-tokens` as a user meets it.
set -u
hone=$1/hone
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
shows() { # shows WHAT PATTERN COMMAND...: a line of the output matches
    what=$1 want=$2
    shift 2
    "$@" >out 2>err || { cat err; fail "$what: status $?"; }
    grep -Eq -- "$want" out || { cat out; fail "$what: no line matches '$want'"; }
    n=$((n + 1))
}
is() { # is WHAT EXPECTED FOUND
    [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
    n=$((n + 1))
}
refuses() { # refuses STATUS WORDS COMMAND...
    status=$1 words=$2
    shift 2
    "$@" >out 2>err
    got=$?
    [ "$got" -eq "$status" ] || { cat out err; fail "$*: status $got, expected $status"; }
    grep -q -- "$words" err || { cat err; fail "$*: the message lacks '$words'"; }
    n=$((n + 1))
}
"$hone" new llama --first spread m.gguf >/dev/null 2>&1 || fail "hone new"
cat >chats.jsonl <<'D'
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho\n\u00e9"}]}
{"messages": [{"role": "user", "content": "A long question, too long for what is left"}, {"role": "assistant", "content": "x"}]}
D
shows "a supervised token" '^\+ assistant +72  H$' "$hone" show-tokens m.gguf chats.jsonl
shows "the end of the turn" '^\+ assistant +257  <\|im_end\|>$' "$hone" show-tokens m.gguf chats.jsonl
shows "what is not" '^\. user +105  i$' "$hone" show-tokens m.gguf chats.jsonl
shows "a newline in its line" '^\+ assistant +10  \\n$' "$hone" show-tokens m.gguf chats.jsonl
shows "half a character" '\\xc3$' "$hone" show-tokens m.gguf chats.jsonl
printf 'prompt,completion,label,good\nq,a,true,TRUE\nq,b,False,no\n' >labels.csv
refuses 1 "labels.csv: line 3: key 'good'" "$hone" show-tokens m.gguf labels.csv
sed 's/,no$/,false/' labels.csv >truth.csv
shows "truth in a table" '^truth.csv: unpaired-preference, 2 examples' "$hone" show-tokens m.gguf truth.csv
shows "the summary" '^chats.jsonl: messages, 2 examples, sha256 ' "$hone" show-tokens m.gguf chats.jsonl
shows "the counts" '^2 examples to train: 2 sequences, ' "$hone" show-tokens m.gguf chats.jsonl
shows "the histogram" '^ +4-7 +1  #' "$hone" show-tokens m.gguf chats.jsonl
shows "one alone" '^# chats.jsonl line 2: [0-9]+ tokens, 2 supervised$' "$hone" show-tokens m.gguf chats.jsonl --index 1
is "and no other" 1 "$(grep -c '^#' out)"
"$hone" show-tokens m.gguf chats.jsonl --examples 0 >out || fail "--examples 0"
is "none" 0 "$(grep -c '^[#+.]' out)"
shows "no colours in a pipe" '^[+]' "$hone" show-tokens m.gguf chats.jsonl
is "none at all" 0 "$(grep -c "$(printf '\033')" out)"

# The ids are those of the rendered text, and so those that chat gives (TEMPLATE-SKEW).
"$hone" show-tokens m.gguf chats.jsonl --index 0 | awk '/^[+.] / { printf "%s%s", sep, $3; sep = " " } END { print "" }' >shown
head -1 chats.jsonl >one.json
"$hone" render m.gguf one.json --no-generation-prompt >text
"$hone" tokenize m.gguf --file text --ids --special >ids
is "the same ids" "$(cat ids)" "$(cat shown)"
n_prompt=$("$hone" render m.gguf one.json --no-generation-prompt --spans | awk '{ print $1 }')
is "all of the block and nothing else" "$(tail -c +$((n_prompt + 1)) text | "$hone" tokenize m.gguf --ids --special | awk '{ print NF - 1 }')" \
    "$("$hone" show-tokens m.gguf chats.jsonl --index 0 | grep -c '^+')"

# NO-SUPERVISION: cutting away every label is refused, or counted.
refuses 2 'line 2: expected supervised tokens, found none left after cutting' \
    "$hone" show-tokens m.gguf chats.jsonl --max-length 40 --too-long keep-start
shows "the drop" '^1 examples dropped$' "$hone" show-tokens m.gguf chats.jsonl --max-length 40 --too-long keep-start --drop-empty
shows "its first line" '^ +1  without a supervised token \(first: chats.jsonl line 2\)$' \
    "$hone" show-tokens m.gguf chats.jsonl --max-length 40 --too-long keep-start --drop-empty
refuses 2 'line 2: expected at most 40 tokens, as --max-length says, found 64' "$hone" show-tokens m.gguf chats.jsonl --max-length 40
shows "the end kept" '^2 examples to train' "$hone" show-tokens m.gguf chats.jsonl --max-length 40 --too-long keep-end
refuses 2 'expected no --max-length with it' "$hone" show-tokens m.gguf chats.jsonl --too-long allow --max-length 9

# Formats, several files, what is held out, the program's output.
printf 'one\n\ntwo\n' >t.txt
printf '{"text": "two"}\n' >h.jsonl
shows "two files" '^t.txt: paragraphs of text, 2 examples' "$hone" show-tokens m.gguf chats.jsonl t.txt --held h.jsonl
shows "held out" '^1 examples held out: 4 tokens$' "$hone" show-tokens m.gguf chats.jsonl t.txt --held h.jsonl
shows "found in both" 'trained and held out as well \(first: t.txt line 3, held out as h.jsonl line 1\)$' "$hone" show-tokens m.gguf t.txt --held h.jsonl
printf '{"prompt": "p", "chosen": "c", "rejected": "rr"}\n' >pairs.jsonl
shows "a pair" '^# pairs.jsonl line 1, rejected: ' "$hone" show-tokens m.gguf pairs.jsonl
printf '{"prompt": "p", "completion": "c"}\n' >p.jsonl
shows "a text" '^\. prompt +112  p$' "$hone" show-tokens m.gguf p.jsonl --plain
shows "and its end" '^\+ text +257  <\|im_end\|>$' "$hone" show-tokens m.gguf p.jsonl --plain
shows "JSON" '^\{"preflight":\{"files":\[\{"path":"p.jsonl","format":"prompt-completion"' "$hone" show-tokens m.gguf p.jsonl --json
is "two lines" 2 "$(wc -l <out | tr -d ' ')"
shows "all of it" '^\. ' "$hone" show-tokens m.gguf chats.jsonl --loss all
is "every token but the first" 1 "$(sed -n '/^# .*line 1/,/^$/p' out | grep -c '^\.')"
printf '{"messages": [{"role": "user", "content": "Hi"}]}\n{"messages": [}\n' >bad.jsonl
refuses 1 'bad.jsonl: line 2, column 15: expected a value' "$hone" show-tokens m.gguf bad.jsonl --drop-empty
refuses 1 'line 1: expected' "$hone" show-tokens m.gguf chats.jsonl --format alpaca
refuses 2 "data format: expected messages" "$hone" show-tokens m.gguf chats.jsonl --format excel
refuses 2 "unpaired-preference, alpaca" "$hone" show-tokens m.gguf chats.jsonl --format excel
refuses 2 "tokens, or a kind of file: json, jsonl, csv, tsv, parquet, paragraphs, found 'excel'" \
    "$hone" show-tokens m.gguf chats.jsonl --format excel
refuses 2 "loss: expected assistant" "$hone" show-tokens m.gguf chats.jsonl --loss some
refuses 2 'example 7: expected less than 2' "$hone" show-tokens m.gguf chats.jsonl --index 7
refuses 1 'none.jsonl' "$hone" show-tokens m.gguf none.jsonl

# A token that lies across the border of prompt and completion is counted, and not supervised.
mkdir words
cp "$2/tests/differential/tokenizers/llama3.json" words/tokenizer.json
echo '{"model_type": "llama"}' >words/config.json
echo '{"eos_token": "<|end|>"}' >words/tokenizer_config.json
printf '{"prompt": "Hel", "completion": "lo"}\n' >border.jsonl
shows "across the border" ', 2 supervised, 1 across a border$' "$hone" show-tokens words border.jsonl
shows "counted" ' with a token across the border of a supervised turn' "$hone" show-tokens words border.jsonl
echo '{}' >words/tokenizer_config.json
refuses 1 'expected the tokenizer to have an EOS token' "$hone" show-tokens words border.jsonl
echo "$n passed, 0 failed, 0 skipped"
