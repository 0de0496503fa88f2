#!/bin/sh
# install.sh BUILD SOURCE: installs into a fresh prefix, then builds the example against it with
# pkg-config and with find_package, and runs it; the shared library shows only hn_ names.
set -eu
build=$1 source=$2
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix" >/dev/null
"$prefix/bin/hone" --version
pc=$(dirname "$(find "$prefix" -name hone.pc)")
if command -v pkg-config >/dev/null 2>&1; then
    flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs hone)
else
    flags="-I$prefix/include -L$(dirname "$pc") -lhone"
fi
${CC:-cc} "$source/examples/gradient.c" $flags -Wl,-rpath,"$(dirname "$pc")" -o "$prefix/shared"
"$prefix/shared"
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
