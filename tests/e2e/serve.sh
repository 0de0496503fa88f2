#!/bin/sh
# serve.sh BUILD SOURCE: `hone serve` as its user meets it: what it prints, who may ask, models that take turns, an end by a
# signal, and every way to begin it wrongly.
exec ruby "$2/tests/e2e/serve.rb" "$1" "$2"
