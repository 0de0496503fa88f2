"""Writes the references of tests/differential/templates: what Transformers renders.

    python3 templates.py FOLDER >FOLDER/chats.json           every real/*.jinja on every chat
    python3 templates.py FOLDER own >FOLDER/own.json         every own/*.jinja, alone
    python3 templates_random.py 400 7 >FOLDER/random.json

A folder of templates that may not be committed is checked in the same way: the test reads it from
HN_TEMPLATES, made by the first line."""
import json
import pathlib
import sys

import templates_env
from templates_chats import CHATS, KWARGS
from templates_random import VARS
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

TOKENIZER = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>")),
                                    bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>")


def apply(source, chat):
    try:
        kwargs = {"add_generation_prompt": True, **chat}
        messages = kwargs.pop("messages")
        out = TOKENIZER.apply_chat_template(messages, chat_template=source, tokenize=False, **kwargs)
        return {"out": out}
    except Exception as e:
        return {"error": getattr(e, "message", None) or str(e), "kind": type(e).__name__}


def main():
    folder = pathlib.Path(sys.argv[1])
    if sys.argv[2:] == ["own"]:
        results = {path.stem: templates_env.render(path.read_bytes().decode(), json.loads(json.dumps(VARS)), "generation" in path.stem)
                   for path in sorted((folder / "own").glob("*.jinja"))}
        json.dump({"variables": VARS, "results": results}, sys.stdout, ensure_ascii=False, indent=0)
    else:
        results = {path.stem: {name: apply(path.read_bytes().decode(), chat) for name, chat in CHATS.items()}
                   for path in sorted((folder / "real").glob("*.jinja"))}
        json.dump({"chats": CHATS, "results": results}, sys.stdout, ensure_ascii=False, indent=0)
    print()


main()
