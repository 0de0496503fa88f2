"""What llama.cpp's converter takes out of model cards: tests/differential/model_cards.json.

    python tools/reference/model_cards.py > tests/differential/model_cards.json

Uses the package gguf of requirements.txt, whose Metadata the converter uses. A row has the card (README.md),
the name in config.json, the parameters and the keys, or the exception that the converter ends with.
"""
import json
import sys
import tempfile
from pathlib import Path

from gguf import GGUFValueType, GGUFWriter
from gguf.metadata import Metadata

FOLDER = "tiny-model-7B-v2"


def written(writer):
    """The keys, each of a type that can be written: the writer itself looks only when it writes."""
    out = {}
    for key, value in writer.kv_data[0].items():
        if key != "general.architecture":
            out[key] = value.value
            is_list = value.type == GGUFValueType.ARRAY
            texts = value.value if is_list else [value.value]
            if not all(isinstance(t, str) or value.type == GGUFValueType.UINT32 for t in texts):
                raise TypeError(f"{key}: {value.value!r} is no text")
    return out


def keys_of(card, name, parameters):
    with tempfile.TemporaryDirectory() as d:
        path = Path(d) / FOLDER
        path.mkdir()
        (path / "config.json").write_text(json.dumps({"_name_or_path": name} if name is not None else {}))
        if card is not None:
            (path / "README.md").write_bytes(card.encode())
        writer = GGUFWriter(Path(d) / "x.gguf", "llama")
        Metadata.load(None, path, None, parameters).set_gguf_meta_model(writer)
        return written(writer)


def front(text):
    return f"---\n{text}\n---\n# A model\n\nand: - what [it is\n"


CARDS = [
    None, "", "# No front matter\n", "---\n---\n", "---\n# only a comment\n---\nx", "---\n\nA rule, no front matter\n\n---\n",
    "---\n- a\n- list\n---\n", "text\n---\nlicense: mit\n---\n", "---\r\nlicense: mit\r\ntags:\r\n- a\r\n---\r\nx: [\r\n",
    "---\nlicense: mit", " ---\nlicense: mit\n---\n", "---\nlicense: mit\n--- \nx\n---\n", "---\nlicense: mit\n...\n---\n",
    front("license: apache-2.0\nlanguage:\n- en\n- fr\ntags:\n- text\n- chat\npipeline_tag: text-generation\nlibrary_name: transformers"),
    front("license: other\nlicense_name: llama3\nlicense_link: https://x.org/LICENSE  # where\n"),
    front("license:\n- mit\n- apache-2.0"), front("license: [mit, 'bsd']"), front("license: [mit, 3]"), front("license: no"), front("license: -0.0"), front("license: 0.01"),
    front("license: {}"), front("license: {a: b}"), front("license:\nlicense_name: ~\nlicense_link: null"), front("license: 3.0"),
    front("license: 2024-01-02"), front("license: '2024-01-02'"), front("license: 1_000"), front("license: 0x1F"), front("license: 1e5"),
    front("license: 1.5e+3"), front("license: 12:30:45"), front("license: 1.2.3"), front("license: .5"), front("license: -.5"), front("license: .inf"),
    front("license: 08"), front("license: 0o7"), front("license: +12"), front("license: 2001-1-1 1:00:00"), front("license: =x"),
    front("language: en\nlanguages: [de, 'no']"), front("language:\n- en\n- no\n- da"), front("language: no"), front("language: [no]"),
    front("language:\n  - no  \n  - yes"), front("language:\n  - on"), front("language:\n\t- en\n\t- de"), front("language:\n- 'no' # x\n- \"yes\""),
    front("tags: a"), front("tags: []\npipeline_tag: []"), front("tags: [a, b,\n  c,]\npipeline_tag: x"), front("tags: [\na,\nb\n]"),
    front("tags:\n  - a\n  -   b c\n  - 'it''s'\n  - \"q\\\"\\u00e9\\x41\\n\"\n  - d # comment\n  - e#none\n  - f: g"),
    front("tags:\n  - a\n  - 'two\n    lines'\n  - \"and \\\n    more\n\n    x\"\n  - plain\n    on two"), front("tags:\n- a:b\n- -c\n- ?d\n- :e\n- http://x.y/z"),
    front("tags:\n- - a\n  - b"), front("tags:\n- 1\n- 2"), front("tags:\n-\n- a"), front("tags: {a: b}"), front("tags:\n- a\n-b"), front("tags:\n- a\n b"),
    front("tags: - a"), front("tags: a: b"), front("tags: 'a' b"), front("tags: \"a"), front("tags: [a"), front("tags: [a]]"), front("tags: {a: b"),
    front("tags: [a, , b]"), front("tags: [a b, c#d, e #f\n]"), front("tags: ['a', \"b\"]"), front("tags: ['a':b]"),
    front("a:\n  b: 1\n c: 2"), front("a:\n    b: 1\n  c: 2"), front("  license: mit\n  tags: a"), front("license: mit\n  tags: a"),
    front("license: mit\nlicense: bsd"), front("\"license\": mit\n'tags': [x]"), front("license : mit"), front("license:mit"),
    front("description: |\n  First line\n  second: line\n\n  - third\n\nlicense: mit"), front("description: >\n  folded\n  text\n\n  two\n   more\n  end\nlicense: mit"),
    front("description: >-\n  folded\n  text\n\n\nlicense: mit"), front("description: |+\n  kept\n\n\nlicense: mit"), front("description: |2\n    two\n  x\nlicense: mit"),
    front("description: |-\n\n\n  late\n    deeper\n  end"), front("description: | # comment\n  text"), front("description: |x\n  text"), front("description: |\nlicense: mit"),
    front("description: >\n    a\n    b\n  # no comment\nlicense: mit"), front("description: plain text\n  over lines\n\n  and more # end\nlicense: mit"),
    front("description: text\n  key: value"), front("description: |\n  tab\there"), front("description: 'x'#y\nlicense: mit"),
    front("base_model: Qwen/Qwen3-0.6B-Base"), front("base_model:\n- meta-llama/Llama-3.2-1B-Instruct\n- mistralai/Mistral-7B-v0.1"),
    front("base_model: [a/b-7B-v1, c]"), front("base_model: https://huggingface.co/Qwen/Qwen2-7B-v2"), front("base_model: https://huggingface.co/Qwen/Qwen2/tree"),
    front("base_model: http://example.org/x"), front("base_model: ssh://git@x/y"), front("base_model: https://huggingface.co/only"),
    front("base_model:"), front("base_model: {name: x}"), front("base_models: [x/y]"), front("base_model_sources:\n- x/y\nbase_models: z/w"), front("base_model: null\nbase_models: [a/b]"),
    front("base_model:\n- name: My Model\n  organization: Me\n  url: https://x\n  version: v1\n  author: A\n  doi: '10.1'\n  uuid: u\n  description: d\n  repo_url: r\n  other: 3\n- x/y"),
    front("base_model:\n- name: 3"), front("base_model:\n- 3\n- null\n- [a]"), front("base_model: ./local/model"), front("base_model: a/b/c-3B"), front("base_model: My Great Model"),
    front("base_model: /abs"), front("base_model: x/"), front("base_model: org-name/v1.2-some--model-v1..2-ABC-7b"), front("base_model: a/llama-v3.1-x9y-8B-chat-v2"),
    front("datasets:\n- HuggingFaceFW/fineweb-edu\n- https://huggingface.co/datasets/x/y\n- https://huggingface.co/x/y-v2\n- c4"), front("datasets: wikitext"), front("dataset: [a/b]"),
    front("dataset_sources: a/b\ndataset:"), front("datasets:\n  - name: D\n    url: u"),
    front("name: My Model\nauthor: Me\nversion: v9\norganization: Org\nfinetune: chat\nbasename: base\nsize_label: 9B\nurl: u\ndoi: d\nuuid: i\nrepo_url: r"),
    front("model_name: N\nmodel_author: A\nmodel_creator: C\nmodel_type: llama\nmodel_version: '1.0'\nmodel_url: u\nmodel_doi: d\nmodel_uuid: i\nmodel_repo_url: r\nmodel_organization: O\nmodel_description: D\nmodel_finetune: F\nmodel_size_label: S"),
    front("model_creator: C\nname: ''\nversion: 1.0"), front("model_creator: C\nname: ''\nbasename:"), front("version: 2"), front("name: [a]"),
    front("model-index:\n- name: x\n  results:\n  - task:\n      type: text-generation\n    metrics:\n    - type: pass@1\n      value: 0.5\n      verified: false\nwidget:\n- text: 'Hi'\n  example_title: \"A: b\"\n- messages:\n  - role: user\n    content: Hello there!\nlicense: mit\nextra_gated_fields:\n  I agree: checkbox\n  Affiliation: text\n  geo: ip_location\ninference: false\nco2: {a: 1, b: [2, {c: d}]}"),
    front("license: mit\n<<: {a: b}"), front("license: &x mit\ntags: [a]"), front("license: !!str 3"), front("license: *x"), front("? license\n: mit"), front("%YAML 1.1\nlicense: mit"),
    front("license: @x"), front("license: `x"), front("license: x\u0007"), front("tags: [{a: b}, c]"), front("a: {b, c: , d: e}\nlicense: mit"), front("a: [{}, [], '']\nlicense: mit"),
    front("key with blanks: x\n3: y\n~: z\nyes: no\nlicense: mit"), front("license: caf\u00e9 \u2603 \U0001f600"), front("license: 'tr\u00e8s'  "), front("-\nlicense: x"),
    front("license: \"\\q\""), front("license: \"\\x4\""), front("tags:\n- a\n\n\n# between\n- b\n   # deeper\n- c"), front("tags:\n    - a\n    - b\nlicense: mit"), front("tags:\n- a\n  - b"),
    front("tags:\n- a: b\n  c: d\n- e"), front("tags:\n- a\nkey"), front("x: [a, [b, {c: [d]}]]\nlicense: 'm i t'"), front("license: a #b # c\ntags: '#x'"),
    front("license: \"a\n\n  b\\\n  c\"\ntags: 'd\n\n\n  e '"), front("a: >+\n\n  x\n\nlicense: mit"), front("a: >\n\n\n   x\n   - y\n\n   z\n     w\n\n   v\nlicense: mit"),
]
NAMES = ["", "Qwen/Qwen3-4B-Instruct-2507", "model", "./x", "/root/a/b", "my-org/my-model", "a b"]


def main():
    rows = []
    for card, name, parameters in [(c, None, 7_000_000_000) for c in CARDS] + [(None, n, 4_000_000_000) for n in NAMES] + [
            (CARDS[13], "a/B-2B", 2_000_000_000)]:
        try:
            rows.append({"card": card, "config": name, "parameters": parameters, "keys": keys_of(card, name, parameters)})
        except Exception as e:  # whatever it ends with
            rows.append({"card": card, "config": name, "parameters": parameters, "error": type(e).__name__})
    print("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]")
    print(len(rows), sum("error" in r for r in rows), file=sys.stderr)


if __name__ == "__main__":
    main()
