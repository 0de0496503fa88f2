#!/bin/sh
# EXPERT-LAYOUT: fused experts are transposed, renamed or swapped between tools, and shapes do not tell.
# To PEFT and back the adapter is the same; one that is transposed, of the right shapes, is
# rejected by what it computes.
. "$2/tests/failures/cli.sh"
models=$2/tests/differential/models
awk 'BEGIN { srand(5); for (i = 0; i < 6; i++) { printf "{\"ids\":["; for (t = 0; t < 10; t++) printf "%s%d", t ? "," : "", 3 + int(rand() * 240); print "]}" } }' >ids.jsonl
losses() { tr '{' '\n' <out | sed -n 's/.*"loss":\([0-9.e+-]*\).*/\1/p' | tr '\n' ' '; }
rounds=
there_and_back() { # MODEL TARGETS EXPORT_OPTIONS...
    model=$1 targets=$2
    shift 2
    rm -rf r peft back.gguf
    quietly "$hone" train $model --data ids.jsonl --out r --steps 4 --batch 4 --rank 3 --rate 2e-2 --warmup 0 --targets "$targets"
    quietly "$hone" export --overwrite r/adapter.gguf --peft peft --base $model "$@"
    quietly "$hone" import --overwrite peft back.gguf --base $model
    quietly "$hone" eval $model r/adapter.gguf back.gguf --data ids.jsonl --json
    set -- $(losses)
    if [ -n "$rounds" ]; then
        holds "$targets: the same loss" "($2 - $3) ^ 2 < 1e-12"
    else
        is "$targets: the same loss" "$2" "$3"
    fi
    [ "$1" != "$2" ] || fail "the adapter changes nothing"
    quietly "$hone" export --overwrite back.gguf --peft again --base $model
}
for name in qwen3moe mixtral gemma4-moe; do
    there_and_back $models/$name experts
    is "$name: fused" 1 "$(grep -c target_parameters peft/adapter_config.json)"
    there_and_back $models/$name attn,experts,router
    there_and_back $models/$name ffn_down_exps,attn_q
done
rounds=1 # by 5/2 and 5/3
there_and_back $models/qwen3moe ffn_gate_exps:r=2,ffn_up_exps
rounds=
there_and_back $models/qwen3moe ffn_up_exps
there_and_back $models/qwen3moe experts --apart
is "a module an expert" 0 "$(grep -c target_parameters peft/adapter_config.json)"
there_and_back $models/llama attn,mlp

# Magnitudes lie as the rows do, and norms of gemma are stored less one.
for name in llama qwen3 gemma3; do
    [ $name = gemma3 ] && rounds=1 # where a norm is beyond 0.5 to 2
    there_and_back $models/$name attn:dora,mlp:dora,norm:full
    is "$name: magnitudes" true "$(sed -n 's/.*"use_dora":\([a-z]*\).*/\1/p' peft/adapter_config.json)"
    cmp -s peft/adapter_model.safetensors again/adapter_model.safetensors || fail "$name: other magnitudes or norms"
done
rounds=
there_and_back $models/llama attn,embed:full,head:full
grep -q '"lm_head"' peft/adapter_config.json || fail "the head is not told"
there_and_back $models/llama attn_q,norm:full
sed 's/"modules_to_save":\[[^]]*\]/"modules_to_save":null/' again/adapter_config.json >config && mv config again/adapter_config.json
refuses 'norm.weight: modules_to_save is not set' "$hone" import --overwrite again x.gguf --base $models/llama
there_and_back $models/llama attn_q:dora
sed 's/"use_dora":true/"use_dora":false/' again/adapter_config.json >config && mv config again/adapter_config.json
refuses 'q_proj.lora_magnitude_vector: use_dora is not set' "$hone" import --overwrite again x.gguf --base $models/llama

# A square adapter, transposed: of 32 x 32 matrices at rank 32 A^T and B^T have the shapes of B and A.
quietly "$hone" new --overwrite qwen3moe moe.gguf layers=1 width=32 heads=2 kv_heads=2 head_dim=16 expert_ffn=32 experts=1 used=1
rm -rf r peft
quietly "$hone" train moe.gguf --data ids.jsonl --out r --steps 4 --batch 4 --rank 32 --rate 2e-2 --warmup 0 --targets attn_q
quietly "$hone" export --overwrite r/adapter.gguf --peft peft --base moe.gguf
quietly "$hone" import --overwrite peft back.gguf --base moe.gguf
cmp -s back.gguf /dev/null && fail "nothing came back"
# its two tensors of 4096 bytes change places
file=peft/adapter_model.safetensors
size=$(wc -c <$file)
{ head -c $((size - 8192)) $file; tail -c 4096 $file; tail -c 8192 $file | head -c 4096; } >swapped
cmp -s swapped $file && fail "nothing was swapped"
cp swapped $file
rm -f no.gguf
refuses 'peft: .*its self-test gives other logits than it recorded' "$hone" import --overwrite peft no.gguf --base moe.gguf
[ ! -e no.gguf ] && [ ! -e no.gguf.partial-* ] || fail "a rejected adapter was written"

# What the other side cannot say is refused by name.
rm -rf r peft
quietly "$hone" train moe.gguf --data ids.jsonl --out r --steps 2 --batch 4 --rank 2 --targets attn:dora,norm:full
refuses 'lora_magnitude: a GGUF adapter of llama.cpp has pairs of matrices only; hone merge|norm.weight: a GGUF adapter of llama.cpp' \
    "$hone" export --overwrite r/adapter.gguf --gguf x.gguf --base moe.gguf
quietly "$hone" export --overwrite r/adapter.gguf --peft peft --base moe.gguf
grep -q '"use_dora":true' peft/adapter_config.json && grep -q '"modules_to_save":\["model' peft/adapter_config.json ||
    fail "DoRA and whole tensors are not told"
rm -rf r
quietly "$hone" train moe.gguf --data ids.jsonl --out r --steps 2 --batch 4 --rank 2 --targets attn_q:dora,attn_k
refuses 'PEFT has DoRA for all or for none.*hone merge' "$hone" export --overwrite r/adapter.gguf --peft peft2 --base moe.gguf
rm -rf r
quietly "$hone" train moe.gguf --data ids.jsonl --out r --steps 2 --batch 4 --rank 2 --targets attn
quietly "$hone" export --overwrite r/adapter.gguf --gguf x.gguf --base moe.gguf
quietly "$hone" eval moe.gguf r/adapter.gguf x.gguf --data ids.jsonl --json
set -- $(losses)
is "the same" "$2" "$3"
refuses "expected --base MODEL" "$hone" export --overwrite r/adapter.gguf --gguf y.gguf
passed
