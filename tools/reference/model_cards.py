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
            if value.type == GGUFValueType.ARRAY:
                writer._pack_val(value.value, value.type, add_vtype=True)
                if not isinstance(value.value[0], (str, bool, int, float)):
                    raise TypeError(f"{key}: {value.value!r} is no list of texts or numbers")
            elif not isinstance(value.value, str) and value.type != GGUFValueType.UINT32:
                raise TypeError(f"{key}: {value.value!r} is no text")
            "".join([value.value] if isinstance(value.value, str) else []).encode()
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
# What YAML has beside plain lists and mappings, as PyYAML's safe_load takes it.
MORE = [
    "license: &l mit\nlicense_name: *l\ntags: [*l, &t x, *t]\nlanguage: *t", "license: *l\nname: &l mit", "license: &l mit\nname: &l x", "tags: &a [x, *a]", "base_model: &a {name: x, url: *a}",
    "x: &base {license: mit, tags: [a]}\n<<: *base\nlicense: bsd", "<<: [{license: mit}, {license: bsd, name: n}]\ntags: a", "<<: {license: mit}", "base_model:\n- &b {name: x, author: me}\n- {<<: *b, name: y}\n- <<: *b\n  version: v2",
    "<<: a", "<<: [a]", "license: <<", "x: &a {b: {<<: *a}, c: d}\nlicense: mit", "license: =", "=: x\nlicense: {=: mit}", "license: !!str {=: mit}",
    "license: !!str 3.0\nname: !!str no\nversion: ! '1'\nauthor: ! x", "license: !!str", "license: !!str ''", "license: !!int 'x'", "license: !!null mit\nlicense_name: !!null", "tags: !!seq [a]\nbase_model: !!seq [!!map {name: x}]", "tags: !!str [a]", "license: !!map x",
    "license: !x mit", "license: !!python/name:os.system", "license: !<tag:yaml.org,2002:str> 3", "license: !!%73tr 3", "x: !!bool 'yes'\ny: !!bool x", "x: !!float 3\ny: !!float x", "x: !!timestamp 2001-1-1\nlicense: mit", "x: 2001-02-30", "x: 2001-02-28T25:00:00", "x: 0b_", "x: !!binary a", "x: !!binary aGk=\nlicense: mit", "license: !!binary ''",
    "base_model: !!omap [name: x]", "tags: !!set {a, b}", "base_model: [!!set {name}]", "license: !!omap []", "license: !!set {}", "tags: !!pairs [a: b]", "!!map\nlicense: mit", "!!set {license}", "!!omap [license: mit]",
    "? license\n: mit\n? tags\n: - a\n  - b\n? name", "? [a]\n: b", "? {a: b}", "tags: {? a, ? b}\nlicense: mit", "base_model: [{? name : x, ? url}]", "? |\n  license\n: mit\n? >-\n  name\n: x",
    "license: mit\n...", "license: mit\n...\n...\n# end", "...\nlicense: mit", "license: mit\n... \nname: x", "license: mit\n--- \nname: x", "--- \nlicense: mit", "--- # first\nlicense: mit\n...", "--- {license: mit}", "--- !!map\nlicense: mit", "--- license: mit", "--- |\n x",
    "%YAML 1.1\n--- \nlicense: mit", "%YAML 1.2\n--- \nlicense: mit", "%YAML 2.0\n--- \nlicense: mit", "%TAG !e! tag:yaml.org,2002:\n--- \nlicense: !e!str 3", "%TAG ! tag:yaml.org,2002:\n--- \nlicense: !str 3", "license: !e!str 3", "%FOO bar\n--- \nlicense: mit", "%YAML 1.1\n%YAML 1.1\n--- \na: b",
    "tags: [a: b, c]", "base_model: [name: x, 'url': y, ? author : z, : w]", "base_model: [name: x]", "tags: [[a: b]]", "datasets: [name: 'D', {name: e, url: u}]", "base_model: [\"name\":x, {name}]", "a: [b: c: d]", "a: {b: c: d}",
    "tags: [1, 2, -3]", "tags: [1, a]", "tags: [1, 2.5]", "tags: [1.5, 2.5e+3]", "tags: [yes, no]", "tags: [2147483647, -2147483648]", "tags: [2147483648]", "tags: [2001-01-01]", "tags: [0x1F, 0b11, 017, 1:30, 1_000]\npipeline_tag: [7]", "tags: [~]", "tags: [[]]", "language: [1.0]", "license: [mit, no]", "license: [mit, ~]", "license: [mit, '']", "license: [no]", "license: []",
    "license: &a", "license: &a !!str\nname: !!str &b\ntags: [*a, x]", "license: *a x", "license: &a *b", "&a license: mit\nname: *a", "&a license: mit\n*a : bsd", "*a: x", "license: & mit", "license: &a/b mit", "license: & a",
    "license: \"\\ud83d\\ude00\"", "x: \"\\ud83d\"\nlicense: mit", "x: \"\\0\"\nlicense: mit", "license: \"\\U00110000\"", "license: \"\\U0001F600\\x41\\_\\N\"", "\ufefflicense: mit", "license: a\u2028name: b", "license: a\u0085name: b", "license: a\x0cname: b\x1ctags: [c]", "license: a\x1fb", "license: \ufffe",
    "- &a x\n- *a", "license: mit\nx: " + "[" * 50 + "]" * 50, "tags:\n- !!str 1\n- !!str yes\n- ! 2", "name: \u00e9l\u00e8ve", "name: {}\nmodel_name: x", "x: ]", "x: [}", "license: mit,\nx: {a, b}}",
    "name: {a: &x b}\nlicense: *x", "license: &x !!str &y z", "license: !!str !!int 3", "license: \"a\" \"b\"", "'license': \"mit\"\n? \"name\"\n: 'n'", "license: |+2\n   x\n\n\nname: y", "license: |0\n x", "license: >2-\n    a\n   b\n", "a: 'x\n---\n y'", "a: x\n--- y",
]
CARDS += [front(text) for text in MORE]
UNICODE = [
    "\u00e9cole/\u00e9l\u00e8ve-7B-v2", "\u00c9cole/mod\u00e8le-7B", "\u901a\u4e49/\u5343\u95ee-7B-chat", "stra\u00dfe/\u00dftest-\u01c6x-\ufb01ne", "\u0436\u0438\u0432\u043e\u0439/\u043c\u0438\u0440-3B-instruct", "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2/\u03c3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2",
    "o'neil/it's-a.b_c\u00aad", "\u0149a/\u1e9b-7B", "x/\u0660abc-v\u0661", "a/b\u00a0c-\u3000d", "\u10d0\u10d1/\u10d2-1B", "\U00010428/\U00010429x-7B", "x/\u2160-\u2170a", "a/" + "-".join(f"{i}2345b{i % 10}" for i in range(30)), "a/" + "x" * 70 + "-7B-" + "y" * 70, "a/" + "-".join("b" * 1 for _ in range(40)) + "-7B",
    "x/\u01c5a-\u1f88b", "x/\u02b0a-\u00b5m", "x/\u4e2d7b-\u4e2d", "\u4e2d\u6587",
]
CARDS += [front(json.dumps({"base_model": [name]}, ensure_ascii=False)) for name in UNICODE]
NAMES = ["", "Qwen/Qwen3-4B-Instruct-2507", "model", "./x", "/root/a/b", "my-org/my-model", "a b", "\u00e9cole/\u00e9l\u00e8ve-7B", "\u5343\u95ee-7B-chat"]


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
