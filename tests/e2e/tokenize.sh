#!/bin/sh
# hone tokenize as a user meets it: BUILD SOURCE
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
mkdir "$work/model"
cp "$source/tests/differential/tokenizers/llama3.json" "$work/model/tokenizer.json"
echo '{"architectures":["LlamaForCausalLM"],"model_type":"llama"}' >"$work/model/config.json"
ids=$($hone tokenize "$work/model" --ids 'Hello world')
expect 'ids of an operand' "$ids" "$(printf 'Hello world' | $hone tokenize "$work/model" --ids)"
printf 'Hello world' >"$work/text"
expect 'ids of a file' "$ids" "$($hone tokenize "$work/model" --file "$work/text" --ids)"
expect 'a line a token' "$(echo "$ids" | tr ' ' '\n')" "$($hone tokenize "$work/model" 'Hello world' | cut -f1)"
expect 'pieces' 'Hello world' "$($hone tokenize "$work/model" 'Hello world' | cut -f2 | tr -d '\n')"
expect 'a newline stays in its line' '\n' "$(printf '\n' | $hone tokenize "$work/model" | cut -f2)"
expect 'a special token' '0' "$($hone tokenize "$work/model" --ids --special '<|end|>')"
expect 'the same as text' '<|end|>' "$($hone tokenize "$work/model" '<|end|>' | cut -f2 | tr -d '\n')"
expect 'nothing' '' "$($hone tokenize "$work/model" --ids '')"
message=$($hone tokenize "$work/model" --file "$work/text" 'Hello' 2>&1)
expect 'both text and file' '2' "$?"
expect 'which says so' 'yes' "$(case $message in *'found both'*) echo yes ;; *) echo "$message" ;; esac)"
rm "$work/model/tokenizer.json"
message=$($hone tokenize "$work/model" x 2>&1)
expect 'no tokenizer' '1' "$?"
expect 'is named' 'yes' "$(case $message in *'no tokenizer.json'*) echo yes ;; *) echo "$message" ;; esac)"
echo "$n_passed passed, $n_failed failed, 0 skipped"
[ $n_failed = 0 ]
