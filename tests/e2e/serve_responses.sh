#!/bin/sh
# serve_responses.sh BUILD SOURCE: POST /v1/responses: items in and out, streams, what is kept and for whom, made again.
exec ruby "$2/tests/e2e/serve_responses.rb" "$1" "$2"
