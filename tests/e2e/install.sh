#!/bin/sh
# install.sh BUILD SOURCE: installs into a fresh prefix, then builds every example against it in three ways, by
# pkg-config, by CMake's find_package and by the compiler alone, and holds what each writes to what the program
# writes; the shared library shows the functions of its headers and nothing else.
set -eu
build=$1 source=$2
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
n_passed=0 n_skipped=0
cmake --install "$build" --prefix "$prefix" --strip >/dev/null # as `make install` does
[ -z "$(nm "$prefix/bin/hone" 2>/dev/null)" ] || fail "bin/hone has its symbols"
make -n -C "$source" install BUILD="$build" | grep -q -- "--target hone hone_shared" || fail "make install builds more than it installs"
"$prefix/bin/hone" --version
pc=$(dirname "$(find "$prefix" -name hone.pc)") lib=$(dirname "$(find "$prefix" -name libhone.so)")

# ---- what is installed ----

NM=nm "$source/tools/check-exports.sh" "$lib/libhone.so" "$prefix/include" || fail "exports"
man=$prefix/share/man
for name in hone_model hn_lm_open hone_hone; do
    [ -f "$man/man3/$name.3" ] || fail "no manual page $name"
done
if command -v man >/dev/null 2>&1 && MANPATH=$man man -w hone_model >/dev/null 2>&1; then
    MANPATH=$man MANPAGER=cat man 3 hn_lm_open 2>"$prefix/said" | grep -q 'hn_status hn_lm_open(hn_lm \*\*out' || fail "man hn_lm_open"
    [ ! -s "$prefix/said" ] || fail "man hn_lm_open: $(cat "$prefix/said")"
else
    echo "skipped: man hn_lm_open: man is not installed, or looks elsewhere"
    n_skipped=$((n_skipped + 1))
fi

# ---- what the program writes ----

tiny=$source/assets/hone-tiny.gguf sentence=$source/tests/differential/sentence/model hone=$prefix/bin/hone
mkdir "$prefix/want"
cd "$prefix/want"
"$hone" new llama m.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 >/dev/null
for i in 1 2 3 4 5 6 7 8; do echo "{\"text\":\"example $i is $((i * 7 % 23))\"}"; done >d.jsonl
"$hone" train m.gguf --data d.jsonl --out run --steps 4 --rank 4 --batch 2 --samples 0 2>/dev/null | grep ^sha256 >sha256
for seed in 0 1 7 123; do
    "$hone" run "$tiny" -p "Once upon a time" -n 40 --seed $seed --quiet >run.$seed
    [ "$(wc -c <run.$seed)" -gt 60 ] || fail "run, seed $seed: $(cat run.$seed)"
done
printf 'Tell me a story.\nAnother one.\n' >lines
"$hone" chat "$tiny" -n 60 <lines >chat 2>/dev/null
printf '%s\n' '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"bcd"}]}' >chats.jsonl
"$hone" train "$tiny" --data chats.jsonl --out told --steps 8 --rate 0.01 --rank 4 --batch 1 --samples 0 >/dev/null 2>&1
"$hone" chat "$tiny" -n 60 --lora told/adapter.gguf <lines >chat.told 2>/dev/null
cmp -s chat.told chat && fail "the adapter changed nothing"
echo a | "$hone" chat "$tiny" -n 60 --lora told/adapter.gguf >tune 2>/dev/null
"$hone" train "$tiny" --data chats.jsonl --out other --steps 4 --rate 0.02 --rank 8 --batch 1 --samples 0 >/dev/null 2>&1
for lora in "" "--lora told/adapter.gguf" "--lora other/adapter.gguf"; do
    # shellcheck disable=SC2086
    "$hone" run "$tiny" -p "Once upon a time" -n 30 --quiet $lora 2>/dev/null
done >adapters
[ "$(sort -u adapters | wc -l)" -eq 3 ] || fail "adapters: $(cat adapters)"
"$hone" eval "$tiny" told/adapter.gguf other/adapter.gguf --data chats.jsonl | awk 'NR > 1 { print $1, $2, $4, $6 }' >evaluate
"$hone" embed "$sentence" "a text" "another text" >embed
"$hone" prove m.gguf --data d.jsonl --json proved >/dev/null
sed '/"seconds"/d' proved >prove
grep -q '"failed": 0' prove || fail "prove: $(cat prove)"

# A model that calls a function and reads what it gives: taught so here.
calls='<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}</tool_call>'
asked='{"role":"user","content":"What is 2 + 3?"},{"role":"assistant","content":"'$calls'"}'
add='"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{}}}}]'
printf '%s\n' "{\"messages\":[$asked],$add}" \
    "{\"messages\":[$asked,{\"role\":\"tool\",\"content\":\"5\"},{\"role\":\"assistant\",\"content\":\"It is 5.\"}],$add}" \
    "{\"messages\":[$asked,{\"role\":\"tool\",\"content\":\"-1\"},{\"role\":\"assistant\",\"content\":\"Less than nothing.\"}],$add}" \
    "{\"messages\":[$asked,{\"role\":\"tool\",\"content\":\"6\"},{\"role\":\"assistant\",\"content\":\"Six it is.\"}],$add}" >tools.jsonl
printf '%s' '{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}{% for m in messages %}[{{ m.role }}]{{ m.content }}' \
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}" >template
"$hone" new llama small.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=128 context=512 --tokenizer "$tiny" >/dev/null
"$hone" train small.gguf --data tools.jsonl --template template --out caller --steps 200 --rate 0.01 --targets all:full \
    --batch 4 --samples 0 --loss last >/dev/null 2>&1
printf '%s\n' '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>' "It is 5." >tools

# ---- what the examples write ----

same() { cmp "$1" "$2" || { cat "$1" "$2"; fail "$way: $3: the library's is not the program's"; }; }

used() { # FOLDER of programs
    cd "$prefix/want"
    rm -rf "$1/out" && mkdir "$1/out"
    "$1/gradient" >"$1/out/gradient" || fail "$way: gradient"
    "$1/finetune" m.gguf d.jsonl "$1/out/run" steps=4 rank=4 batch=2 >"$1/out/finetune" || fail "$way: finetune"
    grep -q '^step 4 of 4: loss' "$1/out/finetune" || fail "$way: finetune: $(cat "$1/out/finetune")"
    grep ^sha256 "$1/out/finetune" >"$1/out/sha256"
    same "$1/out/sha256" sha256 finetune
    for seed in 0 1 7 123; do
        "$1/run" "$tiny" "Once upon a time" 40 $seed >"$1/out/run.$seed" || fail "$way: run"
        same "$1/out/run.$seed" run.$seed "run, seed $seed"
    done
    "$1/chat" "$tiny" 60 <lines >"$1/out/chat" || fail "$way: chat"
    same "$1/out/chat" chat chat
    "$1/chat" "$tiny" 60 told/adapter.gguf <lines >"$1/out/chat.told" || fail "$way: chat with an adapter"
    same "$1/out/chat.told" chat.told "chat with an adapter"
    "$1/chat" m.gguf 60 told/adapter.gguf <lines >/dev/null 2>&1 && fail "$way: another model's adapter was taken"
    "$1/embed" "$sentence" "a text" "another text" >"$1/out/embed" || fail "$way: embed"
    same "$1/out/embed" embed embed
    "$1/tune" "$tiny" chats.jsonl "$1/out/tuned" a steps=8 rate=0.01 rank=4 batch=1 >"$1/out/tune" || fail "$way: tune"
    same "$1/out/tune" tune tune
    cmp -s "$1/out/tuned/adapter.gguf" told/adapter.gguf || fail "$way: tune: another adapter than the program's"
    "$1/evaluate" "$tiny" chats.jsonl told/adapter.gguf other/adapter.gguf >"$1/out/evaluate" || fail "$way: evaluate"
    same "$1/out/evaluate" evaluate evaluate
    "$1/tools" caller/model.gguf "What is 2 + 3?" template >"$1/out/tools" || fail "$way: tools"
    same "$1/out/tools" tools tools
    "$1/adapters" "$tiny" "Once upon a time" 30 told/adapter.gguf other/adapter.gguf >"$1/out/adapters" || fail "$way: adapters"
    same "$1/out/adapters" adapters adapters
    "$1/prove" m.gguf d.jsonl "$1/out/proved" >"$1/out/prove.rows" || fail "$way: prove"
    sed '/"seconds"/d' "$1/out/proved" >"$1/out/prove"
    same "$1/out/prove" prove prove
    [ "$(wc -l <"$1/out/prove.rows")" -eq "$(grep -c '"subject": .*"check"' prove)" ] || fail "$way: prove: $(cat "$1/out/prove.rows")"
    n=0
    for example in "$source"/examples/*.c; do
        ls "$1/out/$(basename "$example" .c)"* >/dev/null 2>&1 || fail "$way: $(basename "$example") was not run"
        n=$((n + 1))
    done
    n_passed=$((n_passed + n))
}

compiled() { # FOLDER FLAGS...
    to=$1
    shift
    mkdir "$to"
    for example in "$source"/examples/*.c; do
        # shellcheck disable=SC2086
        ${CC:-cc} -Wall -Wextra -Werror "$example" "$@" -Wl,-rpath,"$lib" -o "$to/$(basename "$example" .c)" ||
            fail "$way: $(basename "$example")"
    done
}

way=pkg-config
if command -v pkg-config >/dev/null 2>&1; then
    # shellcheck disable=SC2046
    compiled "$prefix/pkg-config" $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs hone)
    used "$prefix/pkg-config"
else
    echo "skipped: pkg-config is not installed"
    n_skipped=$((n_skipped + 1))
fi

way=cc
compiled "$prefix/cc" -I"$prefix/include" -L"$lib" -lhone
used "$prefix/cc"

way=find_package # of the static library
mkdir "$prefix/package"
cat >"$prefix/package/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(uses_hone C)
find_package(hone REQUIRED)
file(GLOB examples $source/examples/*.c)
foreach(example IN LISTS examples)
  get_filename_component(name \${example} NAME_WE)
  add_executable(\${name} \${example})
  target_link_libraries(\${name} hone::hone)
endforeach()
END
cmake -S "$prefix/package" -B "$prefix/package/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$prefix/package/build" >/dev/null
used "$prefix/package/build"
echo "$n_passed passed, 0 failed, $n_skipped skipped"
[ "$n_passed" -gt 13 ]
