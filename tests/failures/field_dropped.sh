#!/bin/sh
# FIELD-DROPPED, through the program: variables that the template does not read, what it does not
# write, and that --drop-unread and --ignore-field are part of what a run is.
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
shows '^1 examples to train' "$hone" train m.gguf --data mood.jsonl --ignore-field mood --out other --dry-run

# So is --ignore-field. Records keep the word that it had, `ignore`, and are told apart from --ignore of
# the model's keys: a run.toml that says `ignore` and no version is of neither, and is refused.
sed 's/"mood": "sad"/"mood": 1/' mood.jsonl >calm.jsonl
train="train --data calm.jsonl --steps 4 --save-every 2 --rank 2 --samples 0 --out moody"
quietly "$hone" $train m.gguf --ignore-field mood
grep -q '^version = 2$' moody/run.toml || fail "run.toml does not say its version"
grep -q '^ignore-field = \["mood"\]$' moody/run.toml || fail "run.toml does not say --ignore-field"
rm -f moody/step-*4.ckpt moody/adapter.gguf
grep -aq '\\nignore mood\\n' moody/step-*2.ckpt || fail "a checkpoint has another word than it had"
LC_ALL=C sed 's/llama.rope.freq_base/llama.rope.freq_bass/' m.gguf >bad.gguf
refuses 'made without --ignore llama.rope.freq_bass, which is asked for now' "$hone" $train bad.gguf --resume --ignore-field mood --ignore llama.rope.freq_bass
refuses 'made with --ignore-field mood, which is not so now' "$hone" $train m.gguf --resume
cp moody/run.toml told.toml
sed '/^version/d; s/ignore-field/ignore/' told.toml >moody/run.toml
refuses 'run.toml: line [0-9]+: ignore: expected ignore-field for a key of examples' "$hone" train --resume --out moody
refuses 'line [0-9]+: ignore: expected ignore-field' "$hone" train moody/run.toml --out another
sed 's/^version = 2/version = 3/' told.toml >moody/run.toml
refuses 'line 2: version: expected 2, found 3' "$hone" train --resume --out moody
sed 's/ignore-field/ignore/' told.toml >moody/run.toml
refuses '--ignore mood: .* has no such key' "$hone" train --resume --out moody
sed '/^version/d' told.toml >moody/run.toml
quietly "$hone" train --resume --out moody
[ -f moody/adapter.gguf ] || fail "a run whose fields are passed over does not go on"

# Held-out data that is trained too is named, with both places.
printf 'one\n\ntwo\n' >t.txt
printf 'three\n\ntwo\n' >h.txt
shows 'trained and held out as well \(first: t.txt line 3, held out as h.txt line 3\)' "$hone" show-tokens m.gguf t.txt --held h.txt
echo "$n passed, 0 failed, 0 skipped"
