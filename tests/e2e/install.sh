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
