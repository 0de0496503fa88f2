"""Transformers' logits of the tiny models, in float32: eager attention, one thread.

    python tools/reference/tiny_logits.py MODELS_DIR OUT_DIR [name ...]

Writes OUT_DIR/NAME.npy: f32 [tokens, vocabulary]; of bert the last hidden states. The tokens are a formula, so that a test needs
no second file: token i of n is 3 + (i * i * 7 + i * 13) mod (vocabulary - 3).
"""
import os
import sys

import numpy as np
import torch
from transformers import AutoModel, AutoModelForCausalLM

torch.set_num_threads(1)
N = 40


def tokens(vocab):
    return [3 + (i * i * 7 + i * 13) % (vocab - 3) for i in range(N)]


for name in sys.argv[3:] or sorted(os.listdir(sys.argv[1])):
    kind = AutoModel if name == "bert" else AutoModelForCausalLM
    model = kind.from_pretrained(os.path.join(sys.argv[1], name), dtype=torch.float32,
                                 attn_implementation="eager").eval()
    ids = torch.tensor([tokens(model.config.get_text_config().vocab_size)])
    with torch.no_grad():
        out = model(ids) if name == "bert" else model(ids, use_cache=False)
        logits = out.last_hidden_state[0] if name == "bert" else out.logits[0]
    np.save(os.path.join(sys.argv[2], name + ".npy"), logits.float().numpy())
    print(name, tuple(logits.shape), float(logits.abs().max()))
