"""Transformers' states of the tiny models that generate, after their last norm, in float32: eager attention, one thread.

    python tools/reference/tiny_states.py MODELS_DIR OUT_DIR [name ...]

Writes OUT_DIR/NAME.npy: f32 [2, width], the mean over the tokens and the last token's. The tokens are those of
tiny_logits.py: token i of n is 3 + (i * i * 7 + i * 13) mod (vocabulary - 3).
"""
import os
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)
N = 40

for name in sys.argv[3:] or sorted(os.listdir(sys.argv[1])):
    model = AutoModelForCausalLM.from_pretrained(os.path.join(sys.argv[1], name), dtype=torch.float32,
                                                 attn_implementation="eager").eval()
    vocab = model.config.get_text_config().vocab_size
    ids = torch.tensor([[3 + (i * i * 7 + i * 13) % (vocab - 3) for i in range(N)]])
    with torch.no_grad():
        states = model.base_model(ids, use_cache=False).last_hidden_state[0].double()
        logits = model(ids, use_cache=False).logits[0, -1]
    pooled = torch.stack([states.mean(0), states[-1]]).float()
    np.save(os.path.join(sys.argv[2], name + ".npy"), pooled.numpy())
    print(name, tuple(pooled.shape), float(pooled.abs().max()), float(logits.abs().max()))
