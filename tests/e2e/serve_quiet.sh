#!/bin/sh
# serve_quiet.sh BUILD SOURCE: `hone serve` opens no connection, and no file for what a request says, as the system saw it. Where there is
# no strace, or it may not trace, it is skipped.
strace -o /dev/null true 2>/dev/null || { echo "skipped: no strace"; exit 77; }
exec ruby "$2/tests/e2e/serve_quiet.rb" "$1" "$2"
