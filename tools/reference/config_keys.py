"""What Transformers makes of every key of config.json, deleted and changed, one at a time.

    python tools/reference/config_keys.py MODELS_DIR OUT_DIR [name ...]

For each tiny model that hone can run (tools/reference/tiny_models.py) writes OUT_DIR/NAME.json:

    {"tokens": 24,
     "logits": ["<f32 in hex>", ...],          distinct answers; the first is the unchanged model's
     "cases": [{"key": K, "value": V, "is": i}, ...]}

A case puts V for the top-level key K, or takes K out where "value" is missing; several keys at
once are in "more": {K: V}. "is" is the number of the answer, or a word: "refused" (an exception,
or numbers that are not finite), "lacks" (Transformers would draw weights that the file lacks).
"drops" says that it left tensors of the file unused. An answer is PICKED numbers of the logits
(of bert the hidden states), of 24 tokens, mostly of the last ones. Versions are pinned in
requirements.txt.
"""
import copy
import json
import os
import shutil
import sys
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"
warnings.filterwarnings("ignore")
import numpy as np
import torch
import transformers as T

torch.set_num_threads(1)
T.logging.disable_progress_bar()
TOKENS, PICKED = 24, 32
GONE = object()

MODELS = ["llama", "llama-tied", "mistral", "mixtral", "qwen2", "qwen3", "qwen3moe", "gemma2",
          "gemma3", "gemma4-e", "gemma4-moe", "gemma4-dense", "gpt-oss", "smollm3", "granite",
          "bert", "gpt2", "gemma3n"]

ACTIVATIONS = ["silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_python",
               "gelu_fast", "gelu_accurate", "quick_gelu", "relu", "relu2", "tanh", "mish",
               "foo", "", 3, None, GONE]

# Keys that a file may carry beside those of its class: each is put in.
STRANGE = {
    "sliding_window": [4, None], "use_sliding_window": [True], "attn_logit_softcapping": [2.0],
    "final_logit_softcapping": [3.0], "logits_scaling": [3.0], "residual_multiplier": [0.5],
    "embedding_multiplier": [3.0], "attention_multiplier": [0.3], "attention_bias": [True, False],
    "mlp_bias": [True, False], "use_bidirectional_attention": [True, False],
    "is_decoder": [True, False], "clip_qkv": [0.5], "partial_rotary_factor": [0.5, 1.0],
    "no_rope_layers": [[0, 1, 0, 1, 0, 1, 0][:2]], "layer_types": [["sliding_attention"] * 2],
    "rope_theta": [777.0], "rope_local_base_freq": [555.0], "head_dim": [8, 16],
    "quantization_config": [{"quant_method": "mxfp4"}, {"quant_method": "gptq", "bits": 4}],
    "torch_dtype": ["float16"], "max_window_layers": [1], "num_experts_per_tok": [1],
    "query_pre_attn_scalar": [64], "moe_intermediate_size": [24], "no_such_key": [1, None],
    "hidden_activation": ["gelu"], "hidden_act": ["gelu"], "original_max_position_embeddings": [16],
    "temperature": [0.3], "max_length": [20], "output_attentions": [False], "return_dict": [True],
    "pruned_heads": [{}], "num_labels": [2], "id2label": [{"0": "A", "1": "B"}],
    "bos_token_id": [7], "position_embedding_type": ["absolute", "relative_key"],
}


def rope_cases(head, layers):
    """Flat rope parameters of every type, good and bad. `head`: the width that turns."""
    pairs = head // 2
    long = dict(rope_type="longrope", rope_theta=5000.0, original_max_position_embeddings=64,
                short_factor=[1 + 0.25 * i for i in range(pairs)],
                long_factor=[2 + 0.5 * i for i in range(pairs)])
    yarn = dict(rope_type="yarn", rope_theta=5000.0, factor=4.0,
                original_max_position_embeddings=16)
    llama3 = dict(rope_type="llama3", rope_theta=5000.0, factor=8.0, low_freq_factor=1.0,
                  high_freq_factor=4.0, original_max_position_embeddings=16)
    linear = dict(rope_type="linear", rope_theta=5000.0, factor=4.0)
    dynamic = dict(rope_type="dynamic", rope_theta=5000.0, factor=4.0)
    proportional = dict(rope_type="proportional", rope_theta=5000.0, partial_rotary_factor=0.5)
    out = [dict(rope_type="default", rope_theta=5000.0), dict(rope_theta=5000.0),
           dict(rope_type="default"), {}, dict(type="linear", factor=2.0),
           dict(rope_type="foo", rope_theta=5000.0), dict(rope_type="default", rope_theta=5000.0,
                                                          factor=2.0),
           dict(rope_type="default", rope_theta=5000.0, partial_rotary_factor=0.5),
           linear, linear | dict(factor=0), linear | dict(factor=0.5), linear | dict(factor=-2.0),
           linear | dict(factor=None), linear | dict(factor="4"), linear | dict(factor=3),
           {k: v for k, v in linear.items() if k != "factor"},
           linear | dict(partial_rotary_factor=1.0), linear | dict(partial_rotary_factor=0.5),
           linear | dict(no_such_key=1),
           dynamic, dynamic | dict(factor=None), {k: v for k, v in dynamic.items() if k != "factor"},
           proportional, proportional | dict(factor=2.0), proportional | dict(partial_rotary_factor=1.0),
           {k: v for k, v in proportional.items() if k != "partial_rotary_factor"},
           yarn, yarn | dict(truncate=False), yarn | dict(truncate=True), yarn | dict(mscale=0.7),
           yarn | dict(mscale=0.7, mscale_all_dim=1.4), yarn | dict(mscale=1.0, mscale_all_dim=0.0),
           yarn | dict(attention_factor=1.5), yarn | dict(attention_factor=0.0), yarn | dict(beta_fast=16.0),
           yarn | dict(beta_slow=2.0), yarn | dict(beta_fast=0), yarn | dict(factor=None),
           yarn | dict(factor=0.5), yarn | dict(factor=0.0),
           {k: v for k, v in yarn.items() if k != "factor"},
           {k: v for k, v in yarn.items() if k != "original_max_position_embeddings"},
           yarn | dict(original_max_position_embeddings=0), yarn | dict(rope_theta=1.0),
           yarn | dict(partial_rotary_factor=0.5), yarn | dict(extrapolation_factor=0.5),
           llama3, llama3 | dict(factor=1.0), llama3 | dict(low_freq_factor=2.0),
           llama3 | dict(high_freq_factor=1.0), llama3 | dict(high_freq_factor=2),
           llama3 | dict(factor=0.0), llama3 | dict(original_max_position_embeddings=512),
           {k: v for k, v in llama3.items() if k != "low_freq_factor"},
           {k: v for k, v in llama3.items() if k != "high_freq_factor"},
           {k: v for k, v in llama3.items() if k != "original_max_position_embeddings"},
           long, long | dict(attention_factor=1.25), long | dict(factor=4.0), long | dict(factor=0.5),
           long | dict(original_max_position_embeddings=8),
           long | dict(short_factor=long["short_factor"][:-1]), long | dict(short_factor=None),
           long | dict(short_factor=[0.0] * pairs), long | dict(long_factor=[0.0] * pairs),
           long | dict(rope_type="su"),
           {k: v for k, v in long.items() if k != "original_max_position_embeddings"},
           dict(rope_type="default", rope_theta=0.0), dict(rope_type="default", rope_theta=-1.0),
           dict(rope_type="default", rope_theta=None), dict(rope_type="default", rope_theta="1e4"),
           dict(rope_type="default", rope_theta=10000), dict(rope_type=None, rope_theta=5000.0)]
    return out


def other_values(key, value):
    if key in ("hidden_act", "hidden_activation", "activation_function"):
        return ACTIVATIONS
    if isinstance(value, bool):
        return [not value, "x", 1, 0, [], None, GONE]
    if isinstance(value, int):
        big = 512 if "layers" in key or key == "n_layer" else 97 if "expert" in key else 100003
        return [value + 1, value - 1 if value > 1 else 2, 2 * value if key != "num_hidden_layers" else 5, 0, -1, big, float(value), value + 0.5,
                True, "x", str(value), [value], None, GONE]
    if isinstance(value, float):
        return [2 * value + 0.5, value / 2, 0.0, -1.0, 1e30, int(value), 1, True, "x", str(value),
                [value], None, GONE]
    if isinstance(value, str):
        more = {"model_type": ["llama", "mistral"], "dtype": ["float32", "float16"]}.get(key, [])
        return more + ["foo", "", 3, [], None, GONE]
    if isinstance(value, list):
        changed = []
        if value:
            changed = [value[:-1], value + value[-1:], list(reversed(value)), value[:-1] + ["x"],
                       value[:-1] + [None], [value[-1]] * len(value), [value[0]] * len(value)]
            if all(isinstance(v, int) for v in value):
                changed += [value[:-1] + [v] for v in (0, 1, 2, -1, 0.5, True)]
            if key == "layer_types":
                changed += [["chunked_attention"] * len(value), ["linear_attention"] * len(value)]
        return changed + [[], "x", 3, {}, None, GONE]
    if value is None:
        return [True, False, 1, 3, 0, -1, 2.5, "x", "all", [], {}, GONE]
    return []


def inner_cases(value):
    """Every key of an object deleted and changed, to any depth."""
    out = [{}, [], "x", 3, None, GONE, value | {"no_such_key": 1}]
    for k, v in value.items():
        for w in inner_cases(v) if isinstance(v, dict) else other_values(k, v):
            changed = copy.deepcopy(value)
            if w is GONE:
                del changed[k]
            else:
                changed[k] = w
            out.append(changed)
    return out


def cases_of(config):
    layers = config.get("num_hidden_layers", 2)
    heads = config.get("num_attention_heads", 4)
    head = config.get("head_dim") or config.get("hidden_size", 0) // heads
    for key, value in config.items():
        if key == "architectures":
            for v in [["FooForCausalLM"], [], None, GONE, "x"]:
                yield key, v
        elif isinstance(value, dict):
            for v in inner_cases(value):
                yield key, v
        else:
            for v in other_values(key, value):
                yield key, v
    if "rope_parameters" in config:
        flat = config["rope_parameters"]
        if "full_attention" in flat:
            for v in rope_cases(16 if "per_layer_config" in config else head, layers):
                yield "rope_parameters", flat | {"full_attention": v}
            for v in rope_cases(head, layers)[:9]:
                yield "rope_parameters", flat | {"sliding_attention": v}
            yield "rope_parameters", {"rope_type": "default", "rope_theta": 777.0}
            yield "rope_scaling", {"rope_type": "linear", "factor": 2.0}
        else:
            for v in rope_cases(head, layers):
                yield "rope_parameters", v
            yield "rope_parameters", {"full_attention": flat, "sliding_attention": flat}
            for v in [{"type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0},
                      {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 64},
                      None, {}, 3]:
                yield "rope_scaling", v
                yield "more", {"rope_parameters": GONE, "rope_scaling": v, "rope_theta": 5000.0}
            yield "more", {"rope_parameters": GONE, "rope_theta": 5000}
            yield "more", {"rope_parameters": GONE, "rope_theta": None}
    for key, values in STRANGE.items():
        for v in values:
            if key not in config:
                yield key, v
    # Windows and the flags that let them in
    if "use_sliding_window" in config:
        for window in (4, 8, 1, None, 0, -1):
            for more in ({}, {"layer_types": GONE, "max_window_layers": 0}) if window in (0, -1) else ({}, {"max_window_layers": 1}, {"max_window_layers": 0},
                         {"layer_types": ["sliding_attention"] + ["full_attention"] * (layers - 1)},
                         {"layer_types": GONE, "max_window_layers": 1},
                         {"layer_types": GONE, "max_window_layers": 0}, {"layer_types": GONE}):
                yield "more", {"use_sliding_window": True, "sliding_window": window} | more
        yield "more", {"use_sliding_window": True, "sliding_window": GONE, "layer_types": GONE,
                       "max_window_layers": 0}
    if "no_rope_layers" in config:
        for v in ([0, 1, 1, 0], [1] * 4, [0] * 4):
            yield "more", {"no_rope_layers": v, "layer_types": GONE}
        yield "more", {"no_rope_layers": GONE, "no_rope_layer_interval": 2}
        yield "more", {"no_rope_layers": GONE}
    if "_sliding_window_pattern" in config:
        for v in (2, 1, 0, None):
            yield "more", {"layer_types": GONE, "sliding_window_pattern": v}
        yield "more", {"layer_types": GONE}
        yield "more", {"rope_parameters": GONE, "rope_theta": 5e5, "rope_local_base_freq": 2e3,
                       "rope_scaling": {"rope_type": "linear", "factor": 4.0}}
        yield "more", {"rope_parameters": GONE}
    if "per_layer_config" in config:
        for more in ({}, {"global_head_dim": 16}, {"global_head_dim": 16, "num_global_key_value_heads": 1},
                     {"global_head_dim": 32}):
            yield "more", {"per_layer_config": GONE} | more


def tokens(vocab):
    return [3 + (i * i * 7 + i * 13) % (vocab - 3) for i in range(TOKENS)]


def picked(values):
    rows, width = values.shape
    out = []
    for i in range(PICKED):
        row = rows - 1 - (i % 8 if i < 24 else (i * 5) % rows)
        out.append(values[row, (i * i * 31 + i * 17 + 5) % width])
    return np.array(out, dtype="<f4")


class Runner:
    def __init__(self, source, name):
        self.name = name
        self.dir = tempfile.mkdtemp()
        self.config = json.load(open(os.path.join(source, name, "config.json")))
        shutil.copy(os.path.join(source, name, "model.safetensors"), self.dir)
        self.ids = torch.tensor([tokens(self.config["vocab_size"])])
        self.answers, self.index = [], {}

    def run(self, config):
        with open(os.path.join(self.dir, "config.json"), "w") as f:
            json.dump(config, f)
        kind = T.AutoModel if self.name == "bert" else T.AutoModelForCausalLM
        try:
            classes = config.get("architectures")
            if classes != self.config["architectures"]:  # the class it names, as a reader would
                kind = getattr(T, classes[0])
            model, info = kind.from_pretrained(self.dir, dtype=torch.float32,
                                               attn_implementation="eager",
                                               output_loading_info=True)
            if info["missing_keys"]:
                return "lacks", False
            with torch.no_grad():
                out = model.eval()(self.ids) if self.name == "bert" else \
                    model.eval()(self.ids, use_cache=False)
            values = (out.last_hidden_state if self.name == "bert" else out.logits)[0].float().numpy()
        except KeyboardInterrupt:
            raise
        except BaseException:
            return "refused", False
        answer = picked(values)
        if not np.isfinite(values).all():
            return "refused", False
        text = answer.tobytes().hex()
        if text not in self.index:
            for i, other in enumerate(self.answers):  # the same but for the last bits
                base = np.frombuffer(bytes.fromhex(other), "<f4").astype("f8")
                if np.linalg.norm(base - answer) <= 2e-7 * np.linalg.norm(base):
                    self.index[text] = i
                    break
            else:
                self.index[text] = len(self.answers)
                self.answers.append(text)
        return self.index[text], bool(info["unexpected_keys"])

    def case(self, key, value):
        config = copy.deepcopy(self.config)
        changes = value if key == "more" else {key: value}
        for k, v in changes.items():
            if v is GONE:
                config.pop(k, None)
            else:
                config[k] = v
        kept = {k: v for k, v in changes.items() if v is not GONE}
        gone = [k for k, v in changes.items() if v is GONE and k in self.config]
        result, drops = self.run(config)
        out = {}
        if kept:
            out["put"] = kept
        if gone:
            out["take"] = gone
        out["is"] = result
        if drops:
            out["drops"] = True
        return out


def make(source, out, name):
    runner = Runner(source, name)
    base, _ = runner.run(runner.config)
    assert base == 0, name
    cases, seen = [], set()
    for key, value in cases_of(runner.config):
        case = runner.case(key, value)
        text = json.dumps({k: case.get(k) for k in ("put", "take")}, sort_keys=True)
        same = all(k in runner.config and json.dumps(runner.config[k]) == json.dumps(v)
                   for k, v in case.get("put", {}).items()) and not case.get("take")
        if text in seen or same:
            continue
        seen.add(text)
        cases.append(case)
    shutil.rmtree(runner.dir)
    with open(os.path.join(out, name + ".json"), "w") as f:
        f.write('{"tokens": %d, "logits": [\n' % TOKENS)
        f.write(",\n".join('"%s"' % a for a in runner.answers))
        f.write('\n], "cases": [\n')
        f.write(",\n".join(json.dumps(c) for c in cases))
        f.write("\n]}\n")
    ran = sum(isinstance(c["is"], int) for c in cases)
    print(f"{name}: {len(cases)} cases, {ran} ran, {len(runner.answers)} answers", flush=True)


if __name__ == "__main__":
    for n in sys.argv[3:] or MODELS:
        make(sys.argv[1], sys.argv[2], n)
