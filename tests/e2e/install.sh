#!/bin/sh
# install.sh BUILD SOURCE: installs into a fresh prefix, then builds the examples against it with
# pkg-config, one also with find_package, and runs them; the shared library shows only hn_ names.
set -eu
build=$1 source=$2
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix" --strip >/dev/null # as `make install` does
[ -z "$(nm "$prefix/bin/hone" 2>/dev/null)" ] || { echo "bin/hone has its symbols"; exit 1; }
make -n -C "$source" install BUILD="$build" | grep -q -- "--target hone hone_shared" || { echo "make install builds more than it installs"; exit 1; }
"$prefix/bin/hone" --version
pc=$(dirname "$(find "$prefix" -name hone.pc)")
if command -v pkg-config >/dev/null 2>&1; then
    flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs hone)
else
    flags="-I$prefix/include -L$(dirname "$pc") -lhone"
fi
${CC:-cc} "$source/examples/gradient.c" $flags -Wl,-rpath,"$(dirname "$pc")" -o "$prefix/shared"
"$prefix/shared"
${CC:-cc} "$source/examples/finetune.c" $flags -Wl,-rpath,"$(dirname "$pc")" -o "$prefix/finetune"
(
    cd "$prefix"
    bin/hone new llama m.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 >/dev/null
    for i in 1 2 3 4 5 6 7 8; do echo "{\"text\":\"example $i is $((i * 7 % 23))\"}"; done >d.jsonl
    ./finetune m.gguf d.jsonl run steps=4 rank=4 batch=2 >out
    bin/hone train m.gguf --data d.jsonl --out cli --steps 4 --rank 4 --batch 2 --samples 0 >cli.out 2>/dev/null
    grep '^step 4 of 4: loss' out
    [ "$(grep ^sha256 out)" = "$(grep ^sha256 cli.out)" ] || { echo "the library's adapter is not hone train's"; exit 1; }
)
# The other examples, with the program's own options: what it writes.
mkdir "$prefix/built"
for name in run chat embed; do
    ${CC:-cc} "$source/examples/$name.c" $flags -Wl,-rpath,"$(dirname "$pc")" -o "$prefix/built/$name"
done
same() { cmp "$2" "$3" || { echo "$1: the library's is not the program's"; cat "$2" "$3"; exit 1; }; }
(
    cd "$prefix"
    tiny=$source/assets/hone-tiny.gguf
    for seed in 0 1 7 123; do
        built/run "$tiny" "Once upon a time" 40 $seed >lib.txt
        bin/hone run "$tiny" -p "Once upon a time" -n 40 --seed $seed --quiet >cli.txt
        same "run, seed $seed" lib.txt cli.txt
        [ "$(wc -c <lib.txt)" -gt 60 ] || { echo "run, seed $seed: $(cat lib.txt)"; exit 1; }
    done
    printf 'Tell me a story.\nAnother one.\n' >lines
    built/chat "$tiny" 60 <lines >lib.txt
    bin/hone chat "$tiny" -n 60 <lines >cli.txt 2>/dev/null
    same chat lib.txt cli.txt
    printf '%s\n' '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"bcd"}]}' >chats.jsonl
    bin/hone train "$tiny" --data chats.jsonl --out told --steps 8 --rate 0.01 --rank 4 --batch 1 --samples 0 >/dev/null 2>&1
    built/chat "$tiny" 60 told/adapter.gguf <lines >told.txt
    bin/hone chat "$tiny" -n 60 --lora told/adapter.gguf <lines >cli.txt 2>/dev/null
    same "chat with an adapter" told.txt cli.txt
    ! cmp -s told.txt lib.txt || { echo "the adapter changed nothing"; exit 1; }
    built/chat m.gguf 60 told/adapter.gguf <lines >lib.txt 2>err && { echo "another model's adapter was taken"; exit 1; }
    sentence=$source/tests/differential/sentence/model
    built/embed "$sentence" "a text" "another text" >lib.txt
    bin/hone embed "$sentence" "a text" "another text" >cli.txt
    same embed lib.txt cli.txt
)
mkdir "$prefix/package"
cat >"$prefix/package/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(uses_hone C)
find_package(hone REQUIRED)
add_executable(gradient $source/examples/gradient.c)
target_link_libraries(gradient hone::hone)
END
cmake -S "$prefix/package" -B "$prefix/package/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$prefix/package/build" >/dev/null
"$prefix/package/build/gradient"
foreign=$(nm -D --defined-only "$(find "$prefix" -name 'libhone.so')" | awk '$3 !~ /^hn_/ { print $3 }')
[ -z "$foreign" ] || { echo "visible without hn_: $foreign"; exit 1; }
echo "1 passed, 0 failed, 0 skipped"
