#!/bin/sh
# cross.sh windows|macos [FOLDER [TARGET...]]: builds hone for another system, in build-SYSTEM or FOLDER, with the cross
# compiler that the Python package ziglang brings (`pip install ziglang`). HN_ZIG says how to call it, else it is
# `zig`, or `python3 -m ziglang`. Where Wine is installed, CTest runs the tests of windows under it. CMAKE_ARGS are CMake's, too.
set -eu
system=${1:?windows or macos}
case $system in
windows) target=x86_64-windows-gnu name=Windows processor=x86_64 ;;
macos) target=aarch64-macos name=Darwin processor=arm64 ;;
*) echo "cross.sh: $system: expected windows or macos" >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
build=${2:-$root/build-$system}
shift $(($# > 1 ? 2 : 1))
zig=${HN_ZIG:-}
[ -n "$zig" ] || { command -v zig >/dev/null && zig=zig; } || zig="python3 -m ziglang"
$zig version >/dev/null 2>&1 || { echo "cross.sh: no zig by '$zig': pip install ziglang, or say HN_ZIG" >&2; exit 1; }
mkdir -p "$build/zig"
build=$(cd "$build" && pwd)
printf '#!/bin/sh\nexec %s cc -target %s "$@"\n' "$zig" "$target" >"$build/zig/cc"
for tool in ar ranlib; do printf '#!/bin/sh\nexec %s %s "$@"\n' "$zig" $tool >"$build/zig/$tool"; done
chmod +x "$build"/zig/*
emulator=
for wine in wine64 wine /usr/lib/wine/wine64; do
    [ $system != windows ] || [ -n "$emulator" ] || emulator=$(command -v $wine || true)
done
[ -f "$build/build.ninja" ] || cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHN_WERROR=ON \
    -DCMAKE_SYSTEM_NAME=$name -DCMAKE_SYSTEM_PROCESSOR=$processor -DCMAKE_C_COMPILER="$build/zig/cc" \
    -DCMAKE_AR="$build/zig/ar" -DCMAKE_RANLIB="$build/zig/ranlib" -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator" ${CMAKE_ARGS:-}
cmake --build "$build" -j "${JOBS:-2}" ${1:+--target "$@"}
