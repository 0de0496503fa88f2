#!/bin/sh
# serve_unread.sh BUILD SOURCE: what is asked of `hone serve` and would have no effect is refused, where each API has it so: messages that
# no template writes, bodies of paths that read none, words behind a NUL, biases of one token twice, times that are none.
exec ruby "$2/tests/e2e/serve_unread.rb" "$1" "$2"
