#!/bin/sh
# FIELD-DROPPED, through the program: variables that the template does not read, what it does not
# write, and that --drop-unread and --ignore are part of what a run is.
. "$2/tests/failures/cli.sh"
"$hone" new llama --first spread m.gguf >/dev/null 2>&1 || fail "hone new"
printf '{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], "tools": [{"name": "f"}]}\n' >tools.jsonl
refuses 'tools.jsonl: line 1: expected the chat template to write all of a conversation, found that it leaves out the tools' "$hone" show-tokens m.gguf tools.jsonl
refuses 'leaves out the tools' "$hone" train m.gguf --data tools.jsonl --out run
[ ! -e run ] || fail "a refused run left a folder"
shows 'words that the template does not write \(first: tools.jsonl line 1: the tools\)' "$hone" show-tokens m.gguf tools.jsonl --drop-unread
refuses '--set shout=true: expected a variable that the chat template reads' "$hone" show-tokens m.gguf tools.jsonl --drop-empty --set shout=true
shows '^1 examples to train' "$hone" show-tokens m.gguf tools.jsonl --drop-unread --set shout=true

# They are part of what a run is: it does not go on without them.
"$hone" train m.gguf --data tools.jsonl --out run --drop-unread --steps 4 --save-every 2 --rank 2 --samples 0 >out 2>err || { cat err; fail "training"; }
rm -f run/step-*4.ckpt
printf '{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], "mood": "sad"}\n' >mood.jsonl
refuses "key 'mood'" "$hone" train m.gguf --data mood.jsonl --out other
shows '^1 examples to train' "$hone" train m.gguf --data mood.jsonl --ignore mood --out other --dry-run

# Held-out data that is trained too is named, with both places.
printf 'one\n\ntwo\n' >t.txt
printf 'three\n\ntwo\n' >h.txt
shows 'trained and held out as well \(first: t.txt line 3, held out as h.txt line 3\)' "$hone" show-tokens m.gguf t.txt --held h.txt
echo "$n passed, 0 failed, 0 skipped"
