"""LiteLLM's providers openai and anthropic against `hone serve`: see check.sh. Its ollama_chat sends bodies of no type, which are refused
(415): a type is what keeps other pages' forms out."""
import asyncio
import json

import litellm

from checks import EMBEDS, LOCKED, LOOK, MODEL, SCHEMA, STORY, TINY, URL, ask, check, close, fits, refused, run, said

litellm.telemetry = False
SHORT = {"thinking_budget": 4}


def ask_by(model, messages=STORY, **more):
    return litellm.completion(model=model, messages=messages, api_base=URL + "/v1" if model.startswith("openai/") else URL, api_key="none", num_retries=0, timeout=120, **more)


def chats():
    text = said(TINY, max_tokens=12, seed=5)
    whole = ask_by("openai/" + TINY, max_tokens=12, seed=5)
    check("a chat", whole.choices[0].message.content == text and whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 12, whole)
    pieces = list(ask_by("openai/" + TINY, max_tokens=12, seed=5, stream=True, stream_options={"include_usage": True}))
    check("a stream", "".join(p.choices[0].delta.content or "" for p in pieces if p.choices) == text)
    check("with usage", [p.usage.completion_tokens for p in pieces if getattr(p, "usage", None)] == [12], pieces[-1])
    other = ask_by("anthropic/" + TINY, max_tokens=12, seed=5, allowed_openai_params=["seed"])
    check("by anthropic", other.choices[0].message.content == text and other.usage.completion_tokens == 12 and other.choices[0].finish_reason == "length", other)
    check("as a stream", len("".join(p.choices[0].delta.content or "" for p in ask_by("anthropic/" + TINY, max_tokens=12, stream=True))) > 3)
    going = litellm.text_completion(model="text-completion-openai/" + TINY, prompt="Once upon", max_tokens=6, seed=1, api_base=URL + "/v1", api_key="none")
    check("a text", going.choices[0].text == ask("/v1/completions", {"model": TINY, "prompt": "Once upon", "max_tokens": 6, "seed": 1})["choices"][0]["text"], going)


async def at_once():
    many = await asyncio.gather(*[litellm.acompletion(model="openai/" + TINY, messages=STORY, max_tokens=12, seed=5, api_base=URL + "/v1", api_key="none") for _ in range(4)])
    check("four at a time", {m.choices[0].message.content for m in many} == {said(TINY, max_tokens=12, seed=5)})


def tools():
    for provider, more in [("openai/", {"extra_body": SHORT}), ("anthropic/", {"thinking": {"type": "enabled", "budget_tokens": 1024}, "allowed_openai_params": ["thinking"]})]:
        asked = {"tools": [LOOK], "max_tokens": 2000, "parallel_tool_calls": False, **more}
        whole = ask_by(provider + MODEL, **asked, tool_choice="required")
        call = whole.choices[0].message.tool_calls[0]
        check(f"a call by {provider}", call.function.name == "look" and fits(json.loads(call.function.arguments)) and whole.choices[0].finish_reason == "tool_calls", whole)
        chunks = list(ask_by(provider + MODEL, **asked, tool_choice="required", stream=True))
        built = litellm.stream_chunk_builder(chunks).choices[0]
        check("in a stream", fits(json.loads(built.message.tool_calls[0].function.arguments)) and built.finish_reason == "tool_calls", built)
        turn = [*STORY, whole.choices[0].message.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": "a red bird"}]
        before, after = (ask_by(provider + MODEL, m, tools=[LOOK], max_tokens=4).usage.prompt_tokens for m in (STORY, turn))
        check("its result goes back", after > before + 10, (before, after))


def schemas():
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}
    found = ask_by("openai/" + TINY, seed=1, response_format=form).choices[0].message.content
    check("a schema", fits(json.loads(found)), found)


def vectors():
    plain = [d["embedding"] for d in ask("/v1/embeddings", {"model": EMBEDS, "input": ["a b", "c"]})["data"]]
    found = litellm.embedding(model="openai/" + EMBEDS, input=["a b", "c"], api_base=URL + "/v1", api_key="none")
    near = lambda a, b: len(a) == len(b) and max(abs(x - y) for x, y in zip(a, b)) < 1e-6
    check("vectors", all(near(d["embedding"], p) for d, p in zip(found.data, plain)) and found.usage.total_tokens > 0, found.usage)


def responses():
    whole = litellm.responses(model="openai/" + TINY, input="Tell me a story", max_output_tokens=16, api_base=URL + "/v1", api_key="none")
    check("a response", whole.status == "incomplete" and whole.usage.output_tokens == 16 and len(whole.output[0].content[0].text) > 3, whole)


def errors():
    refused("no such model", litellm.NotFoundError, lambda: ask_by("openai/gone"))
    refused("too long", litellm.ContextWindowExceededError, lambda: ask_by("openai/" + TINY, [{"role": "user", "content": "a " * 9000}]))
    refused("no key", litellm.AuthenticationError, lambda: litellm.completion(model="openai/" + TINY, messages=STORY, api_base=LOCKED + "/v1", api_key="another-secret-00"))


if __name__ == "__main__":
    run(chats, tools, schemas, vectors, responses, errors, lambda: asyncio.run(at_once()))
    close("litellm")
