"""The balance loss of a batch as Transformers computes it: tests/differential/balance.json.

    python tools/reference/balance.py

reads the small mixtures under tests/differential/models and prints, for each, the loss of the routers
of one batch of three sequences, padded, with and without a mask.
"""
import json
import pathlib

import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "differential"
SEQUENCES = [[(7 * i + 3) % 250 for i in range(13)], [(11 * i + 5) % 250 for i in range(9)],
             [(5 * i + 1) % 250 for i in range(11)]]


def balance(name):
    model = transformers.AutoModelForCausalLM.from_pretrained(HERE / "models" / name, dtype=torch.float32)
    model.eval()
    longest = max(map(len, SEQUENCES))
    ids = torch.tensor([s + [0] * (longest - len(s)) for s in SEQUENCES])
    mask = torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in SEQUENCES])
    with torch.no_grad():
        out = model(ids, attention_mask=mask, output_router_logits=True)
    return float(out.aux_loss)


result = {"sequences": SEQUENCES,
          "models": {name: balance(name) for name in ("qwen3moe", "mixtral", "mixtral-top4")
                     if (HERE / "models" / name).is_dir()}}
(HERE / "balance.json").write_text(json.dumps(result, indent=1) + "\n")
print(result["models"])
