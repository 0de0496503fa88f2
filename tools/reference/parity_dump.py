"""What a Transformers model computes, layer by layer, for `hone parity`.

    python tools/reference/parity_dump.py MODEL_DIR OUT.safetensors [--dtype f32|bf16]
        [--tokens 1,2,3 | --count N [--seed S]] [--position P] [--products onednn|native]

Any causal model that Transformers loads; of a tokenizer nothing is needed: without --tokens, token i
of N is 3 + (i * i * 7 + i * 13 + i * S) mod (vocabulary - 3). In f32, S is raised until the last
chosen expert of every token is likelier than the next by more than 1e-4, at most 50 times. The
first token is at position P. Eager attention, the eager expert loop, one thread, no cache. Tensors,
in the model's own type:

    tokens i32 [T]; hidden.I [T, C], what goes into layer I, and hidden.L, what leaves the last;
    per_layer.I [T, P], where layers have inputs of their own (gemma3n, gemma4);
    router.I f32 [T, E], what layer I chose its experts by (probabilities, but of
    DeepSeek); logits [T, V].

The metadata records versions and settings, and how far the same model comes with torch's other
matrix products (oneDNN off, or on): its logits end to end, and each layer fed with this run's
input. That is what the type itself leaves open.
"""
import argparse
import json
import os

import torch
import transformers
from safetensors.torch import save_file

torch.set_num_threads(1)


def formula(vocab, n, seed):
    return [3 + (i * i * 7 + i * 13 + i * seed) % (vocab - 3) for i in range(n)]


def load(path, dtype):
    model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=dtype,
                                                              attn_implementation="eager")
    if hasattr(model, "set_experts_implementation") and model._can_set_experts_implementation():
        model.set_experts_implementation("eager")
    return model.eval()


def decoder_layers(model):
    for module in model.modules():
        layers = getattr(module, "layers", getattr(module, "h", None))
        if isinstance(layers, torch.nn.ModuleList) and len(layers) == getattr(
                model.config.get_text_config(), "num_hidden_layers"):
            return layers
    raise SystemExit("no decoder layers found")


def of_best_groups(module, scores):
    """DeepSeek's: what is in no group that was chosen is out of reach."""
    is_third = type(module).__name__.startswith("DeepseekV3")
    if not is_third and module.topk_method == "greedy":
        return scores
    groups = scores.view(len(scores), module.num_group, -1)
    rank = groups.topk(2, dim=-1)[0].sum(-1) if is_third else groups.max(-1).values
    chosen = torch.zeros_like(rank).scatter_(1, rank.topk(module.topk_group, dim=-1)[1], 1)
    return groups.masked_fill(chosen[..., None] == 0, -1e9).reshape(scores.shape)


def probabilities(module, out):
    """What a router chose by: probabilities over all experts, or DeepSeek's scores, biased, of its best groups."""
    name, first = type(module).__name__, out[0].float()
    if name.startswith("DeepseekV3"):
        return of_best_groups(module, first.sigmoid() + module.e_score_correction_bias)
    if name.startswith("DeepseekV2"):
        return of_best_groups(module, torch.softmax(first, dim=-1))
    return first if name.startswith("Gemma4") else torch.softmax(first, dim=-1)


def of_tokens(hidden):
    """[T, C] of a batch of one; of gemma3n's streams [A, 1, T, C] a token's one after the other."""
    return hidden[0] if hidden.dim() == 3 else hidden[:, 0].transpose(0, 1).flatten(1)


def as_layers(hidden, like):
    if like.dim() == 3:
        return hidden[None]
    return hidden.reshape(len(hidden), len(like), -1).transpose(0, 1)[:, None].contiguous()


def watch(layers, into):
    def before(i):
        def hook(module, args, kwargs):
            hidden = args[0] if args else kwargs["hidden_states"]
            into["hidden.%d" % i] = of_tokens(hidden).clone()
            name = type(module).__name__
            at = 2 if name.startswith("Gemma3n") else 1
            own = kwargs.get("per_layer_input", args[at] if len(args) > at else None)
            if name.startswith(("Gemma3n", "Gemma4")) and own is not None:
                into["per_layer.%d" % i] = own[0].clone()
        return hook

    def after(i):
        def hook(module, args, out):
            out = out[0] if isinstance(out, tuple) else out
            into["out.%d" % i] = of_tokens(out).clone()
        return hook

    def routed(i):
        def hook(module, args, out):
            into["router.%d" % i] = probabilities(module, out).clone()
        return hook

    handles = []
    for i, layer in enumerate(layers):
        handles.append(layer.register_forward_pre_hook(before(i), with_kwargs=True))
        handles.append(layer.register_forward_hook(after(i)))
        for module in layer.modules():
            if type(module).__name__.endswith("Router"):
                handles.append(module.register_forward_hook(routed(i)))
    return handles


def feed(layers, found):
    """Makes every layer start from what was found, and the head too."""
    def before(i):
        def hook(module, args, kwargs):
            hidden = as_layers(found["hidden.%d" % i], args[0] if args else kwargs["hidden_states"])
            if args:
                return (hidden,) + args[1:], kwargs
            return args, kwargs | {"hidden_states": hidden}
        return hook

    def last(module, args, out):
        hidden = as_layers(found["hidden.%d" % len(layers)], out[0] if isinstance(out, tuple) else out)
        return (hidden,) + out[1:] if isinstance(out, tuple) else hidden

    return [layer.register_forward_pre_hook(before(i), with_kwargs=True)
            for i, layer in enumerate(layers)] + [layers[-1].register_forward_hook(last)]


def nmse(want, got):
    w, g = want.double(), got.double()
    return float(((g - w) ** 2).sum() / (w ** 2).sum())


def other_layers(model, layers, found, logits, ids, first):
    """The NMSE of each layer and of the head, each from this run's input."""
    own = {}
    handles = watch(layers, own) + feed(layers, found)
    fed = run(model, ids, first)
    for handle in handles:
        handle.remove()
    return [nmse(found["hidden.%d" % (i + 1)], own["out.%d" % i]) for i in range(len(layers))] + [
        nmse(logits, fed)]


def run(model, ids, first):
    places = torch.arange(first, first + len(ids))[None]
    with torch.no_grad():
        return model(torch.tensor([ids]), position_ids=places, use_cache=False).logits[0].clone()


def distance(want, got):
    w, g = want.double(), got.double()
    p, q = torch.log_softmax(w, -1), torch.log_softmax(g, -1)
    return {"nmse": nmse(want, got),
            "max": float((g - w).abs().max()),
            "kl": float((p.exp() * (p - q)).sum(-1).mean()),
            "top1": float((w.argmax(-1) == g.argmax(-1)).double().mean())}


def least_margin(found, k):
    least = 1.0
    for name, p in found.items():
        if name.startswith("router."):
            top = p.topk(k + 1, dim=-1).values
            least = min(least, float((top[:, k - 1] - top[:, k]).min()))
    return least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--tokens")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--position", type=int, default=0)
    parser.add_argument("--products", choices=["onednn", "native"], default="onednn")
    args = parser.parse_args()
    model = load(args.model, torch.float32 if args.dtype == "f32" else torch.bfloat16)
    config = model.config.get_text_config()
    layers = decoder_layers(model)
    used = getattr(config, "num_experts_per_tok", None) or getattr(config, "top_k_experts", None)
    torch.backends.mkldnn.enabled = args.products == "onednn"
    for _ in range(50):
        ids = [int(t) for t in args.tokens.split(",")] if args.tokens else formula(
            config.vocab_size, args.count, args.seed)
        found = {}
        handles = watch(layers, found)
        logits = run(model, ids, args.position)
        for handle in handles:
            handle.remove()
        if args.tokens or args.dtype == "bf16" or not used or least_margin(found, used) > 1e-4:
            break
        args.seed += 1
    for i in range(len(layers)):
        out = found.pop("out.%d" % i)
        after = found.setdefault("hidden.%d" % (i + 1), out)
        assert torch.equal(out, after), "layer %d's output is not layer %d's input" % (i, i + 1)
    torch.backends.mkldnn.enabled = args.products != "onednn"
    other = distance(logits, run(model, ids, args.position))
    fed = other_layers(model, layers, found, logits, ids, args.position)
    found["logits"] = logits
    found["tokens"] = torch.tensor(ids, dtype=torch.int32)
    meta = {"class": type(model).__name__, "dtype": args.dtype, "torch": torch.__version__,
            "transformers": transformers.__version__, "attention": config._attn_implementation,
            "experts": str(getattr(config, "_experts_implementation", None)), "threads": "1", "tokens.seed": str(args.seed), "tokens.position": str(args.position),
            "products": args.products, "cpu": torch.backends.cpu.get_cpu_capability(),
            "other.backend": "native" if args.products == "onednn" else "onednn",
            "other.layers": " ".join(map(repr, fed))}
    meta.update({"other." + key: repr(value) for key, value in other.items()})
    if used and any(name.startswith("router.") for name in found):
        meta["router.least_margin"] = repr(least_margin(found, used))
    save_file({k: v.contiguous() for k, v in found.items()}, args.out, metadata=meta)
    print(os.path.basename(args.model), args.dtype, tuple(logits.shape),
          json.dumps({k: v for k, v in meta.items() if "." in k or k == "experts"}))


if __name__ == "__main__":
    main()
