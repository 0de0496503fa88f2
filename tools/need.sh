#!/bin/sh
# need.sh COMMAND:PACKAGE[,PACKAGE] ...: makes sure that commands exist. On Debian and Ubuntu the
# packages of the missing ones are installed (as root, or by sudo without a password); elsewhere, or
# if that fails, it says what to install and exits 1.
missing=
for need in "$@"; do
    command -v "${need%%:*}" >/dev/null 2>&1 || missing="$missing $(echo "${need#*:}" | tr , ' ')"
done
[ -n "$missing" ] || exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if command -v apt-get >/dev/null 2>&1; then
    echo "installing:$missing"
    log=$(mktemp)
    if DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y --no-install-recommends $missing >"$log" 2>&1 ||
        { $as_root apt-get update >"$log" 2>&1 &&
          DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y --no-install-recommends $missing >"$log" 2>&1; }; then
        rm -f "$log"
        exit 0
    fi
    cat "$log" >&2
    rm -f "$log"
fi
echo "please install:$missing" >&2
exit 1
