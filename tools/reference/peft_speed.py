"""A LoRA step of hone beside one of PyTorch and PEFT, in turn. Run by hand, on a quiet machine:

    python tools/reference/peft_speed.py HONE FOLDER [CASE ...]

The shape of Qwen2 0.5B with a head of its own, 4 x 512 random tokens, rank 16 on every linear layer of the
blocks, two threads, nothing recomputed, PyTorch's SDPA. Cases: f32 and bf16 (of the weights; hone's numerics are
mixed then, PEFT's model is bf16), all tokens supervised, and quarter: f32, the last quarter of each sequence. Six steps
each, the first left out: median seconds, and their ratio. hone's share of the FMA peak counts 4 operations a weight and token (forward, and
the gradient of what goes in; frozen weights have none), 2 more for those of pairs, and the attention's; the head
only where tokens count.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import time

import torch
import transformers
from peft import LoraConfig, get_peft_model

HONE, FOLDER = os.path.abspath(sys.argv[1]), sys.argv[2]
CASES = sys.argv[3:] or ["f32", "bf16", "quarter"]
STEPS, BATCH, LENGTH, VOCABULARY = 6, 4, 512, 151936
WIDTH, FFN, LAYERS, HEADS, KV_HEADS, RANK = 896, 4864, 24, 14, 2, 16
torch.set_num_threads(2)


def run(*words):
    done = subprocess.run([HONE, *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def hone_seconds(case, ids):
    model = os.path.join(FOLDER, f"{'bf16' if case == 'bf16' else 'f32'}.gguf")
    if not os.path.exists(model):
        run("new", "qwen2", model, f"layers={LAYERS}", f"width={WIDTH}", f"heads={HEADS}",
            f"kv_heads={KV_HEADS}", f"ffn={FFN}", f"vocab={VOCABULARY}", "context=4096", "tied=false",
            "--type", "bf16" if case == "bf16" else "f32")
    data, out = os.path.join(FOLDER, f"{case}.jsonl"), os.path.join(FOLDER, f"run-{case}")
    with open(data, "w") as f:
        for row in ids.tolist():
            counts = [1 if case != "quarter" or i >= LENGTH * 3 // 4 else 0 for i in range(LENGTH)]
            f.write(json.dumps({"ids": row, "weights": counts}) + "\n")
    subprocess.run(["rm", "-rf", out])
    run("train", model, "--data", data, "--out", out, "--steps", str(STEPS), "--batch", str(BATCH), "--rank",
        str(RANK), "--targets", "attn,mlp", "--recompute", "0", "--threads", "2", "--warmup", "0", "--samples", "0",
        "--numerics", "mixed" if case == "bf16" else "f32")
    with open(os.path.join(out, "metrics.jsonl")) as f:
        lines = [json.loads(line) for line in f]
    return [line["seconds"] for line in lines if "seconds" in line and "loss" in line][1:]


def peft_seconds(case, ids):
    config = transformers.Qwen2Config(
        hidden_size=WIDTH, intermediate_size=FFN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS, vocab_size=VOCABULARY, tie_word_embeddings=False, max_position_embeddings=4096)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(
        config, dtype=torch.bfloat16 if case == "bf16" else torch.float32, attn_implementation="sdpa")
    model = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules="all-linear",
                                             task_type="CAUSAL_LM"))
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4)
    labels = ids.clone()
    if case == "quarter":
        labels[:, : LENGTH * 3 // 4] = -100
    seconds = []
    for _ in range(STEPS):
        begin = time.time()
        model(input_ids=ids, labels=labels, use_cache=False).loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.time() - begin)
    return seconds[1:]


def fma_peak():
    """GFLOP/s of two threads in registers, as hone measures it."""
    table = run("bench", "kernels", "--only", "step", "--quick", "--threads", "2")
    return max(float(x) for x in re.findall(r"threads 2: peak ([\d.]+) GFLOP/s", table))


def operations(case):
    kv = WIDTH * KV_HEADS // HEADS
    block = WIDTH * (2 * WIDTH + 2 * kv + 3 * FFN)
    pairs = RANK * (4 * WIDTH + 2 * (WIDTH + kv) + 3 * (WIDTH + FFN))
    tokens = BATCH * LENGTH
    counted = tokens // 4 if case == "quarter" else tokens
    attention = BATCH * LENGTH * LENGTH // 2 * WIDTH * 14
    return LAYERS * (tokens * (4 * block + 6 * pairs) + attention) + counted * 4 * WIDTH * VOCABULARY



os.makedirs(FOLDER, exist_ok=True)
ids = torch.randint(3, 150000, (BATCH, LENGTH), generator=torch.Generator().manual_seed(1))
peak = fma_peak()
for case in CASES:
    ours, theirs = hone_seconds(case, ids), peft_seconds(case, ids)
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"{case}: hone {a:.2f} s, PEFT {b:.2f} s, {b / a:.2f} x; "
          f"{operations(case) / a / 1e9:.0f} GFLOP/s, {operations(case) / a / 1e7 / peak:.0f} % of the FMA peak; all {[round(x, 2) for x in ours]} {[round(x, 2) for x in theirs]}",
          flush=True)
