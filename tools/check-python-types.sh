#!/bin/sh
# check-python-types.sh BUILD: the Python binding as mypy sees it where it is installed: strictly typed, and its stubs those of
# what runs. Takes python3 with venv, and mypy, pinned here, from an index; skipped, by name, where that cannot be had.
set -eu
build=$(cd "${1:?the build folder}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
mypy=mypy==2.4.1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
skip() { echo "0 passed, 0 failed, 1 skipped: $1"; exit 77; }
python3 -m venv "$dir/venv" >/dev/null 2>&1 || skip "python3 with venv is not installed"
pip() { "$dir/venv/bin/pip" --quiet --disable-pip-version-check "$@"; }
pip install "$mypy" >"$dir/out" 2>&1 || skip "$mypy cannot be had: $(grep -m 1 ERROR "$dir/out")"
pip wheel "$source/bindings/python" --no-index --no-deps --config-settings "build=$build" --wheel-dir "$dir"
pip install --no-index --no-deps "$dir"/*.whl
cd "$dir"
"$dir/venv/bin/mypy" --strict -p hone
echo hone.libhone >"$dir/allowed" # the library itself, which Python takes for a module by its name
"$dir/venv/bin/stubtest" hone --allowlist "$dir/allowed"
echo "2 passed, 0 failed, 0 skipped"
