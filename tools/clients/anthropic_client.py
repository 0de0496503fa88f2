"""anthropic of Python against `hone serve`: see check.sh."""
import asyncio
import json
from typing import Literal

import anthropic
from pydantic import BaseModel

from checks import LOCKED, MODEL, SCHEMA, SECRET, STORY, TINY, URL, check, close, fits, prompt_of, refused, run, said

client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0, timeout=120)
ASKED = {"model": TINY, "messages": STORY, "max_tokens": 12, "extra_body": {"seed": 5}}
LOOK = {"name": "look", "description": "at a place", "input_schema": SCHEMA}
CALLS = {"model": MODEL, "messages": STORY, "max_tokens": 2000, "tools": [LOOK], "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
         "thinking": {"type": "enabled", "budget_tokens": 1024}, "extra_body": {"seed": 5}}


class Place(BaseModel):
    place: Literal["here", "there"]
    n: int


def messages():
    whole = client.messages.create(**ASKED)
    text = whole.content[0].text
    check("a message", text == said(TINY, max_tokens=12, seed=5) and whole.role == "assistant" and whole.type == "message" and len(whole.content) == 1, whole)
    check("its end and usage", whole.stop_reason == "max_tokens" and whole.usage.output_tokens == 12 and whole.usage.input_tokens + (whole.usage.cache_read_input_tokens or 0) > 0, whole.usage)
    events = list(client.messages.create(**ASKED, stream=True))
    check("its events", "".join(e.delta.text for e in events if e.type == "content_block_delta") == text and events[0].type == "message_start" and events[-1].type == "message_stop")
    with client.messages.stream(**ASKED) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    check("the helper's stream", "".join(pieces) == text == final.content[0].text and final.stop_reason == "max_tokens" and final.usage.output_tokens == 12, final)
    cut = client.messages.create(**ASKED, stop_sequences=[text[4:7]])
    check("a stop", cut.content[0].text == text[: text.index(text[4:7])] and cut.stop_reason == "stop_sequence" and cut.stop_sequence == text[4:7], cut)
    plain = client.messages.count_tokens(model=TINY, messages=STORY).input_tokens
    more = client.messages.count_tokens(model=TINY, messages=STORY, system="Be brief.").input_tokens
    check("counted", plain == whole.usage.input_tokens + (whole.usage.cache_read_input_tokens or 0) and more > plain, (plain, more, whole.usage))
    named = client.messages.create(**{**ASKED, "system": [{"type": "text", "text": "Be brief."}], "extra_body": {"seed": 5, "recipe": True}})
    check("a system", "Be brief." in prompt_of(TINY, named))


async def at_once():
    other = anthropic.AsyncAnthropic(base_url=URL, api_key="none", max_retries=0)
    many = await asyncio.gather(*[other.messages.create(**ASKED) for _ in range(4)])
    check("four at a time say what one says", {m.content[0].text for m in many} == {said(TINY, max_tokens=12, seed=5)})
    await other.close()


def tools():
    for choice in [{"type": "any"}, {"type": "tool", "name": "look"}]:
        whole = client.messages.create(**{**CALLS, "tool_choice": {**choice, "disable_parallel_tool_use": True}})
        call = whole.content[-1]
        check(f"a call, {choice}", call.type == "tool_use" and call.name == "look" and fits(call.input) and whole.stop_reason == "tool_use", whole)
    with client.messages.stream(**CALLS) as stream:
        kinds = [e.type for e in stream]
        final = stream.get_final_message()
    check("in a stream", [b.type for b in final.content] == [b.type for b in whole.content] and final.content[-1].input == call.input and "input_json" in kinds, final)
    turn = [*STORY, {"role": "assistant", "content": whole.content}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "a red bird"}]}]
    after = client.messages.create(model=MODEL, messages=turn, tools=[LOOK], max_tokens=4, extra_body={"recipe": True})
    prompt = prompt_of(MODEL, after)
    check("its result goes back", "<tool_response>\na red bird\n</tool_response>" in prompt and '<tool_call>\n{"name": "look", "arguments": ' + json.dumps(call.input) in prompt, prompt)


def schemas():
    form = {"format": {"type": "json_schema", "schema": SCHEMA}}
    whole = client.messages.create(model=TINY, messages=STORY, max_tokens=200, output_config=form)
    check("a schema", fits(json.loads(whole.content[0].text)) and whole.stop_reason == "end_turn", whole)

    parsed = client.messages.parse(model=TINY, messages=STORY, max_tokens=200, output_format=Place)
    check("parsed", isinstance(parsed.parsed_output, Place), parsed)


def models():
    check("models", [m.id for m in client.models.list()][:2] == [MODEL, TINY])
    check("one", client.models.retrieve(TINY).id == TINY)


def errors():
    refused("no such model", anthropic.NotFoundError, lambda: client.messages.create(**{**ASKED, "model": "gone"}), "not_found_error")
    refused("too long", anthropic.BadRequestError, lambda: client.messages.create(**{**ASKED, "messages": [{"role": "user", "content": "a " * 9000}]}), "invalid_request_error")
    picture = {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/a.png"}}
    refused("a picture", anthropic.BadRequestError, lambda: client.messages.create(**{**ASKED, "messages": [{"role": "user", "content": [picture]}]}), "image")
    refused("a tool of the API's own", anthropic.BadRequestError, lambda: client.messages.create(**ASKED, tools=[{"type": "web_search_20250305", "name": "web_search"}]), "tools")
    locked = anthropic.Anthropic(base_url=LOCKED, api_key="another-secret-00", max_retries=0)
    refused("no key", anthropic.AuthenticationError, lambda: locked.messages.create(**ASKED))
    check("a key", locked.with_options(api_key=SECRET).messages.create(**ASKED).usage.output_tokens == 12)


if __name__ == "__main__":
    run(messages, tools, schemas, models, errors, lambda: asyncio.run(at_once()))
    close("anthropic " + anthropic.__version__)
