#!/bin/sh
# jobs.sh BUILD SOURCE: files and training over HTTP, as their user meets them, and a server that is killed meanwhile.
exec ruby "$2/tests/e2e/jobs.rb" "$1" "$2"
