"""Where training begins: held-out losses after 120 steps from the values of `hone new` and from those of
Transformers' own initialisation, of one llama shape, on the same data in the same order.

    python tools/reference/first_values.py HONE FOLDER [SEEDS]

prints a line a seed. FOLDER is filled with stories, a tokenizer and models.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import gguf
import torch
from transformers import LlamaConfig, LlamaForCausalLM

HONE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
SEEDS = range(1, 1 + int(sys.argv[3]) if len(sys.argv) > 3 else 5)
SHAPE = "layers=4 width=192 heads=6 kv_heads=6 head_dim=32 ffn=512 context=512 tied=false rope.freq_base=10000"
NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
         "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def hone(*words):
    done = subprocess.run([HONE, *map(str, words)], cwd=FOLDER, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout + done.stderr


def name_of(tensor):
    part = tensor.split(".")
    return f"model.layers.{part[1]}.{NAMES[part[2]]}.weight" if part[0] == "blk" else NAMES[part[0]] + ".weight"


def transformers_values(seed):
    """The file of `hone new` with every number replaced; rope's order of rows does not matter to draws."""
    shutil.copy(FOLDER / "class.gguf", FOLDER / "theirs.gguf")
    reader = gguf.GGUFReader(FOLDER / "theirs.gguf", "r+")
    vocab = next(int(t.shape[1]) for t in reader.tensors if t.name == "token_embd.weight")
    torch.manual_seed(seed)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=vocab, hidden_size=192, intermediate_size=512, num_hidden_layers=4, num_attention_heads=6,
        num_key_value_heads=6, head_dim=32, max_position_embeddings=512, tie_word_embeddings=False,
        bos_token_id=None, eos_token_id=None, pad_token_id=None))
    values = model.state_dict()
    for tensor in reader.tensors:
        tensor.data[:] = values[name_of(tensor.name)].numpy().reshape(tensor.data.shape)
    reader.data.flush()


def held_out(model):
    text = hone("train", model, "--data", "train.jsonl", "--held", "held.jsonl", "--targets", "all:full", "--steps", 120,
                "--batch", 8, "--rate", 0.002, "--warmup", 10, "--seed", 1, "--out", "run", "--overwrite")
    return float(re.findall(r"held-out loss ([0-9.]+)", text)[-1])


FOLDER.mkdir(parents=True, exist_ok=True)
hone("story", "--overwrite", "--seed", 1, "--count", 6000, "--out", "train.jsonl")
hone("story", "--overwrite", "--seed", 99, "--count", 256, "--out", "held.jsonl")
hone("story", "--overwrite", "--seed", 1, "--count", 4000, "--out", "words.txt")
hone("new-tokenizer", "--overwrite", "tokenizer.gguf", "words.txt", "--vocab", 2048)
for seed in SEEDS:
    hone("new", "--overwrite", "llama", "class.gguf", "--tokenizer", "tokenizer.gguf", "--seed", seed, *SHAPE.split())
    transformers_values(seed)
    print(f"seed {seed}: hone new {held_out('class.gguf'):.4f}, Transformers {held_out('theirs.gguf'):.4f}", flush=True)
