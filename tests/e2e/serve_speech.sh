#!/bin/sh
# serve_speech.sh BUILD SOURCE: thoughts and calls of tools as each API has them: asked for, forced, streamed, given back, made again.
exec ruby "$2/tests/e2e/serve_speech.rb" "$1" "$2"
