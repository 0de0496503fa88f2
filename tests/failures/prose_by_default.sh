#!/bin/sh
# PROSE-BY-DEFAULT: a table, or JSON with a mistake in its first line, is trained as prose, all of it
# supervised. A file is what its name says, or refused with line and column.
. "$2/tests/failures/cli.sh"
refuses() { # WORDS COMMAND...: as cli.sh's, but the words are taken as they stand
    words=$1
    shift
    "$@" >out 2>err && fail "$*: was taken"
    grep -qF -- "$words" err || { cat err; fail "$*: the message lacks '$words'"; }
    n=$((n + 1))
}
same() { # same A B: two files give the same tokens
    "$hone" show-tokens m.gguf "$1" --examples 99 | grep '^[.+]' >a || fail "$1"
    "$hone" show-tokens m.gguf "$2" --examples 99 | grep '^[.+]' >b || fail "$2"
    cmp -s a b || { diff a b; fail "$1 and $2 are not the same"; }
    n=$((n + 1))
}
"$hone" new llama --first spread m.gguf >/dev/null 2>&1 || fail "hone new"

# What begins with a mistake.
printf 'messages": []}\n{"text": "two"}\n' >bad.jsonl
refuses 'bad.jsonl: line 1, column 1: expected an example of JSON a line' "$hone" show-tokens m.gguf bad.jsonl
refuses 'bad.jsonl: line 1, column 1' "$hone" train m.gguf --data bad.jsonl --out run --dry-run
refuses 'bad.jsonl: line 1, column 1' "$hone" eval m.gguf --data bad.jsonl
printf '\n  text\n' >bad.json
refuses 'bad.json: line 2, column 3: expected JSON' "$hone" show-tokens m.gguf bad.json
printf '{"text": "one"}\n{"text": "two"\n' >late.jsonl
refuses 'late.jsonl: line 2, column 15: expected' "$hone" show-tokens m.gguf late.jsonl
printf '[{"text": "a"}]\n' >array.jsonl
refuses "array.jsonl: line 1, column 1: expected an example of JSON a line, '{', found '['" "$hone" show-tokens m.gguf array.jsonl
shows '^array.jsonl: text, 1 examples' "$hone" show-tokens m.gguf array.jsonl --format json

# Other names.
printf 'PAR1\000\000' >x.parquet
refuses 'x.parquet: Parquet cannot be read yet' "$hone" show-tokens m.gguf x.parquet
printf 'just words\n' >words
refuses 'words: expected a name that ends in' "$hone" show-tokens m.gguf words
shows '^words: paragraphs of text, 1 examples' "$hone" show-tokens m.gguf words --format paragraphs
printf 'a,b\n1,2\n' >data.csv.bak
refuses 'data.csv.bak: expected a name that ends in' "$hone" show-tokens m.gguf data.csv.bak
printf '{"text": "a"}\n' >j.txt
refuses 'j.txt: line 1, column 1: expected text, as the name says' "$hone" show-tokens m.gguf j.txt
shows '^j.txt: text, 1 examples' "$hone" show-tokens m.gguf j.txt --format jsonl
shows '^j.txt: paragraphs of text, 1 examples' "$hone" show-tokens m.gguf j.txt --format paragraphs
printf 'caf\351\n' >latin.txt
refuses 'latin.txt: line 1: expected text in UTF-8, found byte 0xe9' "$hone" show-tokens m.gguf latin.txt

# Tables.
printf 'prompt,completion\n"a ""b"", c","d\ne"\n\nf,g\n' >t.csv
printf '{"prompt": "a \\"b\\", c", "completion": "d\\ne"}\n{"prompt": "f", "completion": "g"}\n' >t.jsonl
same t.csv t.jsonl
printf '\357\273\277prompt\tcompletion\r\n"a ""b"", c"\t"d\ne"\r\nf\tg' >t.tsv
same t.tsv t.jsonl
printf 'messages,weight\n"[{""role"": ""user"", ""content"": ""q""}, {""role"": ""assistant"", ""content"": ""a""}]",0.5\n' >m.csv
shows '^\+ assistant +97  a  x0.5$' "$hone" show-tokens m.gguf m.csv
printf 'text\n42\n' >n.csv
shows '^\+ text +50  2$' "$hone" show-tokens m.gguf n.csv
printf 'text;score\n' >s.csv
refuses 's.csv: expected examples, found none' "$hone" show-tokens m.gguf s.csv
printf 'prompt;completion\na;b\n' >semicolon.csv
refuses 'found the keys: prompt;completion' "$hone" show-tokens m.gguf semicolon.csv
printf 'prompt,completion\na,b\nc\n' >short.csv
refuses 'short.csv: line 3: expected 2 cells, as the header has, found 1' "$hone" show-tokens m.gguf short.csv
printf 'prompt,completion\na,b "c"\n' >quote.csv
refuses 'quote.csv: line 2, column 5: expected no quote inside' "$hone" show-tokens m.gguf quote.csv
printf 'prompt,completion\na,"b" c\n' >after.csv
refuses 'after.csv: line 2, column 6: expected the next cell' "$hone" show-tokens m.gguf after.csv
printf 'prompt,completion\na,"b\nc,d\n' >open.csv
refuses 'open.csv: line 2, column 3: expected a closing quote' "$hone" show-tokens m.gguf open.csv
printf 'prompt,completion\na\rb,c\n' >return.csv
refuses 'return.csv: line 2, column 3: expected a line end' "$hone" show-tokens m.gguf return.csv
printf 'prompt,prompt\na,b\n' >twice.csv
refuses "twice.csv: line 1: column 2: expected another name than column 1's, found 'prompt' again" "$hone" show-tokens m.gguf twice.csv
printf 'prompt,completion,notes\na,b,c\n' >extra.csv
refuses "extra.csv: line 2: key 'notes'" "$hone" show-tokens m.gguf extra.csv
shows '^1 examples to train' "$hone" show-tokens m.gguf extra.csv --ignore-field notes
printf 'prompt,completion,score\na,b,4.5\n' >score.csv
shows '^1 examples to train' "$hone" show-tokens m.gguf score.csv
printf 'prompt,chosen,rejected\na,"[{""role"": 1}",c\n' >list.csv
refuses 'column chosen: expected JSON, since it begins as a list of messages' "$hone" show-tokens m.gguf list.csv
printf 'text\ncaf\351\n' >latin.csv
refuses 'latin.csv: line 2: column text: expected UTF-8, found byte 0xe9' "$hone" show-tokens m.gguf latin.csv
printf 'text\n"a"\n' >forced.txt
shows '^forced.txt: text, 1 examples' "$hone" show-tokens m.gguf forced.txt --format csv
shows '^forced.txt: text, 1 examples' "$hone" show-tokens m.gguf forced.txt --format csv,text
refuses 'expected one kind of file, found csv and tsv' "$hone" show-tokens m.gguf forced.txt --format csv,tsv

# What is trained of a table is what is trained of the same examples in JSON.
for kind in csv jsonl; do
    "$hone" train m.gguf --data t.$kind --out run-$kind --steps 2 --rank 2 --samples 0 >out 2>err || { cat err; fail "training $kind"; }
    grep -o '"loss":[^,]*' run-$kind/metrics.jsonl >loss-$kind
    [ -s loss-$kind ] || fail "no losses"
done
cmp -s loss-csv loss-jsonl || fail "a table is trained otherwise"
n=$((n + 1))
echo "$n passed, 0 failed, 0 skipped"
