#!/bin/sh
# serve_bounds.sh BUILD SOURCE: the limits of `hone serve` beside a model: each number of the docs, a thousand streams that are idle, and
# clients that send a byte now and then.
exec ruby "$2/tests/e2e/serve_bounds.rb" "$1" "$2"
