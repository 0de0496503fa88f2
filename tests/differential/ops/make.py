"""What PyTorch makes of each op, forward and backward, in float64; see ops.origin.

    pip install torch numpy && python3 make.py [folder]

Rewrites ops.txt (format: tests/differential/reference.h) and frequencies.txt: for each line
"rope_angles attributes" the divisors, "factors N VALUES" or "factors -", and "inverse N VALUES".
"""
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(7)
lines, tables = [], []


def text(values):
    return " ".join("%d" % v if values.dtype.kind in "iub" else "%.9g" % v for v in values.reshape(-1))


def line(kind, x):
    x = x.detach().numpy() if torch.is_tensor(x) else np.asarray(x)
    name = {"f": "f32", "u": "u8"}.get(x.dtype.kind, "i32")
    lines.append(f"{kind} {name}[{','.join(map(str, x.shape))}] {text(x)}")


def factors_of(k, y):
    """What output k is multiplied by in the loss."""
    i = np.arange(y.numel())
    return (((i * 37 + 11 + 5 * k) % 64 - 31.5) / 32).reshape(y.shape)


def case(op, attrs, inputs, fn, grads=None, no_flow=()):
    """`inputs`: arrays or None; `fn` of tensors; `grads`: inputs to differentiate (None: all floats);
    `no_flow`: outputs that the loss leaves out."""
    tensors = [None if x is None
               else torch.tensor(x.astype(np.float64), requires_grad=True) if x.dtype.kind == "f"
               else torch.tensor(x.astype(np.int64)) for x in inputs]
    outs = fn(*tensors)
    outs = outs if isinstance(outs, tuple) else (outs,)
    lines.append(f"case {attrs or 'as it is'}")
    lines.append(f"op {op} {attrs}".strip())
    for x in inputs:
        if x is None:
            lines.append("in -")
        else:
            line("in", x)
    if grads is None:
        grads = [i for i, t in enumerate(tensors) if t is not None and t.dtype == torch.float64]
    loss = 0
    for k, y in enumerate(outs):
        line(f"out {k}", y)
        if grads and torch.is_tensor(y) and y.requires_grad and k not in no_flow:
            line(f"factor {k}", factors_of(k, y))
            loss = loss + (y * torch.tensor(factors_of(k, y))).sum()
    if torch.is_tensor(loss):
        for i, got in zip(grads, torch.autograd.grad(loss, [tensors[i] for i in grads])):
            line(f"grad {i}", got)


def rand(*shape, low=-2.0, high=2.0):
    return rng.uniform(low, high, shape).astype(np.float32)


def ints(low, high, *shape):
    return rng.integers(low, high, shape).astype(np.int32)


def arr(*values):
    return np.array(values, np.float32)


# ---- elementwise ----

EDGES = arr(-30, -10, -3, -1, -0.5, -1e-3, 0, 1e-3, 0.5, 1, 3, 10, 30)
POSITIVE = arr(1e-6, 0.01, 0.3, 1, 2, 17, 1e5)


def elementwise():
    for op, attrs, fn in [
        ("neg", "", lambda x: -x),
        ("abs", "", torch.abs),
        ("sqr", "", lambda x: x * x),
        ("sigmoid", "", torch.sigmoid),
        ("tanh", "", torch.tanh),
        ("relu", "", F.relu),
        ("silu", "", F.silu),
        ("gelu", "", lambda x: F.gelu(x, approximate="tanh")),
        ("gelu", "form=erf", F.gelu),
        ("softplus", "", lambda x: torch.logaddexp(x, torch.zeros_like(x))),
        ("softcap", "cap=2.5", lambda x: 2.5 * torch.tanh(x / 2.5)),
        ("softcap", "", lambda x: 30 * torch.tanh(x / 30)),
        ("clamp", "low=-1 high=3", lambda x: torch.clamp(x, -1, 3)),
        ("clamp", "high=0.5", lambda x: torch.clamp(x, max=0.5)),
    ]:
        case(op, attrs, [EDGES], fn)
    case("exp", "", [EDGES / 4], torch.exp)
    for op, fn in [("log", torch.log), ("sqrt", torch.sqrt), ("rsqrt", torch.rsqrt)]:
        case(op, "", [POSITIVE], fn)
    ties = [arr(1, 2, 2, -1, 0), arr(2, 1, 2, -1, 0.5)]
    case("max", "", ties, lambda a, b: torch.where(a >= b, a, b))
    case("min", "", ties, lambda a, b: torch.where(a <= b, a, b))
    case("greater", "", ties, lambda a, b: a > b)
    wide, row = rand(2, 3, 4), rand(3, 1)
    case("sub", "", [wide, row], lambda a, b: a - b)
    case("div", "", [wide, rand(3, 1, low=0.5)], lambda a, b: a / b)
    case("max", "", [wide, row], torch.maximum)
    case("min", "", [row, wide], torch.minimum)
    case("where", "", [np.array([[1], [0], [2]], np.uint8), row, wide],
         lambda c, a, b: torch.where(c != 0, a, b))
    case("pow", "", [arr(0, 0, 1.5, 2, 0.25), arr(2, 1.5, 0, -1.5, 3)], torch.pow)
    case("pow", "", [arr(-2, -1, 3), arr(2, 3, -1)], torch.pow, grads=[0])
    pair = [EDGES, rand(13)]
    case("swiglu", "", pair, lambda g, u: F.silu(g) * u)
    case("geglu", "", pair, lambda g, u: F.gelu(g, approximate="tanh") * u)
    case("geglu", "form=erf", pair, lambda g, u: F.gelu(g) * u)
    ends = arr(1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 65519, 65520, 3e38, 2**-25, 6e-8)
    halves = np.concatenate([rand(6), ends])
    for name, kind in [("bf16", torch.bfloat16), ("f16", torch.float16)]:
        case("cast", f"to={name}", [halves], lambda x: x.float().to(kind).double(), grads=[])
    case("cast", "to=i32", [arr(0.5, 1.5, 2.5, -0.5, -1.5, 3e9, -3e9, 7)],
         lambda x: np.array([0, 2, 2, 0, -2, 2**31 - 1, -(2**31), 7]))


# ---- shape ----

def shape():
    x = rand(3, 5, 4)
    case("view", "shape=5,-1,2", [x], lambda x: x.view(5, 6, 2))
    case("transpose", "", [x], lambda x: x.transpose(-2, -1))
    case("transpose", "a=0 b=-1", [x], lambda x: x.transpose(0, -1))
    case("slice", "dim=1 begin=-4 end=-1 step=2", [x], lambda x: x[:, -4:-1:2])
    case("slice", "dim=-1 begin=1", [x], lambda x: x[..., 1:])
    case("slice_of", "dim=1", [x, rand(3, 2, 4), rand(3, 1, 4)], lambda x, like, before: x[:, 1:3],
         grads=[0])
    case("slice_grad", "dim=1 begin=-4 step=2", [rand(3, 2, 4), x, None],
         lambda dy, x, _: torch.zeros_like(x).index_put_((slice3(3), idx(1, 3), slice3(4)), dy), grads=[])
    case("concat", "dim=-2", [x, rand(3, 2, 4)], lambda a, b: torch.cat([a, b], -2))
    case("concat", "dim=0", [ints(0, 9, 4), ints(0, 9, 3)], lambda a, b: torch.cat([a, b]))
    case("pad", "before=1,0,2 after=0,1,3 value=-1.5", [x],
         lambda x: F.pad(x, (2, 3, 0, 1, 1, 0), value=-1.5))
    case("repeat", "times=2,1,3", [rand(2, 3, 2)], lambda x: x.repeat(2, 1, 3))
    case("repeat_grad", "times=2,3", [rand(4, 6), rand(2, 2)],
         lambda dy, x: dy.view(2, 2, 3, 2).sum((0, 2)), grads=[0])
    case("spread", "dim=1", [rand(3, 4), x], lambda s, x: s[:, None].expand(3, 5, 4), grads=[0])


def slice3(n):
    return torch.arange(n).view(-1, 1, 1) if n == 3 else torch.arange(n).view(1, 1, -1)


def idx(*at):
    return torch.tensor(at).view(1, -1, 1)


# ---- reductions ----

def first(x, dim, least=False):
    """The value at the first extreme element, through which the whole gradient flows."""
    at = torch.tensor(np.expand_dims(np.argmin(x.detach().numpy(), dim) if least
                                     else np.argmax(x.detach().numpy(), dim), dim))
    return x.gather(dim, at).squeeze(dim)


def reductions():
    x = rand(3, 5, 4)
    ties = ints(0, 3, 3, 7, 2).astype(np.float32)
    for dim in (0, 1, 2):
        case("sum", f"dim={dim}", [x], lambda x: x.sum(dim))
        case("mean", f"dim={dim} keep=1", [x], lambda x: x.mean(dim, keepdim=True))
        case("reduce_max", f"dim={dim}", [ties], lambda x: first(x, dim))
        case("reduce_min", f"dim={dim}", [ties], lambda x: first(x, dim, True))
        case("argmax", f"dim={dim}", [ties], lambda x: np.argmax(x.detach().numpy(), dim))
        case("cumsum", f"dim={dim}", [x], lambda x: x.cumsum(dim))
        case("cumsum", f"dim={dim} reverse=1", [x], lambda x: x.flip(dim).cumsum(dim).flip(dim))
        case("logsumexp", f"dim={dim}", [x * 20], lambda x: x.logsumexp(dim))
    case("sum", "dim=0", [x, rand(5, 4)], lambda x, acc: acc + x.sum(0))
    case("logsumexp", "", [arr(-np.inf, -np.inf)], lambda x: x.logsumexp(-1), grads=[])
    hole = arr(np.nan, 1, np.nan, 3, 3)
    case("argmax", "", [hole], lambda x: np.array(3))
    case("reduce_max", "", [hole], lambda x: np.array(3.0))
    for x in (ties[..., 0], rand(4, 9)):
        order = np.argsort(-x, axis=-1, kind="stable")
        case("top_k", "k=4", [x], lambda _: order[:, :4])
    case("top_k", "k=5", [hole], lambda _: np.array([3, 4, 1, 0, 2]))
    ids = ints(0, 9, 4, 6)
    case("take", "", [rand(4, 9), ids], lambda x, i: x.gather(-1, i))
    case("take_grad", "", [rand(4, 6), ids, rand(4, 9)],
         lambda dy, i, x: torch.zeros_like(x).scatter_add(-1, i, dy), grads=[0])


# ---- norms, softmax ----

def norms():
    x, gain, bias = rand(2, 3, 20), rand(20), rand(20)
    n = (20,)
    for attrs, eps in (("", 1e-5), ("eps=0.5", 0.5)):
        eps = float(np.float32(eps))
        case("layer_norm", attrs, [x, gain, bias], lambda x, g, b: F.layer_norm(x, n, g, b, eps))
    eps = float(np.float32(1e-5))
    case("layer_norm", "", [x, None, None], lambda x, g, b: F.layer_norm(x, n, None, None, eps))
    case("rms_norm", "", [x, gain], lambda x, g: F.rms_norm(x, n, g, eps))
    small = rand(3, 4)
    small[1] *= 1e-4
    case("l2_norm", "eps=0.01", [small], lambda x: F.normalize(x, dim=-1, eps=float(np.float32(0.01))))
    case("l2_norm", "", [x], lambda x: F.normalize(x, dim=-1))
    case("softmax", "", [x * 10], lambda x: (x.softmax(-1), torch.zeros(2, 3)), no_flow=[1])
    mask = np.where(rng.uniform(size=(3, 6)) < 0.4, -np.inf, rand(3, 6)).astype(np.float32)
    mask[1] = -np.inf
    scale = float(np.float32(0.3))

    def with_sinks(x, mask, sinks):
        z = x * scale + (mask.detach() if mask is not None else 0)
        if sinks is None:
            empty = torch.isinf(z).all(-1, keepdim=True)
            y = torch.where(empty, 0.0, torch.where(empty, 0.0, z).softmax(-1))
            return y, torch.zeros(y.shape[:-1])
        p = torch.cat([z, sinks.expand(z.shape[:-1]).unsqueeze(-1)], -1).softmax(-1)
        return p[..., :-1], p[..., -1]

    case("softmax", "scale=0.3", [rand(2, 3, 6), mask, None], with_sinks, grads=[0], no_flow=[1])
    case("softmax", "scale=0.3", [rand(2, 3, 6), mask, rand(2, 1)], with_sinks, grads=[0, 2],
         no_flow=[1])
    case("softmax", "scale=0.3", [rand(4, 2, 5), None, rand(2)], with_sinks, grads=[0, 2], no_flow=[1])


# ---- products ----

def products():
    def mm(ta, tb, heads=1):
        def fn(a, b):
            a, b = (a.mT if ta else a), (b.mT if tb else b)
            return a @ b.repeat_interleave(heads, -3) if heads > 1 else a @ b
        return fn

    for ta in (0, 1):
        for tb in (0, 1):
            a, b = rand(*((4, 3) if ta else (3, 4))), rand(*((5, 4) if tb else (4, 5)))
            case("matmul", f"ta={ta} tb={tb}", [a, b], mm(ta, tb))
            a, b = rand(2, 4, *a.shape), rand(2, 2, *b.shape)
            case("matmul", f"ta={ta} tb={tb}", [a, b], mm(ta, tb, 2))
    case("matmul", "", [rand(2, 3, 4), rand(4, 5)], mm(0, 0))
    case("matmul", "tb=1", [rand(3, 4), rand(2, 5, 4)], mm(0, 1))
    case("matmul", "", [rand(6, 2, 3), rand(2, 3, 2)], mm(0, 0, 3))

    def to(a, b, like, acc):
        return acc + (a.mT @ b).view(2, 3, 3, 4).sum(1)

    case("matmul_to", "ta=1", [rand(6, 5, 3), rand(6, 5, 4), rand(2, 3, 4), rand(2, 3, 4)], to, grads=[])


# ---- rope: the frequencies are Transformers' own formulas, in f32 as it computes them ----

def frequencies(n, base=10000.0, scaling="none", factor=1.0, original=0, factors=None, truncate=True,
                head=0):
    power = torch.arange(0, n, 2, dtype=torch.int64).float()
    if scaling == "proportional":
        inv = 1.0 / (base ** (power / head)) / factor
        return torch.cat([inv, torch.zeros((head - n) // 2, dtype=torch.float32)]), 1.0
    period = base ** (power / n)
    if factors is not None:
        period = torch.tensor(factors) * period
    inv = 1.0 / period
    if scaling == "linear":
        inv = inv / factor
    if scaling == "llama3":
        low, high = 1.0, 4.0
        wave = 2 * math.pi / inv
        slow = torch.where(wave > original / low, inv / factor, inv)
        smooth = (original / wave - low) / (high - low)
        mixed = (1 - smooth) * slow / factor + smooth * slow
        medium = ~(wave < original / high) * ~(wave > original / low)
        inv = torch.where(medium, mixed, slow)
    if scaling == "yarn":
        def pair(turns):
            return n * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))
        low, high = pair(32), pair(1)
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, n - 1)
        ramp = torch.clamp((torch.arange(n // 2, dtype=torch.float32) - low) / (high - low), 0, 1)
        kept = 1 - ramp
        inv = 1.0 / (factor * period) * (1 - kept) + 1.0 / period * kept
        return inv, 0.1 * math.log(factor) + 1
    if scaling == "longrope":
        return inv, math.sqrt(1 + math.log(factor) / math.log(original))
    return inv, 1.0


def angles_of(pos, inv, size):
    angle = pos.double()[:, None] * inv.double()[None]
    return torch.cat([torch.cos(angle) * size, torch.sin(angle) * size], -1)


def turn(x, angles, layout="half", offset=0, inverse=False):
    n = angles.shape[-1]
    c, s = angles[:, None, : n // 2], angles[:, None, n // 2:] * (-1 if inverse else 1)
    head, part, tail = x[..., :offset], x[..., offset:offset + n], x[..., offset + n:]
    if layout == "half":
        a, b = part[..., : n // 2], part[..., n // 2:]
        part = torch.cat([a * c - b * s, b * c + a * s], -1)
    else:
        a, b = part[..., 0::2], part[..., 1::2]
        part = torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2)
    return torch.cat([head, part, tail], -1)


def rope():
    wide = (1 + np.arange(8) * 0.7).astype(np.float32)
    for head, attrs, options, turned in [
        (16, "width=16", {}, {}),
        (16, "width=16 base=500", {"base": 500.0}, {"layout": "adjacent"}),
        (20, "width=12", {}, {"offset": 4}),
        (20, "width=10", {}, {"offset": 3, "layout": "adjacent", "inverse": 1}),
        (16, "width=16 scaling=linear factor=4", {"scaling": "linear", "factor": 4.0}, {}),
        (64, "width=64 scaling=llama3 base=500000 factor=8 original=8192",
         {"scaling": "llama3", "base": 500000.0, "factor": 8.0, "original": 8192}, {}),
        (64, "width=64 scaling=yarn base=150000 factor=32 original=4096 fractional=1",
         {"scaling": "yarn", "base": 150000.0, "factor": 32.0, "original": 4096, "truncate": False}, {}),
        (64, "width=64 scaling=yarn factor=4 original=32768 base=1000000",
         {"scaling": "yarn", "base": 1000000.0, "factor": 4.0, "original": 32768}, {}),
        (16, "width=16 scaling=longrope factor=32 original=4096",
         {"scaling": "longrope", "factor": 32.0, "original": 4096, "factors": wide}, {}),
        (16, "width=16", {"factors": wide}, {"layout": "adjacent"}),
        (32, "width=32 scaling=proportional n_rot=8 base=1000000",
         {"scaling": "proportional", "base": 1000000.0, "head": 32, "turning": 8}, {}),
    ]:
        n = options.pop("turning", None) or int(attrs.split("width=")[1].split()[0])
        inv, size = frequencies(n, **options)
        factors, n_heads = options.get("factors"), 2 if head < 64 else 1
        tables.append(f"rope_angles {attrs}")
        tables.append("factors -" if factors is None else f"factors {len(factors)} {text(factors)}")
        tables.append(f"inverse {len(inv)} {text(inv.numpy())}")
        x, pos = rand(3, n_heads, head), ints(0, 60, 3)
        case("rope_angles", attrs, [pos, factors], lambda p, f: angles_of(p, inv, size), grads=[])
        angles = angles_of(torch.tensor(pos), inv, size).numpy().astype(np.float32)
        case("rope", " ".join(f"{name}={value}" for name, value in turned.items()), [x, angles],
             lambda x, a: turn(x, a, **turned), grads=[0])
    inv, _ = frequencies(8)
    case("rope_angles", "width=8", [None, None, rand(4, 1, 8)],
         lambda p, f, x: angles_of(torch.arange(4), inv, 1), grads=[])


NOT_HERE = """\
# Checked as the gradients of others: abs_grad clamp_grad sigmoid_grad tanh_grad relu_grad silu_grad
# gelu_grad softplus_grad softcap_grad swiglu_grad geglu_grad mean_grad first_grad layer_norm_grad
# rms_norm_grad l2_norm_grad softmax_grad.
# Without a reference: stop_gradient, which is its input.
"""


def main():
    for part in (elementwise, shape, reductions, norms, products, rope):
        part()
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    (folder / "ops.txt").write_text(NOT_HERE + "\n".join(lines) + "\n")
    (folder / "frequencies.txt").write_text("\n".join(tables) + "\n")


main()
