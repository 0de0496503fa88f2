#!/bin/sh
# page.sh BUILD SOURCE: the page of `hone serve`, as far as it can be tried without a browser: its files as they are served, what they
# are told to be allowed, and that their sources hold nothing by which a model's words could become more than text.
exec ruby "$2/tests/e2e/page.rb" "$1" "$2"
