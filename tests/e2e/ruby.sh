#!/bin/sh
# ruby.sh BUILD SOURCE: the toy block through Ruby's own FFI, and what is freed too soon.
command -v ruby >/dev/null 2>&1 || { echo "0 passed, 0 failed, 1 skipped: ruby is not installed"; exit 1; }
export HONE_LIBRARY=$1/libhone.so
ruby "$2/bindings/ruby/block.rb" && exec ruby "$2/tests/e2e/ruby_lifetimes.rb" "$2"
