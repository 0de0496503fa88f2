#!/bin/sh
# ruby.sh BUILD SOURCE: the toy block through Ruby's own FFI.
command -v ruby >/dev/null 2>&1 || { echo "0 passed, 0 failed, 1 skipped: ruby is not installed"; exit 1; }
HONE_LIBRARY=$1/libhone.so exec ruby "$2/bindings/ruby/block.rb"
