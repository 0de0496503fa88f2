"""PyTorch's losses and gradients of tiny models, and the losses of twenty steps.

    python tools/reference/gradients.py MODELS_DIR OUT_DIR [name ...]

For each model OUT_DIR/NAME gets
  model.safetensors  the gradient of every tensor of the checkpoint, under its own name, all of it
                     trained (buffers too), with the config.json it belongs to: a directory that
                     opens as a model whose weights are gradients
  lora.safetensors   the batch (ids, weights, begin), random A and B of low-rank changes under
                     GGUF's names in Hugging Face's order, and their gradients
  record.json        losses, of twenty AdamW steps too, with clipping and a cosine after a warm-up

Float64, also where Transformers asks for float32 (softmax, norms, rope): what f32 kernels are
held against is then right to the last digit; record.json says how far PyTorch's own float32
gradients are from it. Eager attention, eager experts, one thread. A batch is several sequences, each by itself;
one is not supervised at all, weights are not all one, and in the first layer of a mixture some
expert gets no token. The loss is the sum of weight * nll over the sum of weights.
"""
import json
import math
import os
import re
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch.func import functional_call
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)
RANK, SCALE, STEPS, WARM = 4, 2.0, 20, 3
LORA_RATE, FULL_RATE = 2e-3, 2e-4
CUT_RATE = 2e-4  # of low-rank changes, where gates are cut off: larger steps cross a bound, in one precision before the other
LENGTHS = [9, 14, 1, 11, 6]
MASKED = 3
TURNED = "turned"  # in the place of a half: a matrix that the file has as [in, out]


OWN = torch.Tensor.float, torch.Tensor.to, torch.nn.functional.softmax


def restore(*_):
    torch.Tensor.float, torch.Tensor.to, torch.nn.functional.softmax = OWN


class Double:
    """Within, what asks for float32 gets float64."""

    def __enter__(self):
        as_double = lambda x: torch.float64 if x is torch.float32 else x
        _, to, softmax = OWN
        torch.Tensor.float = lambda t, *a, **k: t if t.is_floating_point() else to(t, torch.float64)
        torch.Tensor.to = lambda t, *a, **k: to(t, *map(as_double, a),
                                                **{n: as_double(v) for n, v in k.items()})
        torch.nn.functional.softmax = lambda *a, **k: softmax(*a, **{n: as_double(v) for n, v in k.items()})

    __exit__ = restore


class Single:
    """Within Double: float32 again."""
    __enter__ = restore

    def __exit__(self, *_):
        Double().__enter__()


def attention(i):
    return [(f"blk.{i}.attn_{a}.weight", f"model.layers.{i}.self_attn.{h}_proj.weight", None)
            for a, h in (("q", "q"), ("k", "k"), ("v", "v"), ("output", "o"))]


def mlp(i):
    return [(f"blk.{i}.ffn_{n}.weight", f"model.layers.{i}.mlp.{n}_proj.weight", None)
            for n in ("gate", "up", "down")]


def stacked(i, path, split):
    both = f"model.layers.{i}.{path}.gate_up_proj"
    parts = [(f"blk.{i}.ffn_gate_exps.weight", both, 0), (f"blk.{i}.ffn_up_exps.weight", both, 1)]
    if not split:
        parts = [(f"blk.{i}.ffn_gate_up_exps.weight", both, None)]
    return parts + [(f"blk.{i}.ffn_down_exps.weight", f"model.layers.{i}.{path}.down_proj", None)]


def llama(i):
    return attention(i) + mlp(i)


def qwen3moe(i):
    return (attention(i) + stacked(i, "mlp.experts", True)
            + [(f"blk.{i}.ffn_gate_inp.weight", f"model.layers.{i}.mlp.gate.weight", None)])


def gemma4_moe(i):
    return (attention(i) + mlp(i) + stacked(i, "experts", False)
            + [(f"blk.{i}.ffn_gate_inp.weight", f"model.layers.{i}.router.proj.weight", None)])


def gemma4_e(i):
    return (attention(i) + mlp(i)
            + [(f"blk.{i}.inp_gate.weight", f"model.layers.{i}.per_layer_input_gate.weight", None),
               (f"blk.{i}.proj.weight", f"model.layers.{i}.per_layer_projection.weight", None)])


def granitemoe(i):
    return (attention(i) + stacked(i, "block_sparse_moe.experts", True)
            + [(f"blk.{i}.ffn_gate_inp.weight", f"model.layers.{i}.block_sparse_moe.router.weight", None)])


def phi3(i):
    return [(f"blk.{i}.{a}.weight", f"model.layers.{i}.{h}_proj.weight", None)
            for a, h in (("attn_qkv", "self_attn.qkv"), ("attn_output", "self_attn.o"), ("ffn_up", "mlp.gate_up"),
                         ("ffn_down", "mlp.down"))]


def deepseek(i):
    at, shared = f"model.layers.{i}.self_attn", f"model.layers.{i}.mlp.shared_experts"
    return ([(f"blk.{i}.attn_{g}.weight", f"{at}.{h}.weight", None)
             for g, h in (("q", "q_proj"), ("q_a", "q_a_proj"), ("q_b", "q_b_proj"), ("kv_a_mqa", "kv_a_proj_with_mqa"),
                          ("output", "o_proj"))]
            + mlp(i) + stacked(i, "mlp.experts", True)
            + [(f"blk.{i}.ffn_{a}_shexp.weight", f"{shared}.{a}_proj.weight", None) for a in ("gate", "up", "down")]
            + [(f"blk.{i}.ffn_gate_inp.weight", f"model.layers.{i}.mlp.gate.weight", None)])


def gemma3n(i):
    own = (("laurel_l", "laurel.linear_left"), ("laurel_r", "laurel.linear_right"), ("altup_router", "altup.modality_router"),
           ("altup_predict_coef", "altup.prediction_coefs"), ("altup_correct_coef", "altup.correction_coefs"))
    return gemma4_e(i) + [(f"blk.{i}.{a}.weight", f"model.layers.{i}.{h}.weight", None) for a, h in own]


def gpt2(i):
    own = (("attn_qkv", "attn.c_attn"), ("attn_output", "attn.c_proj"), ("ffn_up", "mlp.c_fc"), ("ffn_down", "mlp.c_proj"))
    return [(f"blk.{i}.{a}.weight", f"transformer.h.{i}.{h}.weight", TURNED) for a, h in own]


TARGETS = {"llama": llama, "llama-tied": llama, "qwen3moe": qwen3moe, "gemma4-moe": gemma4_moe,
           "gemma4-e": gemma4_e, "olmoe": qwen3moe, "granitemoe": granitemoe, "phi3": phi3,
           "deepseek-v2-groups": deepseek, "deepseek-v3": deepseek,
           "gpt2": gpt2, "gemma3n": gemma3n}
# Names of files that Transformers has others for.
RENAMED = {"block_sparse_moe.input_linear.weight": "block_sparse_moe.experts.gate_up_proj",
           "block_sparse_moe.output_linear.weight": "block_sparse_moe.experts.down_proj",
           "block_sparse_moe.router.layer.weight": "block_sparse_moe.router.weight"}


def draw(vocab, seed):
    """Few different words, so that some expert has none of them."""
    g = torch.Generator().manual_seed(seed)
    words = torch.randint(3, vocab, (7,), generator=g)
    batch = []
    for k, n in enumerate(LENGTHS):
        ids = words[torch.randint(0, 7, (n,), generator=g)]
        weights = (torch.rand(n, generator=g) < 0.6).to(torch.float64) * torch.tensor([1.0, 0.5], dtype=torch.float64)[
            torch.randint(0, 2, (n,), generator=g)]
        weights[0] = 0
        batch.append((ids, weights * 0 if k == MASKED else weights))
    return batch


def loss_of(model, weights, batch):
    total = sum(w.sum() for _, w in batch)
    loss = 0
    for ids, w in batch:
        if not w.any() and len(ids) == 1:
            continue
        logits = functional_call(model, weights, (ids[None],), {"use_cache": False}).logits[0].float()
        nll = torch.nn.functional.cross_entropy(logits[:-1], ids[1:], reduction="none")
        loss = loss + (nll * w[1:]).sum()
    return loss / total


def has_idle_expert(model, weights, batch, n_expert):
    seen = {}

    def hook(layer):
        def take(_, __, out):
            ids = [o for o in out if o.dtype == torch.int64][0]
            seen.setdefault(layer, set()).update(ids.flatten().tolist())
        return take
    routers = [m for n, m in model.named_modules() if n.endswith(("mlp.gate", "router"))]
    handles = [m.register_forward_hook(hook(i)) for i, m in enumerate(routers)]
    with torch.no_grad():
        loss_of(model, weights, batch)
    for h in handles:
        h.remove()
    return any(len(s) < n_expert for s in seen.values())


def changed(base, lora, targets):
    """The base's weights with every low-rank change added."""
    out = dict(base)
    for name, source, half in targets:
        if name + ".lora_a" not in lora:
            continue
        change = SCALE * lora[name + ".lora_b"] @ lora[name + ".lora_a"]
        if half == TURNED:
            change = change.T
        elif half is not None:
            zero = torch.zeros_like(change)
            change = torch.cat([zero, change] if half else [change, zero], dim=-2)
        out[source] = out[source] + change
    return out


def of_stored(name, gradients):
    """The gradient of a tensor of the file, which may be one expert's part of a stack."""
    for stored, held in RENAMED.items():
        name = name.replace(stored, held)
    if name in gradients:
        return gradients[name].contiguous()
    part = re.fullmatch(r"(.*experts)\.(\d+)\.(gate|up|down)_proj\.weight", name)
    if part[3] == "down":
        return gradients[part[1] + ".down_proj"][int(part[2])].contiguous()
    both = gradients[part[1] + ".gate_up_proj"][int(part[2])]
    return both.chunk(2)[part[3] == "up"].contiguous()


def steps(model, trained, complete, batch, most):
    """Losses of AdamW's steps; `trained` are its leaves, `complete` makes all weights of them."""
    leaves = list(trained.values())
    optim = torch.optim.AdamW(leaves, lr=most, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    losses, norms = [], []
    for s in range(STEPS):
        p = (s - WARM) / max(1, STEPS - WARM)
        rate = most * (s / WARM if s < WARM else 0.5 * (1 + math.cos(math.pi * p)))
        for group in optim.param_groups:
            group["lr"] = rate
        optim.zero_grad()
        loss = loss_of(model, complete(trained), batch)
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(leaves, 1.0)))
        losses.append(loss.item())
        optim.step()
    return losses, norms


def load(path, dtype):
    return AutoModelForCausalLM.from_pretrained(path, dtype=dtype, attn_implementation="eager",
                                                experts_implementation="eager").eval()


def full_gradients(model, weights, batch):
    own = {n: t.clone().requires_grad_() for n, t in weights.items() if t.is_floating_point()}
    loss = loss_of(model, own, batch)
    loss.backward()
    return loss.item(), {n: t.grad if t.grad is not None else torch.zeros_like(t)
                         for n, t in own.items()}


def weights_of(model):
    weights = {n: t.detach().clone() for n, t in model.state_dict().items()}
    if model.config.get_text_config().tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    return weights


def lora_gradients(model, weights, lora, targets, batch):
    own = {n: t.detach().clone().to(next(iter(weights.values())).dtype).requires_grad_() for n, t in lora.items()}
    loss = loss_of(model, changed(weights, own, targets), batch)
    loss.backward()
    return loss.item(), {n: t.grad if t.grad is not None else torch.zeros_like(t)
                         for n, t in own.items()}


def farthest(got, exact, last):
    return max(((got[n].double() - t).norm() / t.norm()).item() for n, t in exact.items()
               if t.norm() > 0 and n != f"model.layers.{last}.layer_scalar")


def own_distance(path, batch, exact, lora, exact_lora, targets):
    """How far float32's gradients are from the exact ones: the worst tensor's. (The scale of a
    last layer, which the final norm undoes, has none.)"""
    model = load(path, torch.float32)
    weights = weights_of(model)
    single = [(i, w.float()) for i, w in batch]
    last = model.config.get_text_config().num_hidden_layers - 1
    return max(farthest(full_gradients(model, weights, single)[1], exact, last),
               farthest(lora_gradients(model, weights, lora, targets, single)[1], exact_lora, last))


def best_batch(path, model, weights, n_expert, lora, targets):
    """Of forty batches the one whose gradients float32 can tell best: some cancel nearly."""
    best = None
    for seed in range(40):
        batch = draw(model.config.get_text_config().vocab_size, seed)
        if n_expert and not has_idle_expert(model, weights, batch, n_expert):
            continue
        _, exact = full_gradients(model, weights, batch)
        _, exact_lora = lora_gradients(model, weights, lora, targets, batch)
        with Single():
            distance = own_distance(path, batch, exact, lora, exact_lora, targets)
        if best is None or distance < best[2]:
            best = batch, seed, distance
    return best


def make_lora(weights, targets):
    g = torch.Generator().manual_seed(5)
    lora = {}
    for target, source, half in targets:
        if source not in weights:
            continue  # keys and values of another layer
        shape = list(weights[source].shape)
        if half == TURNED:
            shape.reverse()
        elif half is not None:
            shape[-2] //= 2
        lora[target + ".lora_a"] = torch.randn(shape[:-2] + [RANK, shape[-1]], generator=g) * 0.1
        lora[target + ".lora_b"] = torch.randn(shape[:-1] + [RANK], generator=g) * 0.05
    return lora


def leaves_of(tensors, which=lambda name: True):
    return {n: t.detach().clone().double().requires_grad_() for n, t in tensors.items() if which(n)}


def main():
    for name in sys.argv[3:] or TARGETS:
        path, out = os.path.join(sys.argv[1], name), os.path.join(sys.argv[2], name)
        os.makedirs(out, exist_ok=True)
        model = load(path, torch.float64)
        text = model.config.get_text_config()
        weights = weights_of(model)
        n_expert = (getattr(text, "num_experts", None) or 0) if "moe" in name else 0  # granitemoe: none is idle
        targets = [t for i in range(text.num_hidden_layers) for t in TARGETS[name](i)]
        lora_rate = CUT_RATE if getattr(text, "activation_sparsity_pattern", None) else LORA_RATE
        record = {"rank": RANK, "scale": SCALE, "lora_rate": lora_rate, "full_rate": FULL_RATE, "warm": WARM, "decay": 0.01,
                  "clip": 1.0, "torch": torch.__version__, "transformers": transformers.__version__}
        with Double():
            lora = make_lora(weights, targets)
            batch, seed, record["float32_distance"] = best_batch(path, model, weights, n_expert,
                                                                 lora, targets)
            record["loss"], gradients = full_gradients(model, weights, batch)
            parameters = {n for n, _ in model.named_parameters()}
            rest = {n: t for n, t in weights.items() if n not in parameters}
            record["full_losses"], record["full_norms"] = steps(
                model, leaves_of(weights, parameters.__contains__), lambda t: rest | t, batch, FULL_RATE)
            file = dict(lora)
            record["lora_loss"], changes = lora_gradients(model, weights, lora, targets, batch)
            for n, t in changes.items():
                file["grad." + n] = t
            record["lora_losses"], record["lora_norms"] = steps(
                model, leaves_of(lora), lambda t: changed(weights, t, targets), batch, lora_rate)
        # The checkpoint's own tensors: Transformers stacks experts on reading, we unstack here.
        stored = load_file(os.path.join(path, "model.safetensors"))
        save_file({n: of_stored(n, gradients).float() for n in stored},
                  os.path.join(out, "model.safetensors"), {"format": "pt"})
        shutil.copy(os.path.join(path, "config.json"), out)
        file = {n: t.float() for n, t in file.items()}
        file["ids"] = torch.cat([i for i, _ in batch]).int()
        file["weights"] = torch.cat([w for _, w in batch]).float()
        file["begin"] = torch.tensor([0] + [sum(LENGTHS[:i + 1]) for i in range(len(LENGTHS))]).int()
        save_file(file, os.path.join(out, "lora.safetensors"), {"format": "pt"})
        with open(os.path.join(out, "record.json"), "w") as f:
            json.dump(record, f, indent=1)
        print(name, record["loss"], record["lora_loss"], "seed", seed, "float32 of PyTorch is",
              record["float32_distance"], "away")


if __name__ == "__main__":
    main()
