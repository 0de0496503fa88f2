#!/bin/sh
# python.sh BUILD SOURCE: builds the wheel, installs its file in a clean environment, without an index, and runs the
# binding's tests there. Skipped, by name, where Python or a part of it that this takes is not installed.
set -eu
build=$1 source=$2
skip() { echo "0 passed, 0 failed, 1 skipped: $1"; exit 77; }
command -v python3 >/dev/null 2>&1 || skip "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip "python3 is older than 3.9"
for module in venv ensurepip ctypes; do
    python3 -c "import $module" 2>/dev/null || skip "python3 has no module $module"
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/wheels" "$dir/again" "$dir/here"
python3 -m venv "$dir/venv"
python=$dir/venv/bin/python
pip() { "$python" -m pip --quiet --isolated --disable-pip-version-check "$@"; }
wheel() { pip wheel "$source/bindings/python" --no-index --no-deps --config-settings "build=$build" --wheel-dir "$1"; }
wheel "$dir/wheels"
wheel "$dir/again"
cmp "$dir/wheels/"*.whl "$dir/again/"*.whl || { echo "the same sources gave another wheel"; exit 1; }
if pip wheel "$source/bindings/python" --no-index --no-deps --config-settings "built=$build" --wheel-dir "$dir/again" \
    >"$dir/refused" 2>&1; then
    echo "--config-settings built was taken"
    exit 1
fi
grep -q "expected build=FOLDER" "$dir/refused" || { cat "$dir/refused"; exit 1; }
# What the machine lacks is asked of pip, and told by name where pip does not bring it.
mkdir "$dir/tools"
wanted() { # TOOL ...: are there
    rm -f "$dir/tools/"*
    for tool in "$@"; do ln -s /bin/true "$dir/tools/$tool"; done
    PATH=$dir/tools CC= "$python" -B -c '
import sys
sys.path.insert(0, sys.argv[1])
import hone_backend
said = " ".join(hone_backend.get_requires_for_build_wheel())
try:
    hone_backend.demand({})
except RuntimeError as error:
    said += f": {error}"
print(said)' "$source/bindings/python/backend"
}
expect() { [ "$1" = "$2" ] || { echo "expected '$1', found '$2'"; exit 1; }; }
expect "" "$(wanted cmake make gcc)"
expect "" "$(wanted cmake ninja cc)"
expect "cmake ninja: cmake and ninja: not found: hone is compiled by cmake, and make or ninja" "$(wanted cc)"
expect "ninja: ninja: not found: hone is compiled by cmake, and make or ninja" "$(wanted cmake cc)"
expect ": no C compiler: expected one in CC, or one of cc, gcc, clang" "$(wanted cmake make)"
pip install --no-index "$dir/wheels/"*.whl
pip check
numpy=$(python3 -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))' 2>/dev/null || true)
cd "$dir/here"
HONE_SOURCE=$source HONE_PROGRAM=$build/hone HONE_NUMPY=$numpy "$python" -I -W error \
    "$source/bindings/python/tests/test_hone.py" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
passed=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$dir/out")
skipped=$(sed -n 's/^OK (skipped=\([0-9]*\))$/\1/p' "$dir/out")
[ -z "$(ls -A .)" ] || { echo "left behind:"; ls -A; exit 1; }
grep -h "skipped" "$dir/out" || true
echo "$((passed - ${skipped:-0})) passed, 0 failed, ${skipped:-0} skipped"
[ "$passed" -gt 30 ]
