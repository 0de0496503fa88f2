#!/bin/sh
# FAILED-OPEN: a part of a model that cannot be read is taken for one that is not there, and what would
# have stood in it is lost without a word: the context's limit, names of weights, an adapter's test.
. "$2/tests/failures/cli.sh"
models=$2/tests/differential/models
quietly "$hone" new llama --first spread m.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 context=64
printf '{"ids": [%s]}\n' "$(yes 5 | head -65 | tr '\n' ',' | sed 's/,$//')" >long.jsonl
printf '{"ids": [5, 9, 11, 40, 7]}\n{"ids": [8, 19, 21, 4, 70]}\n' >few.jsonl

# show-tokens holds sequences to the model's context; a model that is refused is no model without one.
refuses 'expected at most 64 tokens' "$hone" show-tokens m.gguf long.jsonl
LC_ALL=C sed 's/llama.rope.freq_base/llama.rope.freq_bass/' m.gguf >bad.gguf
refuses 'key llama.rope.freq_bass is .* no key that is known' "$hone" show-tokens bad.gguf few.jsonl
refuses 'expected at most 64 tokens' "$hone" show-tokens bad.gguf long.jsonl --ignore llama.rope.freq_bass
quietly "$hone" show-tokens bad.gguf few.jsonl --ignore llama.rope.freq_bass
cp -rL "$models/llama" dir
sed 's/LlamaForCausalLM/GlamaForCausalLM/' "$models/llama/config.json" >dir/config.json
refuses 'architecture GlamaForCausalLM is not supported' "$hone" show-tokens dir few.jsonl

# A tokenizer alone has no context, and no keys of a model to pass over.
mkdir words
cp dir/tokenizer*.json words
echo '{}' >words/config.json
quietly "$hone" show-tokens words few.jsonl
refuses '--ignore a: words is a tokenizer alone' "$hone" show-tokens words few.jsonl --ignore a
refuses '--ignore llama.a: adapter.gguf is no model' sh -c "
    '$hone' train m.gguf --data few.jsonl --out r --steps 1 --rank 2 --targets attn_q >/dev/null 2>&1 &&
    mv r/adapter.gguf . && '$hone' inspect adapter.gguf --ignore llama.a"

# A directory whose weights are broken is not one without weights: an adapter is tried on its base.
quietly "$hone" train "$models/llama" --data few.jsonl --out d --steps 1 --rank 2 --targets attn_q
quietly "$hone" export d/adapter.gguf --peft peft --base "$models/llama"
cp "$models/llama/config.json" dir/config.json
rm dir/model*.safetensors*
quietly "$hone" import peft alone.gguf --base dir
head -c 3000 "$models/llama/model.safetensors" >dir/model.safetensors
refuses 'model.safetensors' "$hone" import peft broken.gguf --base dir
[ ! -e broken.gguf ] || fail "an adapter that was not tried was written"
refuses 'model.safetensors' "$hone" show-tokens dir few.jsonl

# A link to a file that is gone is not an absent file.
rm dir/model.safetensors
cp "$models/llama/model.safetensors" dir
quietly "$hone" run dir --prompt a --count 1
rm -f dir/generation_config.json
ln -s gone dir/generation_config.json
refuses 'generation_config.json: .*the link leads nowhere' "$hone" run dir --prompt a --count 1
passed
