"""ollama of Python against `hone serve`: see check.sh."""
import json

import ollama

from checks import EMBEDS, LOOK, MODEL, SCHEMA, STORY, TINY, URL, ask, check, close, fits, refused, run, said

client = ollama.Client(host=URL)
PLAIN = {"temperature": 1, "top_k": 0, "top_p": 1, "repeat_penalty": 1, "num_predict": 12, "seed": 5}


def lists():
    check("models", [m.model for m in client.list().models][:3] == [MODEL, TINY, EMBEDS], client.list())
    shown = client.show(TINY)
    check("one", shown.modelinfo and shown.details and "completion" in shown.capabilities, shown)
    check("what runs", TINY in [m.model for m in client.ps().models], client.ps())
    refused("no such model", ollama.ResponseError, lambda: client.show("gone"), "gone")


def chats():
    text = said(TINY, max_tokens=12, seed=5)
    whole = client.chat(TINY, STORY, options=PLAIN)
    check("a chat", whole.message.content == text and whole.message.role == "assistant" and whole.done, whole)
    check("its end", whole.done_reason == "length" and whole.eval_count == 12 and whole.prompt_eval_count > 0 and whole.total_duration > 0, whole)
    pieces = list(client.chat(TINY, STORY, options=PLAIN, stream=True))
    check("a stream", "".join(p.message.content for p in pieces) == text and [p.done for p in pieces] == [False] * (len(pieces) - 1) + [True] and pieces[-1].eval_count == 12)
    made = client.generate(TINY, "Tell me a story", options=PLAIN)
    check("generate", made.response == text and made.done_reason == "length", made)
    check("as a stream", "".join(p.response for p in client.generate(TINY, "Tell me a story", options=PLAIN, stream=True)) == text)
    raw = client.generate(TINY, "Once upon", raw=True, options=PLAIN).response
    check("raw", raw == ask("/v1/completions", {"model": TINY, "prompt": "Once upon", "max_tokens": 12, "seed": 5})["choices"][0]["text"])


def tools():
    # Ollama's API cannot ask for a call; the form of it holds the answer here.
    whole = client.chat(MODEL, STORY, tools=[LOOK], think=False, options={"num_predict": 4})
    check("tools are taken", whole.eval_count == 4, whole)
    turn = [*STORY, {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": {"place": "here", "n": 3}}}]}, {"role": "tool", "tool_name": "look", "content": "a red bird"}]
    after = client.chat(MODEL, turn, tools=[LOOK], think=False, options={"num_predict": 4})
    check("a result goes back", after.prompt_eval_count > whole.prompt_eval_count + 10, after)

    def look(place: str, n: int) -> str:
        """Look at a place.

        Args:
            place: where
            n: how often
        """
        return place * n

    check("a function as a tool", client.chat(MODEL, STORY, tools=[look], think=False, options={"num_predict": 4}).eval_count == 4)


def schemas():
    for seed in range(2):
        said_so = client.chat(TINY, STORY, format=SCHEMA, options={"seed": seed}).message.content
        check("a schema", fits(json.loads(said_so)), said_so)
    free = client.generate(TINY, "Where?", format="json", options={"seed": 1, "num_predict": 200})
    check("any object", free.done_reason == "length" or isinstance(json.loads(free.response), dict), free)


def vectors():
    both = client.embed(EMBEDS, ["a b", "c"]).embeddings
    plain = [d["embedding"] for d in ask("/v1/embeddings", {"model": EMBEDS, "input": ["a b", "c"]})["data"]]
    check("vectors", [list(v) for v in both] == plain)
    check("of one text", [list(v) for v in client.embed(EMBEDS, "a b").embeddings] == plain[:1])


if __name__ == "__main__":
    run(lists, chats, tools, schemas, vectors)
    refused("a model that is not there", ollama.ResponseError, lambda: client.chat("gone", STORY), "gone")
    close("ollama")
