"""What the Python clients' checks share: a count of what held, and what all of them are asked."""
import json
import os
import sys
import traceback
import urllib.request

URL, LOCKED = sys.argv[1:3]
SECRET = os.environ["HN_SECRET"]
MODEL, TINY, EMBEDS = "m", "hone-tiny", "e"
SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string", "enum": ["here", "there"]}, "n": {"type": "integer", "minimum": 3, "maximum": 17}},
    "required": ["place", "n"],
    "additionalProperties": False,
}
LOOK = {"type": "function", "function": {"name": "look", "description": "at a place", "parameters": SCHEMA}}
STORY = [{"role": "user", "content": "Tell me a story"}]
passed = failed = 0


def check(what, holds, found=""):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what} {found}")


def fits(value):
    return isinstance(value, dict) and list(value) == ["place", "n"] and value["place"] in ("here", "there") and 3 <= value["n"] <= 17


def refused(what, kind, call, *words):
    """It raises an error of this kind that has these words."""
    try:
        found = call()
    except kind as error:
        check(f"{what}: {error}", all(w in str(error) for w in words))
        return error
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    check(f"{what} is refused with {kind.__name__}", False, found)
    return None


def ask(path, body=None):
    """Without any client: what the server said, to hold what a client made of it to."""
    data = json.dumps(body).encode() if body is not None else None
    with urllib.request.urlopen(urllib.request.Request(URL + path, data, {"Content-Type": "application/json"})) as reply:
        return json.load(reply)


def said(model, **more):
    return ask("/v1/chat/completions", {"model": model, "messages": STORY, **more})["choices"][0]["message"]["content"]


def prompt_of(model, answer):
    """What the model was given, of an answer that has its recipe."""
    recipe = answer["recipe"] if isinstance(answer, dict) else answer.model_extra["recipe"]
    return ask("/detokenize", {"model": model, "tokens": recipe["prompts"][0]})["content"]


def run(*parts):
    for part in parts:
        try:
            part()
        except Exception:
            check(part.__name__, False, traceback.format_exc())


def close(name):
    print(f"{name}: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
