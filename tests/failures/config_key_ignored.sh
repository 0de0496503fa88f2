#!/bin/sh
# CONFIG-KEY-IGNORED: a key of config.json or of GGUF that changes the arithmetic is not looked at.
# Every key is used, known to change nothing, or refused by name and value; what is passed over was
# asked for, and is recorded. (differential/config_keys changes every key of every model.)
. "$2/tests/failures/cli.sh"
models=$2/tests/differential/models
tokens=$(i=0; while [ $i -lt 24 ]; do printf '%d,' $((3 + (i * i * 7 + i * 13) % 260)); i=$((i + 1)); done)
copy() { # MODEL: a directory m of it, whose config.json may be changed
    rm -rf m
    mkdir m
    ln -s "$models/$1"/* m/
    rm m/config.json
    cp "$models/$1/config.json" c.json
}
put() { sed -e "$1" c.json >m/config.json; cmp -s c.json m/config.json && fail "$1 changed nothing"; }
logits() { rm -f "$2"; "$hone" logits "$1" --tokens "${tokens%,}" --out "$2"; }

copy llama
cp c.json m/config.json
quietly logits m plain.npy
put 's/"silu"/"foo"/'
refuses 'hidden_act is "foo": expected silu, gelu' logits m x.npy
put 's/"silu"/3/'
refuses 'hidden_act is 3: expected a string' logits m x.npy
put 's/"silu"/"relu"/'
quietly logits m relu.npy
cmp -s plain.npy relu.npy && fail "relu is computed as silu"
put 's/"vocab_size": 331/"vocab_size": 330/'
refuses 'expected \[330,32\], found \[331,32\]' logits m x.npy
put 's/"tie_word_embeddings": false/"tie_word_embeddings": true/'
refuses 'lm_head.weight differs' logits m x.npy
rm -f x.npy x.gguf
refuses 'lm_head.weight differs' "$hone" convert m x.gguf
put 's/"use_cache"/"rms_norm_eps": 0.5, "use_cache"/'
refuses 'key "rms_norm_eps" is given twice' logits m x.npy
put 's/"use_cache"/"attn_window": 4, "use_cache"/'
refuses 'attn_window is 4: no key that is known of LlamaForCausalLM' logits m x.npy
refuses 'attn_window is 4' "$hone" convert m x.gguf
refuses 'config.json has no such key' "$hone" convert m x.gguf --ignore attn_windo
rm -f x.gguf
quietly "$hone" convert m x.gguf --type f32 --ignore attn_window
shows 'hone.ignored' "$hone" inspect x.gguf --keys
quietly logits x.gguf x.npy
cmp -s plain.npy x.npy || fail "a key that was passed over changed the logits"
put 's/"use_cache"/"quantization_config": {"quant_method": "gptq", "bits": 4}, "use_cache"/'
refuses 'quantization_config is an object of 2' logits m x.npy

# What is computed survives convert.
copy qwen2
put 's/"use_sliding_window": false/"use_sliding_window": true/; s/"sliding_window": null/"sliding_window": 4/; s/"full_attention",/"sliding_attention",/; s/"silu"/"quick_gelu"/'
quietly logits m w.npy
rm -f w.gguf
quietly "$hone" convert m w.gguf --type f32
quietly logits w.gguf g.npy
cmp -s w.npy g.npy || fail "qwen2's window or activation is lost by convert"
copy smollm3
put 's/"rope_theta": 5000000.0/"rope_theta": 5000.0/; s/"rope_type": "default"/"rope_type": "longrope", "original_max_position_embeddings": 64, "short_factor": [1, 1.5, 2, 2.5], "long_factor": [2, 3, 4, 5]/'
quietly logits m w.npy
rm -f w.gguf
quietly "$hone" convert m w.gguf --type f32
quietly logits w.gguf g.npy
cmp -s w.npy g.npy || fail "smollm3's longrope is lost by convert"
rm -f x.npy
refuses 'the model was made for 64' "$hone" logits m --tokens "$(yes 5 | head -65 | tr '\n' ',' | sed 's/,$//')" --out x.npy
printf '{"ids": [%s]}\n' "$(yes 5 | head -65 | tr '\n' ',' | sed 's/,$//')" >ids.jsonl
refuses 'expected at most 64 tokens' "$hone" train m --data ids.jsonl --out r --steps 1 --batch 1
refuses 'at most 64 tokens, beyond which the model has no positions' "$hone" train m --data ids.jsonl --out r --steps 1 --batch 1 --too-long allow

copy olmoe
put 's/"norm_topk_prob": false/"norm_topk_prob": true/; s/"rms_norm_eps": 1e-05/"rms_norm_eps": 0.125/'
rm -f w.npy g.npy w.gguf
quietly logits m w.npy
quietly "$hone" convert m w.gguf --type f32
quietly logits w.gguf g.npy
cmp -s w.npy g.npy || fail "olmoe's norm of the experts' weights or its epsilon is lost by convert"
# phi3's long factors are of all positions of a longer sequence: one token would have two answers.
copy phi3
cp c.json m/config.json
rm -f p.gguf g.npy w.npy
quietly "$hone" convert m p.gguf --type f32
for model in m p.gguf; do
    rm -f x.npy
    quietly "$hone" logits $model --tokens "$(yes 5 | head -64 | tr '\n' ',' | sed 's/,$//')" --out x.npy
    refuses 'the model was made for 64' "$hone" logits $model --tokens "$(yes 5 | head -65 | tr '\n' ',' | sed 's/,$//')" --out w.npy
    refuses 'a context of 65 tokens: the model was made for 64' "$hone" run $model --prompt a --context 65 --count 1
    refuses 'expected at most 64 tokens' "$hone" train $model --data ids.jsonl --out r --steps 1 --batch 1
    refuses 'at most 64 tokens, beyond which the model has no positions' "$hone" train $model --data ids.jsonl --out r --steps 1 --batch 1 --too-long allow
done
LC_ALL=C sed 's/rope.scaling.original_context_length/rope.scaling.original_context_lengtx/' p.gguf >o.gguf # the context is it
printf '{"ids": [%s]}\n' "$(yes 5 | head -257 | tr '\n' ',' | sed 's/,$//')" >more.jsonl
refuses 'at most 256 tokens, beyond which the model has no positions' "$hone" train o.gguf --data more.jsonl --out r --steps 1 --batch 1 --too-long allow \
    --ignore phi3.rope.scaling.original_context_lengtx
rm -f x.npy
LC_ALL=C tr -d '\n' <c.json | sed 's/"long_factor": \[[^]]*\]/"long_factor": []/' >m/config.json
refuses 'long_factor: expected one number a pair' logits m x.npy
# Words beyond gemma3n's per-layer table look up its first row: so does a table that has that row in their place.
copy gemma3n
cp c.json m/config.json
tokens=5,310,7,330,299,300,4,
quietly logits m w.npy
rows() { # ruby: what becomes of the table's rows
    rm -f m/model.safetensors
    ruby -rjson -e 'd = File.binread(ARGV[0]); n = d.unpack1("Q<"); h = JSON.parse(d[8, n]); d = d[8 + n..]; out = "".b
      h.each do |name, t|
        next if name == "__metadata__"
        a, b = t["data_offsets"]; x = d[a...b]
        if name.include?("embed_tokens_per_layer")
          one = x.bytesize / t["shape"][0]; x = eval(ARGV[2]); t["shape"][0] = x.bytesize / one
        end
        t["data_offsets"] = [out.bytesize, out.bytesize + x.bytesize]; out << x
      end
      h = h.to_json.then { |s| s + " " * (-s.bytesize % 8) }
      File.binwrite(ARGV[1], [h.bytesize].pack("Q<") + h + out)' "$models/gemma3n/model.safetensors" m/model.safetensors "$1"
}
rows 'x[0, 300 * one] + x[0, one] * (t["shape"][0] - 300)'
quietly logits m first.npy
cmp -s w.npy first.npy && fail "the per-layer rows of these words change nothing"
rows 'x[0, 300 * one]'
refuses 'expected \[331,40\], found \[300,40\]' logits m x.npy
put 's/"vocab_size_per_layer_input": 331/"vocab_size_per_layer_input": 300/'
quietly logits m x.npy
cmp -s first.npy x.npy || fail "words beyond the per-layer table do not look up its first row"
rm -f g.gguf
quietly "$hone" convert m g.gguf --type f32
quietly logits g.gguf g.npy
cmp -s first.npy g.npy || fail "words beyond the per-layer table look up other rows after convert"
tokens=$(i=0; while [ $i -lt 24 ]; do printf '%d,' $((3 + (i * i * 7 + i * 13) % 260)); i=$((i + 1)); done)

# GGUF: keys of the architecture that no row knows.
quietly "$hone" convert "$models/llama" k.gguf --type f32
LC_ALL=C sed 's/llama.rope.freq_base/llama.rope.freq_bass/' k.gguf >bad.gguf
refuses 'key llama.rope.freq_bass is 500000: no key that is known of llama' logits bad.gguf x.npy
quietly "$hone" quantize bad.gguf good.gguf f32 --ignore llama.rope.freq_bass
quietly logits good.gguf x.npy

# Every command that opens a model passes over a key, one that it does not use, and writes it down.
bass=llama.rope.freq_bass
over() { "$@" --ignore $bass; }
head -c 600 "$2/tests/failures/cli.sh" >text.txt
printf '{"ids": [5, 9, 11, 40, 7]}\n{"ids": [8, 19, 21, 4, 70]}\n' >few.jsonl
refuses 'bad.gguf has no such key' "$hone" inspect bad.gguf --ignore llama.no_such
refuses 'llama uses it: it cannot be passed over' "$hone" inspect bad.gguf --ignore llama.block_count
refuses 'uses it: it cannot be passed over' "$hone" inspect "$models/llama" --ignore hidden_size
rm -f y.npy
quietly over "$hone" logits bad.gguf --tokens "${tokens%,}" --out y.npy
cmp -s x.npy y.npy || fail "quantize and logits pass over one key each their way"
for command in "inspect bad.gguf" "inspect bad.gguf --context 64" "run bad.gguf --prompt a --count 2" \
    "perplexity bad.gguf text.txt --chunk 32" "imatrix bad.gguf text.txt --out im.gguf" \
    "bench bad.gguf --prompt 8 --generate 2 --repeat 1" "eval bad.gguf --data few.jsonl" "quantize bad.gguf q.gguf q8_0"; do
    refuses "key $bass is 500000" "$hone" $command
    quietly over "$hone" $command
done
quietly over "$hone" show-tokens bad.gguf few.jsonl
refuses 'kernels: expected a model' over "$hone" bench kernels --quick --only rows
printf 'a\n' >said
printf '{%% for m in messages %%}{{ m.content }}{%% endfor %%}' >t.jinja
refuses "key $bass is 500000" "$hone" chat bad.gguf --template t.jinja <said
quietly over "$hone" chat bad.gguf --template t.jinja --count 2 <said

quietly "$hone" convert "$models/bert" b.gguf --type f32
LC_ALL=C sed 's/bert.attention.causal/bert.attention.casual/' b.gguf >bad-b.gguf
refuses 'key bert.attention.casual is false' "$hone" embed bad-b.gguf a
quietly "$hone" embed bad-b.gguf a --ignore bert.attention.casual

# Training writes it down in the run, the adapter and what is merged: resume and merge see one model.
train="train bad.gguf --data few.jsonl --out told --steps 2 --batch 1 --rank 2"
refuses "key $bass is 500000" "$hone" $train
quietly over "$hone" $train
grep -q "ignore.*$bass" told/run.toml || fail "run.toml does not say --ignore"
shows "hone.ignored" "$hone" inspect told/adapter.gguf --keys
quietly "$hone" train --resume --out told
refuses "key $bass is 500000" "$hone" merge bad.gguf told/adapter.gguf --out merged.gguf --type f32
quietly over "$hone" merge bad.gguf told/adapter.gguf --out merged.gguf --type f32
shows "hone.ignored" "$hone" inspect merged.gguf --keys
quietly "$hone" run merged.gguf --prompt a --count 2
quietly over "$hone" train bad.gguf --data few.jsonl --out whole --steps 1 --batch 1 --targets all:full
quietly "$hone" run whole/model.gguf --prompt a --count 2
passed
