#!/bin/sh
# render.sh BUILD SOURCE: `hone render` on a Hugging Face directory and a GGUF file made here.
set -u
hone=$1/hone
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
is() { # is WHAT EXPECTED COMMAND...: the whole output
    what=$1 want=$2
    shift 2
    "$@" >out 2>err || { cat err; fail "$what: status $?"; }
    printf '%s' "$want" >want
    cmp -s want out || { diff want out; fail "$what"; }
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
keys() { # the keys of templates, sorted
    "$hone" inspect "$1" --keys | grep -a "^ *[a-z]*\.chat_template" | tr -s ' ' | sed 's/^ *//' | sort
}
mkdir -p hf/additional_chat_templates
echo '{"model_type": "llama"}' >hf/config.json
echo '{"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": "config"}' >hf/tokenizer_config.json
cat >hf/chat_template.jinja <<'T'
{{- bos_token }}
{%- for m in messages %}
[{{ m.role }}]{{ m.content | trim }}{{ eos_token }}
{%- endfor %}
{%- if enable_thinking is defined %}<think={{ enable_thinking }}>{% endif %}
{%- if add_generation_prompt %}[assistant]{% endif %}
T
printf 'tools:{{ tools[0].name }}{%% generation %%}x{%% endgeneration %%}' >hf/additional_chat_templates/tool_use.jinja
echo '[{"role": "user", "content": " Hi \u00e9"}]' >m.json
echo '[{"name": "f"}]' >t.json
echo "{\"messages\": $(cat m.json), \"tools\": $(cat t.json)}" >both.json
is "a directory" '<s>[user]Hi é</s>[assistant]' "$hone" render hf m.json
is "no prompt" '<s>[user]Hi é</s>' "$hone" render hf m.json --no-generation-prompt
is "a variable" '<s>[user]Hi é</s><think=False>[assistant]' "$hone" render hf m.json --set enable_thinking=false
is "tools" 'tools:fx' "$hone" render hf m.json --tools t.json
is "tools in the object" 'tools:fx' "$hone" render hf both.json
is "spans" '7 8
' "$hone" render hf both.json --spans
is "origins" '0 9
14 29
' "$hone" render hf m.json --origins
refuses 2 "--spans beside --origins" "$hone" render hf m.json --origins --spans
is "by name" '<s>[user]Hi é</s>[assistant]' "$hone" render hf both.json --template-name default
printf '{{ messages | length }}' >own.jinja
is "another template" '1' "$hone" render hf m.json --template own.jinja
printf "{{ strftime_now('%%Y-%%m-%%d %%H:%%M:%%S') }}" >own.jinja
is "a clock" '2001-09-09 01:46:40' env TZ=Asia/Tokyo "$hone" render hf m.json --template own.jinja --clock 1000000000
[ "$("$hone" render hf m.json --template own.jinja)" \> '2026' ] || fail "the clock of today"
rm hf/chat_template.jinja
refuses 2 "several chat templates and no default" "$hone" render hf m.json # files replace the configuration's
rm hf/additional_chat_templates/tool_use.jinja
is "the configuration's" 'config' "$hone" render hf m.json

# GGUF version 3, no tensors: strings are a length of 8 bytes and the text
number() { printf "\\$(printf %o $(($1 % 256)))\\$(printf %o $(($1 / 256)))\\000\\000"; }
string() { number ${#1}; printf '\000\000\000\000%s' "$1"; }
text() { string "$1"; number 8; string "$2"; }
{
    printf 'GGUF'; number 3; number 0; number 0; number 4; number 0
    text general.architecture llama
    text tokenizer.chat_template '{{ bos_token }}|{{ messages[0].content }}'
    string tokenizer.ggml.tokens; number 9; number 8; number 2; number 0; string '<x>'; string '<bos>'
    string tokenizer.ggml.bos_token_id; number 4; number 1
} >model.gguf
truncate -s %32 model.gguf # the data section, which is empty, begins at a multiple of 32
is "a GGUF file" '<bos>| Hi é' "$hone" render model.gguf m.json

# Wherever a directory keeps its templates, converting it keeps them.
cp -r "$2/tests/differential/models/qwen3" whole
mkdir whole/additional_chat_templates
printf 'J{{ messages[0].content }}' >whole/chat_template.jinja
printf 'T' >whole/additional_chat_templates/rag.jinja
"$hone" convert --overwrite whole whole.gguf || fail "convert"
is "a converted template" 'J Hi é' "$hone" render whole.gguf m.json
is "a converted further template" 'T' "$hone" render whole.gguf m.json --template-name rag
if grep -q hone.chat_template whole.gguf; then fail "hone's own keys without a need"; fi
# llama.cpp takes the configuration's: both are written, and hone reads its own.
echo '{"chat_template": [{"name": "default", "template": "C"}, {"name": "no-file", "template": "N"}]}' >whole/tokenizer_config.json
"$hone" convert --overwrite whole whole.gguf || fail "convert"
is "Transformers' choice" 'J Hi é' "$hone" render whole.gguf m.json
is "its further template" 'T' "$hone" render whole.gguf m.json --template-name rag
refuses 2 "no chat template named 'no-file'" "$hone" render whole.gguf m.json --template-name no-file
is "both sets of keys" 'hone.chat_template string "J{{ messages[0].content }}"
hone.chat_template.rag string "T"
tokenizer.chat_template string "C"
tokenizer.chat_template.no_file string "N"
tokenizer.chat_templates string[1] "no_file"
' keys whole.gguf
shows() { # shows WORDS COMMAND...: a line of the output
    words=$1
    shift
    "$@" >out 2>err || { cat err; fail "$*: status $?"; }
    grep -q -- "$words" out || { cat out; fail "$*: lacks '$words'"; }
    n=$((n + 1))
}
shows '^template *26 bytes, and rag, of hone.chat_template; of tokenizer.chat_template, which llama.cpp uses, 1$' \
    "$hone" inspect whole.gguf
shows '"chat_template":"J{{ messages\[0\].content }}","chat_template_key":"hone.chat_template"' "$hone" inspect whole.gguf --json
shows '^template *41 bytes$' "$hone" inspect model.gguf
shows '"chat_template_key":"tokenizer.chat_template"' "$hone" inspect model.gguf --json
shows '^template *26 bytes, and rag$' "$hone" inspect whole
rm -r whole/additional_chat_templates whole/chat_template.jinja
cp "$2/tests/differential/models/qwen3/tokenizer_config.json" whole
echo '{"chat_template": "P{{ messages[0].content }}"}' >whole/chat_template.json
"$hone" convert --overwrite whole whole.gguf || fail "convert"
is "a converted processor's template" 'P Hi é' "$hone" render whole.gguf m.json

printf 'a\n{{ messges.x }}' >bad.jinja
printf '{{ raise_exception("only users may speak") }}' >raise.jinja
refuses 1 "bad.jinja:2: 'messges' is undefined" "$hone" render hf m.json --template bad.jinja
refuses 2 "raise.jinja:1: raised: only users may speak" "$hone" render hf m.json --template raise.jinja
refuses 2 "no chat template named 'rag'" "$hone" render hf m.json --template-name rag
refuses 2 "expected KEY=JSON" "$hone" render hf m.json --set thinking
refuses 2 "expected a value" "$hone" render hf m.json --set thinking=
refuses 2 "tools has its own argument" "$hone" render hf m.json --set tools=1
refuses 1 "none.json" "$hone" render hf none.json
echo '[]' >none_said.json
refuses 2 "an empty conversation" "$hone" render hf none_said.json
echo '{' >cut.json
refuses 1 "cut.json" "$hone" render hf cut.json
refuses 2 "expected MODEL" "$hone" render hf
echo '{}' >hf/tokenizer_config.json
rm -r hf/additional_chat_templates
refuses 1 "hf has no chat template" "$hone" render hf m.json
echo "$n passed, 0 failed, 0 skipped"
