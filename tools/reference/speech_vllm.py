"""What vLLM's parsers of tool calls and thoughts make of outputs, for tests/conformance/speech/vllm.json, to which conformance/speech holds
our reader. They are those of its source package; what they import of vLLM beside themselves (the server's messages, its tokenizers, logs) is
stood in for here, and of other packages what is not needed to read a text.

    VLLM_VERSION_OVERRIDE=0.33.0 VLLM_TARGET_DEVICE=empty pip download --no-deps --no-binary :all: --no-build-isolation vllm==0.33.0
    tar xzf vllm-0.33.0.tar.gz
    pip install openai==2.54.0 regex numpy partial-json-parser ijson fastapi
    python tools/reference/speech_vllm.py vllm-0.33.0     # writes the file, and says what differs from the cases that the outputs are of

The outputs are those of speech/own.json and speech/llama_cpp.json, of each family that vLLM reads, of which those stand in the file that it
reads otherwise; and outputs that are made here, of every family alike, which all stand in it. Where it makes something else of one than we do,
`ours` has that, and `why` the reason, one of WHY; what has none is said, and ends this with a failure."""
import importlib
import importlib.abc
import importlib.machinery
import json
import pathlib
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEECH = ROOT / "tests/conformance/speech"
FILE = SPEECH / "vllm.json"
VERSION = "0.33.0"

# Ours: vLLM's module and class of calls, and of thoughts.
FAMILIES = {
    "hermes": ("hermes_tool_parser:Hermes2ProToolParser", "deepseek_r1_reasoning_parser"),
    "llama-3": ("llama_tool_parser:Llama3JsonToolParser", None),
    "qwen3-coder": ("qwen3_engine_tool_parser:Qwen3EngineToolParser", "qwen3_engine_reasoning_parser"),
    "glm-4.5": ("glm47_moe_tool_parser:Glm47MoeModelToolParser", "glm47_moe_reasoning_parser"),
    "gemma4": ("gemma4_engine_tool_parser:Gemma4EngineToolParser", "gemma4_engine_reasoning_parser"),
    "kimi-k2": ("kimi_k2_tool_parser:KimiK2ToolParser", "kimi_k2_reasoning_parser"),
    "deepseek-r1": ("deepseekv3_tool_parser:DeepSeekV3ToolParser", "deepseek_r1_reasoning_parser"),
    "deepseek-v3.1": ("deepseekv31_tool_parser:DeepSeekV31ToolParser", "deepseek_r1_reasoning_parser"),
    "deepseek-dsml": ("deepseekv32_engine_tool_parser:DeepSeekV32EngineToolParser", "deepseek_r1_reasoning_parser"),
    "deepseek-v4": ("deepseekv4_engine_tool_parser:DeepSeekV4EngineToolParser", "deepseek_v4_engine_reasoning_parser"),
    "minimax-m2": ("minimax_m2_tool_parser:MinimaxM2ToolParser", "minimax_m2_reasoning_parser"),
    "seed-oss": ("seed_oss_engine_tool_parser:SeedOssEngineToolParser", "seed_oss_engine_reasoning_parser"),
    "lfm2": ("lfm2_tool_parser:Lfm2ToolParser", "deepseek_r1_reasoning_parser"),
    "phi-4-mini": ("phi4mini_tool_parser:Phi4MiniJsonToolParser", None),
    "apertus": ("apertus_tool_parser:ApertusToolParser", None),
    "granite": ("granite_engine_tool_parser:GraniteEngineToolParser", None),
    "mistral-args": ("mistral_tool_parser:MistralToolParser", None),
}

# What it reads by a tokenizer of the model's own, which is not here: mistral before [ARGS], [CALL_ID], [THINK]; harmony; Command R.

# Why we make something else of an output.
WHY = {
    "after": "What is said after a call is said; there it is lost.",
    "opens": "A mark of a thought where none is due is words of an answer that has begun and of a thought that the prompt began, and a second thought that is empty is nothing.",
    "ends": "A call ends a thought that was not closed.",
    "string": "A mark within a string of arguments is that string's; there it ends the call.",
    "text": "What looks like a call and is none is said as it stood; there it is lost.",
    "broken": "A call behind one that is none is called; there neither is.",
    "types": "A value that no schema gives a type is the JSON that it is; there it is a text.",
    "arguments": "A call without arguments, or with null, has an empty object, and arguments that are a text of JSON are that; there it is none, or they are a text.",
    "wrapped": "An object of OpenAI's form, {\"type\": \"function\", ...}, is a call too.",
    "named": "An object that names no tool that was given, or stands behind other words, is an answer.",
    "surrogate": "Half of a surrogate pair is no text, and what has one no call.",
    "fence": "A fence of JSON needs no line end before it ends.",
    "value": "A value is all that stands between its marks, line ends too, where the template writes none; there they are cut off.",
    "marks": "It reads other marks than the template writes.",
    "empty": "A name that is empty is none.",
}

# ---- what stands in ----


class Kind(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stand

    def __or__(cls, other):
        return cls

    __ror__ = __or__


class Stand(metaclass=Kind):
    """It is there, and is nothing, but for what it is made of."""

    def __init__(self, *args, **fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stand()

    def __call__(self, *args, **fields):
        return Stand()

    def __bool__(self):
        return False

    def __class_getitem__(cls, key):
        return cls


class Message:
    """What it is made of; any other field of it is not set."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def model_dump(self, **_):
        return {k: v.model_dump() if isinstance(v, Message) else v for k, v in self.__dict__.items() if v is not None}


class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        is_message = name in ("DeltaMessage", "DeltaToolCall", "DeltaFunctionCall", "FunctionCall", "ToolCall", "ExtractedToolCallInformation")
        made = type(name, (Message if is_message else Stand,), {})
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    own = ("vllm.tool_parsers", "vllm.reasoning", "vllm.parser", "vllm.utils.collection_utils", "vllm.utils.import_utils")
    others = ("xgrammar", "torch", "transformers", "openai_harmony", "prometheus_client")

    def __init__(self, source):
        self.source = source

    def find_spec(self, name, path, target=None):
        is_own = any(name == n or name.startswith(n + ".") for n in self.own)
        if is_own or name.split(".")[0] not in (*self.others, "vllm"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = Module(spec.name)
        module.__path__ = [str(self.source / spec.name.replace(".", "/"))]
        if spec.name == "vllm.utils.mistral":
            module.is_mistral_tokenizer = lambda tokenizer: False
        if spec.name == "vllm.envs":
            module.VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS = 10.0
        return module

    def exec_module(self, module):
        pass


class Tokenizer:
    """Marks are tokens, and so is each other character."""

    def __init__(self, marks):
        self.pattern = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))) + "|.", re.DOTALL)
        self.words = sorted(marks)
        self.ids = {w: i for i, w in enumerate(self.words)}
        self.all_special_tokens, self.all_special_ids = self.words[:], list(range(len(self.words)))
        self.vocab = self.ids
        self.bos_token = self.eos_token = ""
        self.bos_token_id = self.eos_token_id = -1

    def get_vocab(self):
        return self.ids

    def encode(self, text, add_special_tokens=False, **_):
        out = []
        for word in self.pattern.findall(text):
            if word not in self.ids:
                self.ids[word] = len(self.words)
                self.words.append(word)
            out.append(self.ids[word])
        return out

    def tokenize(self, text):
        return self.pattern.findall(text)

    def decode(self, ids, **_):
        return "".join(self.words[i] for i in ([ids] if isinstance(ids, int) else ids))

    def convert_tokens_to_ids(self, words):
        return self.ids.get(words) if isinstance(words, str) else [self.ids.get(w) for w in words]

    def convert_ids_to_tokens(self, ids, **_):
        return [self.words[i] for i in ids]

    def convert_tokens_to_string(self, words):
        return "".join(words)


# ---- reading ----

MARK = re.compile(r"</?[a-z_:]*(?:tool|think|arg|invoke|parameter|function|channel|turn)[^<>\n=]*>|<\|[^|<>\n]*\|?>|<[a-z_]*\|>|<\uff5c[^\uff5c]*\uff5c[a-z_]*>|\[/?[A-Z_]+\]")


def tools_of(case, tools):
    from openai.types.responses.function_tool import FunctionTool

    of = [tools[n]["function"] for n in case.get("tools") or []]
    return [FunctionTool(type="function", name=f["name"], description=f.get("description"), parameters=f.get("parameters") or {}, strict=None) for f in of]


def thought_of(case, name, tokenizer, request):
    """Thought and answer; what a prompt opened, the output goes on with."""
    said = case["said"]
    if not name:
        return None, said
    module = importlib.import_module(f"vllm.reasoning.{name}")
    kinds = {n: v for n, v in vars(module).items() if n.endswith(("ReasoningParser", "ReasoningAdapter"))
             and not n.startswith(("Base", "ParserEngine", "ReasoningParser"))}
    kind = kinds[max(kinds, key=lambda n: (n in getattr(module, "__all__", ()), kinds[n].__module__ == module.__name__, "AppendThink" not in n))]
    return kind(tokenizer).extract_reasoning(said, request)


def read(case, tools):
    calls_by, thoughts_by = FAMILIES[case["family"]]
    where, kind = calls_by.split(":")
    module = importlib.import_module(f"vllm.tool_parsers.{where}")
    tokenizer = Tokenizer(set(MARK.findall(case["said"])) | MARKS)
    given = tools_of(case, tools)
    request = Stand(tools=given, tool_choice="auto", skip_special_tokens=False, include_reasoning=True, chat_template_kwargs=None)
    has_thought = case["in_thought"] or case["reasoning"] or any(m in case["said"] for m in ("<think>", "</think>", "<|channel>", "<seed:think>"))
    if has_thought and not thoughts_by:
        return None
    thought, answer = thought_of(case, thoughts_by, tokenizer, request) if has_thought else (None, case["said"])
    if not given:
        return {"content": answer or "", "reasoning": thought or "", "calls": []}
    made = getattr(module, kind)(tokenizer, given).extract_tool_calls(answer or "", request)
    calls = [{"name": c.function.name, "arguments": c.function.arguments, "id": ""} for c in made.tool_calls or []]
    return {"content": made.content or "", "reasoning": thought or "", "calls": calls}


MARKS = set()


def json_of(text):
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def bare(of):
    return (of["content"].strip(" \n"), of["reasoning"].strip(" \n"), [(c["name"], json_of(c["arguments"])) for c in of["calls"] or []])


# ---- outputs of every family ----

TOOLS = {"do_it": {"a": {"type": "integer"}, "s": {"type": "string"}, "b": {"type": "boolean"}, "x": {"type": "number"}, "o": {"type": "object"}, "l": {"type": "array"}},
         "look_at": {"place": {"type": "string"}}}
ARGUMENTS = [{"a": 1}, {"s": "a b"}, {"a": -17, "s": "x", "b": True}, {"b": False, "x": -2.5}, {"s": "h\u00e9 \u4f60\u597d \U0001f600"}, {"s": "one\ntwo\n  three"},
             {"s": "say \"hi\", it's"}, {"s": "a\\b {c} [d] <e> & f"}, {"s": "12"}, {"s": "true"}, {"s": ""}, {"o": {"k": [1, "two", None, {"d": True}]}}, {"l": [1, -2.5, "z", False]}, {"o": {}, "l": []}]


def compact(value):
    return json.dumps(value, ensure_ascii=False)


def element(value):
    return value if isinstance(value, str) else compact(value)


def pair(value):
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{pair(v)}" for k, v in value.items()) + "}"
    return "[" + ",".join(map(pair, value)) + "]" if isinstance(value, list) else compact(value)


BAR, LOW = "\uff5c", "\u2581"
OF_DEEPSEEK = {n: f"<{BAR}tool{LOW}{n.replace(' ', LOW)}{BAR}>" for n in ("calls begin", "calls end", "call begin", "call end", "sep")}


def dsml(word, calls):
    parameter = lambda k, v: f'<{BAR}DSML{BAR}parameter name="{k}" string="{compact(isinstance(v, str))}">{element(v)}</{BAR}DSML{BAR}parameter>\n'  # noqa: E731
    invoke = lambda n, a: f'<{BAR}DSML{BAR}invoke name="{n}">\n' + "".join(parameter(k, v) for k, v in a.items()) + f"</{BAR}DSML{BAR}invoke>\n"  # noqa: E731
    return f"<{BAR}DSML{BAR}{word}>\n" + "".join(invoke(n, a) for n, a in calls) + f"</{BAR}DSML{BAR}{word}>"


def each(before, name, parameter, after, end="", sep=""):
    return lambda calls: sep.join(before + name.format(n) + "".join(parameter.format(k=k, v=element(v)) for k, v in a.items()) + after for n, a in calls) + end


def deepseek(form):
    return lambda calls: OF_DEEPSEEK["calls begin"] + "".join(OF_DEEPSEEK["call begin"] + form(n, a) + OF_DEEPSEEK["call end"] for n, a in calls) + OF_DEEPSEEK["calls end"]


WRITE = {
    "hermes": lambda calls: "\n".join(f"<tool_call>\n{compact({'name': n, 'arguments': a})}\n</tool_call>" for n, a in calls),
    "llama-3": lambda calls: compact({"name": calls[0][0], "parameters": calls[0][1]}),
    "qwen3-coder": each("<tool_call>\n", "<function={}>\n", "<parameter={k}>\n{v}\n</parameter>\n", "</function>\n</tool_call>", sep="\n"),
    "glm-4.5": each("<tool_call>", "{}\n", "<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n", "</tool_call>", sep="\n"),
    "gemma4": lambda calls: "".join(f"<|tool_call>call:{n}{pair(a)}<tool_call|>" for n, a in calls),
    "kimi-k2": lambda calls: "<|tool_calls_section_begin|>" + "".join(
        f"<|tool_call_begin|>functions.{n}:{i}<|tool_call_argument_begin|>{compact(a)}<|tool_call_end|>" for i, (n, a) in enumerate(calls)) + "<|tool_calls_section_end|>",
    "deepseek-r1": deepseek(lambda n, a: f"function{OF_DEEPSEEK['sep']}{n}\n```json\n{compact(a)}\n```"),
    "deepseek-v3.1": deepseek(lambda n, a: f"{n}{OF_DEEPSEEK['sep']}{compact(a)}"),
    "deepseek-dsml": lambda calls: dsml("function_calls", calls),
    "deepseek-v4": lambda calls: dsml("tool_calls", calls),
    "minimax-m2": lambda calls: "<minimax:tool_call>\n" + each("", '<invoke name="{}">\n', '<parameter name="{k}">{v}</parameter>\n', "</invoke>\n")(calls) + "</minimax:tool_call>",
    "seed-oss": lambda calls: "<seed:tool_call>\n" + each("", "<function={}>\n", "<parameter={k}>{v}</parameter>\n", "</function>\n")(calls) + "</seed:tool_call>",
    "lfm2": lambda calls: "<|tool_call_start|>[" + ", ".join(f"{n}({', '.join(f'{k}={v!r}' for k, v in a.items())})" for n, a in calls) + "]<|tool_call_end|>",
    "apertus": lambda calls: "<|tools_prefix|>" + compact([{n: a} for n, a in calls]) + "<|tools_suffix|>",
    "granite": lambda calls: "<|tool_call|>" + compact([{"name": n, "arguments": a} for n, a in calls]),
    "mistral-args": lambda calls: "".join(f"[TOOL_CALLS]{n}[ARGS]{compact(a)}" for n, a in calls),
}


def made_outputs(family):
    """Each with what it says beside its calls, and these."""
    write, two = WRITE[family], [("do_it", {"a": 1, "s": "x"}), ("look_at", {"place": "here"})]
    for calls in [[("do_it", a)] for a in ARGUMENTS] + [[("look_at", {"place": "<there>"})]]:
        yield write(calls), "", calls
    if family != "llama-3":
        yield write(two), "", two
        yield "Let me see.\n\n" + write(two[:1]), "Let me see.", two[:1]
        yield write(two[1:]) + "\nDone.", "Done.", two[1:]
    for text in ("There is nothing to call.", '1 < 2 and <b>[x]</b> {"a": 1}'):
        yield text, text, []


def made_cases():
    for family in WRITE:
        for said, content, calls in made_outputs(family):
            told = [{"name": n, "arguments": compact(a), "id": ""} for n, a in calls]
            yield {"from": "made", "family": family, "thoughts": "", "in_thought": False, "tools": list(TOOLS), "said": said, "content": content, "reasoning": "", "calls": told}


# ---- what differs, and why ----


def why(case, got):
    """The key of WHY, by what differs."""
    said, (content, thought, calls), (our_content, our_thought, our_calls) = case["said"], bare(got), bare(case)
    same_calls = calls == our_calls
    texts = lambda of: json.dumps(of, default=str).replace('"', "").replace("\\n", "").lower()  # noqa: E731
    if "\\ud8" in said:
        return "surrogate"
    if any(m in thought for m in ("tool_call", "TOOL_CALLS")):
        return "ends"
    if same_calls and thought != our_thought:
        return "opens"
    if same_calls and not content and our_content and not said.endswith(our_content):
        return "text"
    if same_calls and our_content.startswith(content) and our_content:
        return "text" if not calls else "after"
    if any(m in json.dumps(our_calls, ensure_ascii=False) for m in ("tool_call", "</think>")):
        return "string"
    if case["family"] == "phi-4-mini":
        return "marks"
    if [n for n, _ in calls] == [n for n, _ in our_calls] and case["family"] == "gemma4" and texts(calls) == texts(our_calls):
        return "types"
    if '"type": "function"' in said and our_calls and not calls:
        return "wrapped"
    if case["family"] == "llama-3" and calls and not our_calls:
        return "named"
    if case["family"] == "hermes" and our_calls and ('"arguments"' not in said or "null" in said or '"arguments": "' in said):
        return "arguments"
    if case["family"] == "hermes" and our_calls and not calls:
        return "broken"
    if case["family"] == "deepseek-r1" and our_calls and not calls:
        return "fence"
    if [n for n, _ in calls] == [n for n, _ in our_calls] and texts(calls) == texts(our_calls):
        return "value"
    if calls and not calls[0][0]:
        return "empty"
    return None


def main():
    global MARKS
    source = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(source))
    sys.meta_path.insert(0, Finder(source))
    MARKS = {m for d in ("parser", "tool_parsers", "reasoning") for f in (source / "vllm" / d).rglob("*.py") for m in MARK.findall(f.read_text())}
    files = {n: json.loads((SPEECH / f"{n}.json").read_text()) for n in ("own", "llama_cpp")}
    tools = {n: {"type": "function", "function": {"name": n, "description": "d", "parameters": {"type": "object", "properties": p}}} for n, p in TOOLS.items()}
    cases, seen, n_read, n_same, lost = [], set(), 0, 0, 0
    for case, known in [(c, f["tools"]) for f in files.values() for c in f["cases"]] + [(c, tools) for c in made_cases()]:
        key = (case["family"], case["said"], tuple(case.get("tools") or []), case["in_thought"])
        if case["family"] not in FAMILIES or key in seen or case.get("is_cut") or "[CALL_ID]" in case["said"]:
            continue
        seen.add(key)
        got = read(case, known)
        if not got:
            continue
        n_read += 1
        is_same = bare(got) == bare(case)
        reason = None if is_same else why(case, got)
        if not is_same and not reason:
            lost += 1
            print("no reason:", case["family"], repr(case["said"]), "\n  there", bare(got), "\n  here ", bare(case))
            continue
        n_same += is_same
        if is_same and case["from"] != "made":
            continue
        for name in case.get("tools") or []:
            assert tools.setdefault(name, known[name]) == known[name], name
        got = json.loads(json.dumps(got, ensure_ascii=False).encode("utf-8", "replace").decode())
        one = {**{k: case[k] for k in ("family", "thoughts", "in_thought", "said")}, "from": "vllm", "tools": case.get("tools") or [], **got}
        if reason:
            one.update(why=reason, ours={"content": case["content"], "reasoning": case["reasoning"], "calls": case["calls"] or []})
        cases.append(one)
    used = {c["why"] for c in cases if "why" in c}
    assert used == set(WHY), ("reasons of none", set(WHY) - used)
    head = {"version": VERSION, "why": WHY, "tools": tools}
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    FILE.write_text(json.dumps(head, ensure_ascii=False)[:-1] + ',\n"cases": [\n' + lines + "\n]}\n")
    print(f"{n_same} outputs of {n_read} are read alike; {len(cases)} stand in {FILE.name}, {sum('why' in c for c in cases)} of them with what is ours")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
