#!/bin/sh
# check.sh BUILD [CLIENT ...]: the clients that people have, from their registries, against `hone serve`: openai (Python and npm), anthropic,
# ollama, LangChain, LiteLLM, and Qwen Code and Codex, agents that edit and test a file. Chats, streams, tools, schemas, embeddings, files, training, responses, and what they say of errors: values are
# looked at. Takes ruby, python3 with venv, node and npm; what it installs is pinned here, and kept in the folder that HN_CLIENTS names.
set -e
build=$(cd "${1:?the build folder}" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
kept=${HN_CLIENTS:-$(mktemp -d)}
mkdir -p "$kept"
[ -d "$kept/venv" ] || python3 -m venv "$kept/venv"
"$kept/venv/bin/pip" install -q -r "$here/requirements.txt"
(cd "$kept" && npm install --silent --no-save --no-audit --no-fund openai@6.49.0 @qwen-code/qwen-code@0.24.4 @openai/codex@0.169.0)
"$kept/venv/bin/python" "$here/../reference/client_fields.py" --check
HN_CLIENTS=$kept exec ruby "$here/check.rb" "$build" "$here/../.." "$@"
