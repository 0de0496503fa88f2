"""A PEFT adapter of experts in one parameter (target_parameters), or of matrices that lie in one module, and the
logits that PEFT gives.

    python tools/reference/peft_fused.py MODELS_DIR OUT_DIR [name ...]

OUT_DIR/NAME gets adapter_config.json, adapter_model.safetensors and expected.json (ids, the last
token's logits in float32) for each model below: random weights in both halves, dense and in no
blocks, so that gate and up share every component.
"""
import json
import os
import sys

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)
CASES = {
    "qwen3moe": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj", "mlp.gate.weight"],
    "gemma4-moe": ["experts.gate_up_proj", "experts.down_proj"],
    "olmoe": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj", "mlp.gate.weight"],
    "granitemoe": ["block_sparse_moe.experts.gate_up_proj", "block_sparse_moe.experts.down_proj",
                   "block_sparse_moe.router.weight"],
    "phi3": None,
    # By the names of before Transformers 5, which PEFT turns into parameters of twice the rank and with twice the alpha.
    "qwen3moe-modules": None,
}
MODULES = {"phi3": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"],
           "qwen3moe-modules": ["q_proj", "gate_proj", "up_proj", "down_proj"]}

for name in sys.argv[3:] or CASES:
    parameters = CASES[name]
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(os.path.join(sys.argv[1], name.removesuffix("-modules")), dtype=torch.float32,
                                                 attn_implementation="eager", experts_implementation="eager").eval()
    peft = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules=MODULES.get(name, ["q_proj"]),
                                            target_parameters=parameters)).eval()
    g = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for key, p in sorted(peft.named_parameters()):
            if "lora_" in key:
                p.copy_(torch.randn(p.shape, generator=g) * (0.5 if name == "granitemoe" else 0.15))  # residuals of 0.22
        ids = torch.randint(3, 250, (17,), generator=g)
        logits = peft(ids[None]).logits[0, -1]
    out = os.path.join(sys.argv[2], name)
    peft.peft_config["default"].base_model_name_or_path = name.removesuffix("-modules")
    peft.save_pretrained(out, save_embedding_layers=False)
    os.remove(os.path.join(out, "README.md"))
    with open(os.path.join(out, "expected.json"), "w") as f:
        json.dump({"ids": ids.tolist(), "logits": [float(f"{x:.9g}") for x in logits.tolist()]}, f)
