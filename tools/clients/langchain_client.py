"""LangChain's ChatOpenAI and OpenAIEmbeddings against `hone serve`: see check.sh."""
import asyncio
from typing import Literal

import langchain_openai
import openai
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from checks import EMBEDS, MODEL, STORY, TINY, URL, ask, check, close, refused, run, said

STORIES = [HumanMessage("Tell me a story")]
SHORT = {"thinking_budget": 4}


class Place(BaseModel):
    """A place."""

    place: Literal["here", "there"]
    n: int = Field(ge=3, le=17)


@tool
def look(place: Literal["here", "there"], n: int) -> str:
    """Look at a place."""
    return f"{n} birds {place}"


def chat(model=TINY, **more):
    seed = {} if more.get("use_responses_api") else {"seed": 5}  # which that API does not have
    return langchain_openai.ChatOpenAI(model=model, base_url=URL + "/v1", api_key="none", max_retries=0, **seed, **more)


def chats():
    model, text = chat(max_tokens=12), said(TINY, max_tokens=12, seed=5)
    whole = model.invoke("Tell me a story")
    check("a chat", whole.content == text and whole.response_metadata["finish_reason"] == "length" and whole.response_metadata["model_name"] == TINY, whole)
    check("its usage", whole.usage_metadata["output_tokens"] == 12 and whole.usage_metadata["total_tokens"] == whole.usage_metadata["input_tokens"] + 12, whole.usage_metadata)
    pieces = list(chat(max_tokens=12, stream_usage=True).stream(STORIES))
    check("a stream", "".join(p.content for p in pieces) == text)
    check("with usage, once", [p.usage_metadata["output_tokens"] for p in pieces if p.usage_metadata] == [12])
    check("a batch", [m.content for m in model.batch([STORIES] * 3)] == [text] * 3)
    check("a stop", chat(max_tokens=12, stop_sequences=[text[4:7]]).invoke(STORIES).content == text[: text.index(text[4:7])])
    check("log-probabilities", len(model.bind(logprobs=True).invoke(STORIES).response_metadata["logprobs"]["content"]) == 12)
    named = chat(max_tokens=4).invoke([SystemMessage("Be brief."), *STORIES])
    asked = {"model": TINY, "messages": [{"role": "system", "content": "Be brief."}, *STORY], "max_tokens": 4, "seed": 5}
    check("a system", named.content == ask("/v1/chat/completions", asked)["choices"][0]["message"]["content"])


async def at_once():
    model, text = chat(max_tokens=12), said(TINY, max_tokens=12, seed=5)
    many = await asyncio.gather(*[model.ainvoke(STORIES) for _ in range(4)])
    check("four at a time", [m.content for m in many] == [text] * 4)
    check("an asynchronous stream", "".join([p.content async for p in model.astream(STORIES)]) == text)


def tools():
    plain = chat(MODEL, max_tokens=300, extra_body=SHORT)
    for choice in ["required", "look"]:
        model = plain.bind_tools([look], tool_choice=choice, strict=True, parallel_tool_calls=False)
        whole = model.invoke(STORIES)
        call = whole.tool_calls[0]
        check(f"a call, {choice}", len(whole.tool_calls) == 1 and call["name"] == "look" and call["args"]["place"] in ("here", "there") and isinstance(call["args"]["n"], int) and not whole.invalid_tool_calls, whole)
    total = None
    for piece in model.stream(STORIES):
        total = piece if total is None else total + piece
    check("in a stream", [{k: c[k] for k in ("name", "args")} for c in total.tool_calls] == [{k: call[k] for k in ("name", "args")}], total)
    result = look.invoke(call)
    check("it is called", isinstance(result, ToolMessage) and result.content == f"{call['args']['n']} birds {call['args']['place']}", result)
    before = plain.bind_tools([look]).bind(max_tokens=4).invoke(STORIES)
    after = plain.bind_tools([look]).bind(max_tokens=4).invoke([*STORIES, whole, result])
    check("its result goes back", after.usage_metadata["input_tokens"] > before.usage_metadata["input_tokens"] + 10, after)


def schemas():
    for method in ["json_schema", "function_calling"]:
        model = chat(TINY if method == "json_schema" else MODEL, extra_body={} if method == "json_schema" else SHORT)
        found = model.with_structured_output(Place, method=method, strict=True).invoke(STORIES)
        check(f"by {method}", isinstance(found, Place), found)


def responses():
    model = chat(MODEL, use_responses_api=True, max_tokens=300, extra_body=SHORT)
    whole = model.bind_tools([look], tool_choice="required", strict=True, parallel_tool_calls=False).invoke(STORIES)
    check("a call by responses", whole.tool_calls and whole.tool_calls[0]["name"] == "look" and whole.response_metadata["status"] == "completed", whole)
    after = model.bind(max_output_tokens=4).bind_tools([look]).invoke([*STORIES, whole, look.invoke(whole.tool_calls[0])])
    check("its result goes back by responses", after.usage_metadata["output_tokens"] > 0, after)
    pieces = list(chat(use_responses_api=True, max_tokens=12, extra_body={"seed": 5}).stream(STORIES))
    check("a stream by responses", "".join(b.get("text", "") for p in pieces for b in p.content if isinstance(b, dict)) == said(TINY, max_tokens=12, seed=5), pieces)


def vectors():
    # Its default sends token ids of a tokenizer that is not the model's.
    lc = langchain_openai.OpenAIEmbeddings(model=EMBEDS, base_url=URL + "/v1", api_key="none", check_embedding_ctx_length=False)
    plain = [d["embedding"] for d in ask("/v1/embeddings", {"model": EMBEDS, "input": ["a b", "c"]})["data"]]
    near = lambda a, b: len(a) == len(b) and max(abs(x - y) for x, y in zip(a, b)) < 1e-6
    found = lc.embed_documents(["a b", "c"])
    check("vectors", all(near(a, b) for a, b in zip(found, plain)) and near(lc.embed_query("a b"), plain[0]))


if __name__ == "__main__":
    run(chats, tools, schemas, responses, vectors, lambda: asyncio.run(at_once()))
    refused("no such model", openai.NotFoundError, lambda: chat("gone").invoke(STORIES), "gone")
    close("langchain-openai")
