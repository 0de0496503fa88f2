"""Writes model_ops.txt: values and gradients of ops from PyTorch in float64, for the reader in
tests/differential/reference.h. Inputs are numbers that f32 holds exactly."""
import os

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(20)
lines = []


def f32(x):
    return x.detach().to(torch.float32).to(torch.float64)


def rand(*shape, scale=1.0):
    return f32(torch.randn(shape) * scale)


def single(x):
    """An attribute as the engine holds it."""
    return float(np.float32(x))


def text(x):
    x = x.detach()
    is_int = not x.is_floating_point()
    kind = "i32" if is_int else "f32"
    form = (lambda v: "%d" % v) if is_int else (lambda v: "%.9g" % v)
    dims = ",".join(str(d) for d in x.shape)
    return f"{kind}[{dims}] " + " ".join(form(v) for v in x.flatten().tolist())


def case(name, op, attrs, inputs, compute, learn=()):
    """compute(*inputs) gives the outputs; `learn` are the inputs to differentiate."""
    ready = [x.clone().requires_grad_(i in learn) if x is not None else None
             for i, x in enumerate(inputs)]
    outputs = compute(*ready)
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    lines.append(f"case {name}")
    lines.append(f"op {op} {attrs}".rstrip())
    for x in inputs:
        lines.append("in " + (text(x) if x is not None else "-"))
    loss = 0
    for o, y in enumerate(outputs):
        if y is None:
            continue
        lines.append(f"out {o} {text(y)}")
        if learn and y.is_floating_point() and y.requires_grad and o == 0:
            factor = rand(*y.shape)
            lines.append(f"factor {o} {text(factor)}")
            loss = loss + (factor * y).sum()
    if learn:
        loss.backward()
        for i in learn:
            lines.append(f"grad {i} {text(ready[i].grad)}")


# ---- attention ----

def visible(n_q, n_k, causal, window, spans):
    seen = torch.zeros(n_q, n_k, dtype=torch.bool)
    for t, (first, own, end) in enumerate(spans):
        for j in range(n_k):
            inside = first <= j <= own if causal else first <= j < end
            seen[t, j] = inside and (not window or abs(own - j) < window)
    return seen


def attend(q, k, v, sinks, seen, scale, softcap):
    n_q, n_head, _ = q.shape
    each = n_head // k.shape[1]
    k, v = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
    s = torch.einsum("qhd,khd->hqk", q, k) * scale
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    s = s.masked_fill(~seen, float("-inf"))
    if sinks is not None:
        s = torch.cat([s, sinks[:, None, None].expand(-1, n_q, 1)], -1)
    p = torch.softmax(s, -1)[..., :k.shape[0]]
    return torch.einsum("hqk,khd->qhd", p, v), torch.logsumexp(s, -1).T


def attention(name, q, k, v, sinks=None, segments=None, causal=1, window=0, scale=0.0, softcap=0.0):
    n_q, n_k = q.shape[0], k.shape[0]
    if segments is None:
        spans = [(0, t + n_k - n_q, n_k) for t in range(n_q)]
    elif segments.dim() == 2:
        spans = segments.tolist()
    else:
        ids = segments.tolist()
        spans = [(ids.index(i), t, len(ids) - ids[::-1].index(i)) for t, i in enumerate(ids)]
    seen = visible(n_q, n_k, causal, window, spans)
    factor = single(scale) if scale else q.shape[2] ** -0.5
    attrs = f"causal={causal} window={window} scale={scale} softcap={softcap}"
    learn = (0, 1, 2) + ((3,) if sinks is not None else ())
    case(name, "attention", attrs, [q, k, v, sinks, segments],
         lambda q, k, v, sinks, _: attend(q, k, v, sinks, seen, factor, single(softcap)), learn)


def ints(x):
    return torch.tensor(x, dtype=torch.int32)


def sdpa(q, k, v, *_):
    y = F.scaled_dot_product_attention(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1),
                                       is_causal=True)
    return y.transpose(0, 1)


case("scaled_dot_product_attention", "attention", "", [rand(6, 2, 5), rand(6, 2, 5), rand(6, 2, 5)],
     sdpa, (0, 1, 2))
attention("grouped heads, sinks and softcap", rand(6, 4, 4), rand(6, 2, 4), rand(6, 2, 3),
          sinks=rand(4), softcap=2.0)
attention("window past one tile", rand(70, 2, 3), rand(70, 1, 3), rand(70, 1, 3), window=66)
attention("segments, window", rand(8, 2, 4), rand(8, 2, 4), rand(8, 2, 4),
          segments=ints([4, 4, 4, 1, 7, 7, 7, 7]), window=3)
attention("segments, both ways", rand(7, 2, 4), rand(7, 1, 4), rand(7, 1, 4), sinks=rand(2),
          segments=ints([0, 0, 1, 1, 1, 1, 2]), causal=0, scale=0.3)
attention("spans into a cache, window", rand(3, 4, 4), rand(9, 2, 4), rand(9, 2, 4), sinks=rand(4),
          segments=ints([[0, 8, 9], [2, 3, 5], [5, 7, 9]]), window=4)
attention("spans, both ways, softcap", rand(3, 2, 4), rand(9, 2, 4), rand(9, 2, 4),
          segments=ints([[0, 8, 9], [2, 3, 5], [5, 7, 9]]), causal=0, softcap=1.5)
attention("queries at the end", rand(2, 2, 4), rand(6, 2, 4), rand(6, 2, 4))


# ---- mixtures of experts ----

def route(score, k, renormalise=0, n_group=1, k_group=1, factor=1.0, eps=0.0):
    def compute(logits, bias, scale):
        n_token, n = logits.shape
        p = {"softmax": lambda x: torch.softmax(x, -1), "sigmoid": torch.sigmoid,
             "softmax_topk": lambda x: x}[score](logits)
        choice = p.detach() + (bias if bias is not None else 0)
        if n_group > 1:
            groups = choice.view(n_token, n_group, -1)
            best = groups.topk(2, -1).values.sum(-1).topk(k_group, -1).indices
            mask = torch.zeros(n_token, n_group).scatter_(1, best, 1.0)
            mask = mask[:, :, None].expand_as(groups).reshape(n_token, n)
            choice = choice.masked_fill(mask == 0, float("-inf"))
        ids = choice.topk(k, -1).indices
        weights = p.gather(1, ids)
        if score == "softmax_topk":
            weights = torch.softmax(weights, -1)
        if renormalise:
            weights = weights / (weights.sum(-1, keepdim=True) + single(eps))
        weights = weights * single(factor)
        if scale is not None:
            weights = weights * scale[ids]
        return weights, ids.to(torch.int32)
    attrs = (f"score={score} k={k} renormalise={renormalise} n_group={n_group} k_group={k_group} "
             f"factor={factor} eps={eps}")
    return attrs, compute


for name, n, extra, how in [
        ("mixtral", 8, "", dict(score="softmax", k=2, renormalise=1)),
        ("olmoe", 16, "", dict(score="softmax", k=4)),
        ("gpt-oss", 12, "", dict(score="softmax_topk", k=4)),
        ("deepseek v2", 12, "", dict(score="softmax", k=3, factor=16.0)),
        ("deepseek v3", 16, "bias", dict(score="sigmoid", k=4, renormalise=1, n_group=4, k_group=2,
                                         factor=2.5, eps=1e-20)),
        ("gemma 4", 16, "scale", dict(score="softmax", k=4, renormalise=1)),
        ("groups without bias", 12, "scale", dict(score="softmax", k=3, n_group=3, k_group=2))]:
    attrs, compute = route(**how)
    bias = rand(n, scale=0.3) if extra == "bias" else None
    scale = rand(n) if extra == "scale" else None
    case(f"router of {name}", "router", attrs, [rand(6, n), bias, scale], compute,
         (0,) + ((2,) if scale is not None else ()))


def experts(x, w, ids):
    x = x if x.dim() == 3 else x[:, None, :].expand(-1, ids.shape[1], -1)
    y = torch.einsum("tuk,tunk->tun", x, w[ids.clamp(min=0).long()])
    return y * (ids >= 0)[..., None]


chosen = ints([[0, 3], [2, -1], [3, 1], [-1, -1], [2, 0]])
case("experts of shared rows", "linear_id", "", [rand(5, 6), rand(5, 4, 6), chosen], experts, (0, 1))
case("experts of own rows", "linear_id", "", [rand(5, 2, 6), rand(5, 4, 6), chosen], experts, (0, 1))
case("experts together", "combine", "", [rand(5, 3, 4), rand(5, 3)],
     lambda x, w: torch.einsum("tun,tu->tn", x, w), (0, 1))


# ---- rows by number ----

case("embedding", "gather", "", [rand(7, 4), ints([[6, 0, 3], [3, 3, 1]])],
     lambda w, ids: F.embedding(ids.long(), w), (0,))


# ---- losses ----

def entropy(ignore=-100, softcap=0.0, logit_scale=1.0):
    def compute(x, w, labels, weights, count, acc):
        z = x @ w.T * single(logit_scale)
        if softcap:
            z = single(softcap) * torch.tanh(z / single(softcap))
        nll = F.cross_entropy(z, labels.long(), ignore_index=ignore, reduction="none")
        lse = torch.logsumexp(z, -1).masked_fill(labels == ignore, 0)
        loss = (nll * (weights if weights is not None else 1)).sum()
        loss = loss / (count if count is not None else 1) + (acc if acc is not None else 0)
        return loss, lse, nll
    return f"ignore={ignore} softcap={softcap} logit_scale={logit_scale}", compute


scalar = lambda x: torch.tensor(single(x))
attrs, compute = entropy()
case("next token, prompt ignored", "cross_entropy", attrs,
     [rand(6, 5), rand(9, 5), ints([-100, -100, 3, 8, 0, 3]), None, scalar(4), None], compute, (0, 1))
attrs, compute = entropy(softcap=3.0, logit_scale=0.25)
case("weights, softcap, a sum to go on from", "cross_entropy", attrs,
     [rand(5, 8, scale=3), rand(11, 8), ints([1, 2, 10, -100, 0]), rand(5), scalar(7), scalar(2.5)],
     compute, (0, 1))


def kl(direction):
    def compute(x, target, weights, count):
        q, p = torch.log_softmax(x, -1), torch.log_softmax(target, -1)
        if direction == "reverse":
            q, p = p, q
        rows = F.kl_div(q, p, reduction="none", log_target=True).sum(-1)
        rows = rows * weights if weights is not None else rows
        return rows.sum() / (count if count is not None else x.shape[0])
    return compute


for direction in ("forward", "reverse"):
    case(f"{direction} divergence", "kl", f"direction={direction}",
         [rand(4, 9, scale=2), rand(4, 9, scale=2), None, None], kl(direction), (0,))
    case(f"{direction} divergence, weighed", "kl", f"direction={direction}",
         [rand(4, 9, scale=2), rand(4, 9, scale=2), rand(4), scalar(6)], kl(direction), (0,))
case("squared error", "mse", "", [rand(4, 6), rand(4, 6)], F.mse_loss, (0,))
case("squared error, weighed", "mse", "", [rand(4, 6), rand(4, 6), rand(4), scalar(9)],
     lambda x, y, w, n: (((x - y) ** 2).mean(-1) * w).sum() / n, (0,))


def balance(score):
    def one(logits, ids):
        n = logits.shape[1]
        p = torch.softmax(logits, -1) if score == "softmax" else torch.sigmoid(logits)
        p = p / p.sum(-1, keepdim=True)
        share = F.one_hot(ids.long(), n).to(p.dtype).mean((0, 1))
        return n * (share * p.mean(0)).sum()

    def compute(logits, ids, segments=None, count=None):
        if segments is None:
            return one(logits, ids)
        runs = torch.unique_consecutive(segments)
        total = sum(one(logits[segments == s], ids[segments == s]) for s in runs)
        return total / (count if count is not None else len(runs))
    return compute


picks = torch.stack([torch.randperm(6)[:2] for _ in range(9)]).to(torch.int32)
for score in ("softmax", "sigmoid"):
    case(f"balance of sequences, {score}", "router_balance", f"score={score}",
         [rand(9, 6), picks, ints([3, 3, 3, 3, 1, 1, 2, 2, 2]), scalar(8)], balance(score), (0,))
    case(f"balance of the batch, {score}", "router_balance_batch", f"score={score}",
         [rand(9, 6), picks], balance(score), (0,))
case("z loss", "router_z", "", [rand(5, 7)], lambda x: (torch.logsumexp(x, -1) ** 2).mean(), (0,))


# ---- optimisers ----

def adamw(w, g, m, v, hyper, clip, **how):
    own = torch.nn.Parameter(w.clone())
    optimiser = torch.optim.AdamW([own], lr=hyper[0].item(), betas=(single(0.9), single(0.95)),
                                  eps=single(1e-6), weight_decay=single(0.1))
    optimiser.state[own] = {"step": torch.tensor(hyper[1].item() - 1), "exp_avg": m.clone(),
                            "exp_avg_sq": v.clone()}
    own.grad = g * (clip if clip is not None else 1)
    optimiser.step()
    state = optimiser.state[own]
    return own.data, state["exp_avg"], state["exp_avg_sq"]


w, m, v = rand(3, 5), torch.zeros(3, 5), torch.zeros(3, 5)
for step in (1, 2, 3):
    inputs = [w, rand(3, 5), m, v, f32(torch.tensor([0.01 * step, step])),
              scalar(0.7) if step == 2 else None]
    case(f"adamw, step {step}", "adamw", "beta1=0.9 beta2=0.95 eps=1e-6 decay=0.1", inputs, adamw)
    w, m, v = (f32(x) for x in adamw(*inputs))


def sgd(nesterov):
    def compute(w, g, m, hyper):
        own = torch.nn.Parameter(w.clone())
        optimiser = torch.optim.SGD([own], lr=hyper[0].item(), momentum=single(0.9),
                                    nesterov=nesterov)
        optimiser.state[own]["momentum_buffer"] = m.clone()
        own.grad = g.clone()
        optimiser.step()
        return own.data, optimiser.state[own]["momentum_buffer"]
    return compute


for nesterov in (False, True):
    case(f"sgd, nesterov {nesterov}", "sgd", f"momentum=0.9 nesterov={int(nesterov)}",
         [rand(7), rand(7), rand(7), f32(torch.tensor([0.1, 4]))], sgd(nesterov))


def clip(norm_sq):
    p = torch.nn.Parameter(torch.zeros(4))
    p.grad = torch.full((4,), (norm_sq / 4).sqrt().item())
    torch.nn.utils.clip_grad_norm_([p], 1.0)
    return (p.grad[0] / (norm_sq / 4).sqrt()).detach()


case("clip_grad_norm_, above", "clip_factor", "max=1", [scalar(6.25)], clip)
case("clip_grad_norm_, below", "clip_factor", "max=1", [scalar(0.3)], clip)



def lion(w, g, m, hyper, clip):
    """As lion_pytorch, of https://arxiv.org/abs/2302.06675: the sign first, then the momentum."""
    lr, beta1, beta2, decay = hyper[0].item(), single(0.9), single(0.95), single(0.1)
    g = g * (clip if clip is not None else 1)
    w = w * (1 - lr * decay)
    w = w + m.clone().mul(beta1).add(g, alpha=1 - beta1).sign() * -lr
    return w, m.clone().mul(beta2).add(g, alpha=1 - beta2)


w, m = rand(3, 5), rand(3, 5)
for step in (1, 2):
    inputs = [w, rand(3, 5), m, f32(torch.tensor([0.01 * step, step])), scalar(0.7) if step == 2 else None]
    case(f"lion, step {step}", "lion", "beta1=0.9 beta2=0.95 decay=0.1", inputs, lion)
    w, m = (f32(x) for x in lion(*inputs))

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "model_ops.txt"), "w") as out:
    out.write("\n".join(lines) + "\n")
