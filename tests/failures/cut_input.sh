#!/bin/sh
# CUT-INPUT: what cannot be read to its end is taken for a text that is shorter, or what is closed for the next file that is opened.
. "$2/tests/failures/cli.sh"
dense d.gguf

# A folder can be opened and not be read; of a stream that is closed the number goes to the model's file, which was the prompt once.
for command in "tokenize d.gguf" "run d.gguf" "chat d.gguf"; do
    "$hone" $command </ >out 2>err
    is "$command of a folder" 1 $?
    grep -q 'standard input: .*Is a directory' err || fail "$command of a folder: $(cat err)"
    "$hone" $command <&- >out 2>err
    is "$command of nothing" 1 $?
    grep -q 'standard input: .*Bad file descriptor' err || fail "$command of nothing: $(cat err)"
    is "$command of nothing: what it says" 0 "$(wc -c <out)"
done
printf '' | quietly "$hone" tokenize d.gguf --ids
printf 'ab' | quietly "$hone" tokenize d.gguf --ids

# What is written goes into no file that took the number of a stream.
"$hone" logits d.gguf -p a --out l.npy
for closed in '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    eval '"$hone" logits d.gguf -p a --out closed.npy --overwrite' "$closed"
    is "logits with $closed" 0 $?
    cmp l.npy closed.npy || fail "logits with $closed: other bytes"
    eval '"$hone" run d.gguf -p a -n 4 --session s.gguf' "$closed"
    rm -f s.gguf
done
cp d.gguf before.gguf
"$hone" run d.gguf -p a -n 4 --session s.gguf >&- 2>err
is "run with no output" 1 $?
cmp d.gguf before.gguf || fail "the model changed"

# Lines of a chat that say that more follows, and nothing does.
for text in '"""\nabc\n' '"""abc' 'abc\\' 'abc\\\n'; do
    printf "$text" | "$hone" chat d.gguf --count 2 >out 2>err
    is "a chat that ends in $text" 1 $?
    grep -Eq 'ends (within a block|in a backslash): expected' err || fail "a chat that ends in $text: $(cat err)"
    is "a chat that ends in $text: what it says" 0 "$(wc -c <out)"
done
for text in '"""\nabc\n"""\n' '"""abc"""' 'abc\\\nd'; do
    printf "$text" | "$hone" chat d.gguf --count 2 >out 2>err
    is "a chat of $text" 0 $?
done
passed
