#!/bin/sh
# serve_forms.sh BUILD SOURCE: what `hone serve` says in each API's form: which field a refusal is about, paths that there are not, HEAD,
# Ollama's loading, names and metrics.
exec ruby "$2/tests/e2e/serve_forms.rb" "$1" "$2"
