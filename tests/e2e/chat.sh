#!/bin/sh
# chat.sh BUILD SOURCE: a conversation over a pipe, and on a pseudo-terminal where Ruby has one.
set -u
hone=$1/hone
source=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
skipped=0
fail() { echo "FAILED: $*"; exit 1; }
passes() { n=$((n + 1)); }
chat() { # chat INPUT OPTIONS...: its output to `out`, notices to `err`
    printf "$1" >in
    shift
    "$hone" chat "$@" <in >out 2>err
    status=$?
}
succeeds() { [ $status -eq 0 ] || { cat out err; fail "$1: status $status"; }; }
is() { # is WHAT EXPECTED FOUND
    [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
    passes
}
has() { # has WHAT PATTERN FILE
    grep -q -- "$2" "$3" || { cat out err; fail "$1: no '$2' in $3"; }
    passes
}
refuses() { # refuses STATUS WORDS INPUT OPTIONS...
    want=$1 words=$2
    shift 2
    chat "$@"
    [ $status -eq "$want" ] || { cat out err; fail "$*: status $status, expected $want"; }
    has "$*" "$words" err
}
quiet() { "$@" >made 2>&1 || { cat made; fail "$*"; }; }

# Answers are "a" to the end that --count sets: 97 is a, 257 <|im_end|>, 10 the line's end.
quiet "$hone" new --overwrite llama m.gguf width=64 heads=4 kv_heads=2 layers=2 context=4096
a="--logit-bias 97=1000 --count 3"
# shellcheck disable=SC2086
{
chat 'one\ntwo\nthree\n/save c.json\n' m.gguf $a --overwrite --verbose
succeeds "three turns"
is "three answers" "aaa aaa aaa" "$(tr '\n' ' ' <out | sed 's/ $//')"
is "the conversation" '[{"role":"user","content":"one"},{"role":"assistant","content":"aaa"},{"role":"user","content":"two"},{"role":"assistant","content":"aaa"},{"role":"user","content":"three"},{"role":"assistant","content":"aaa"}]' "$(cat c.json)"
# Of the first turn all but its last token, which was drawn and not run; then what was added:
# that token, an end and line end, <|im_start|>, user, line end, the text, and so on.
has "the first turn" 'prompt: 22 tokens, 0 reused, 22 computed' err
has "the second turn" 'prompt: 49 tokens, 24 reused, 25 computed' err
has "the mode of the turns" '; f32$' err
has "the third turn" 'prompt: 78 tokens, 51 reused, 27 computed' err

# Keys of another day: the same answers, and little to compute.
chat 'one\ntwo\n' m.gguf $a --session keys.hone
succeeds "leaving a session"
chat 'one\ntwo\n' m.gguf $a --session keys.hone --verbose
succeeds "with a session"
is "answers with a session" "aaa aaa" "$(tr '\n' ' ' <out | sed 's/ $//')"
has "the first turn with a session" 'prompt: 22 tokens, 2[0-9] reused, [12] computed' err
refuses 1 'a cache of f32: expected f16' 'one\n' m.gguf $a --session keys.hone --cache f16
quiet "$hone" render m.gguf c.json
cp made rendered
quiet "$hone" tokenize m.gguf --file rendered --special --ids
[ "$(wc -w <made)" -gt 78 ] || fail "the rendered conversation"

chat 'one\n/system Be brief.\n/reset\ntwo\n/save c.json\n/system\n/save d.json\n/quit\nnever\n' m.gguf $a --overwrite --system 'Be long.'
succeeds "commands"
is "/reset and /system" '[{"role":"system","content":"Be brief."},{"role":"user","content":"two"},{"role":"assistant","content":"aaa"}]' "$(cat c.json)"
is "/system without a text" '[{"role":"user","content":"two"},{"role":"assistant","content":"aaa"}]' "$(cat d.json)"
is "/quit leaves" 2 "$(wc -l <out | tr -d ' ')"

chat 'one \\\ntwo\\\nthree\n"""\nfour\n\n/five\n"""\n//six\n"""seven"""\n\n   \n/save c.json' m.gguf $a --overwrite
succeeds "several lines"
is "several lines" 'one \ntwo\nthree|four\n\n/five|/six|seven|' "$(tr '{' '\n' <c.json | sed -n 's/.*"user","content":"\(.*\)"}.*/\1/p' | tr '\n' '|')"
chat '/help\n' m.gguf
has "/help" '/save FILE' err

chat 'one\n' m.gguf --logit-bias 257=1000
is "the model's own end" "" "$(cat out)"
succeeds "an empty answer"
chat 'one\ntwo\n' m.gguf --seed 5 --count 20 --threads 1
cp out want
chat 'one\ntwo\n' m.gguf --seed 5 --count 20 --threads 3
cmp -s want out || fail "the same seed, another text"
passes

# Thoughts: the template opens one, which never ends here; then one that --count ends.
printf '{{ messages[-1].content }}<think>\n' >think.jinja
chat 'one\n' m.gguf $a --template think.jinja --hide-thinking
is "a hidden thought" "" "$(cat out)"
chat 'one\n/save c.json\n' m.gguf $a --overwrite --template think.jinja
is "a shown thought" "aaa" "$(cat out)"
is "a thought that is kept" '[{"role":"user","content":"one"},{"role":"assistant","reasoning_content":"aaa","content":""}]' "$(cat c.json)"
printf '{{ messages[-1].content }}' >plain.jinja
printf '{{ messages|length }}{{ deep }}{{ tools[0].name }}' >own.jinja
printf '[{"name": "f"}]' >t.json
chat 'one\n' m.gguf $a --template own.jinja --set deep=true --tools t.json --verbose
has "variables and tools" 'prompt: 6 tokens' err # 1Truef

# Refusals.
refuses 2 '/nothing: no such command' '/nothing\n' m.gguf
refuses 2 '/save: expected' '/save\n' m.gguf
refuses 1 'nowhere' 'one\n/save nowhere/c.json\n' m.gguf $a
refuses 2 '--set shout=1: expected a variable that the chat template reads' 'one\n' m.gguf --set shout=1
refuses 2 '--tools t.json: expected a chat template that writes tools' 'one\n' m.gguf --tools t.json
refuses 2 'the context is full at 40: /reset' 'one\ntwo\n' m.gguf $a --context 40
refuses 2 'the answer was cut: the context is full at 30 tokens: /reset' 'one\n' m.gguf --logit-bias 97=1000 --context 30
is "an answer until then" "aaaaaaaaa" "$(cat out)"
printf '{{ raise_exception("roles must alternate") }}' >raise.jinja
refuses 2 'raise.jinja:1: raised: roles must alternate' 'one\n' m.gguf --template raise.jinja
printf '\n{%% if %%}' >bad.jinja
refuses 1 'bad.jinja:2' 'one\n' m.gguf --template bad.jinja
refuses 1 "llama has no chat template: --template" 'one\n' "$source/tests/differential/models/llama"
refuses 2 'logit-bias' 'one\n' m.gguf --logit-bias x
refuses 2 'a NUL' 'o\000e\n' m.gguf
}
cp -r "$source/tests/differential/models/llama" hf
printf '{{ bos_token }}{{ messages[0].content }}' >hf/chat_template.jinja
chat 'one\n' hf --count 1 --verbose
has "a directory" 'prompt: [0-9]* tokens' err
chat 'Who was there?\nWho was there?\n' hone:tiny --temperature 0.9 --count 20
succeeds "without guesses"
cp out alone
chat 'Who was there?\nWho was there?\n' hone:tiny --temperature 0.9 --count 20 --verbose --draft hone:tiny --draft-ngram 3
succeeds "with guesses"
is "an answer with guesses" "$(cat alone)" "$(cat out)"
has "figures of guesses" '; guessed [1-9][0-9]*, [1-9][0-9]* right; f32$' err
refuses 2 'the draft model hf' 'x\n' hone:tiny --draft hf
chat 'one\n' hf --count 5 --logit-bias 330=1000
succeeds "a padded vocabulary"
is "ids beyond the tokenizer's" "" "$(cat out)"

if ruby -e 'require "pty"' 2>/dev/null; then
    # A context that no answer fills before somebody ends it.
    quiet "$hone" new --overwrite llama wide.gguf width=64 heads=4 kv_heads=2 layers=2 context=100000
    ruby "$source/tests/e2e/chat_terminal.rb" "$hone" wide.gguf >terminal 2>&1 || { cat terminal; fail "the terminal"; }
    n=$((n + $(cat terminal)))
else
    echo "skipped: a terminal: ruby is not installed"
    skipped=1
fi
echo "$n passed, 0 failed, $skipped skipped"
