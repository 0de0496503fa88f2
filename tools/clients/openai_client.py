"""openai of Python against `hone serve`: see check.sh."""
import asyncio
import base64
import json
import struct
import time
from typing import Literal

import openai
from pydantic import BaseModel, Field

from checks import EMBEDS, LOCKED, LOOK, MODEL, SCHEMA, SECRET, STORY, TINY, URL, ask, check, close, fits, prompt_of, refused, run, said

client = openai.OpenAI(base_url=URL + "/v1", api_key="none", max_retries=0, timeout=120)
ASKED = {"model": TINY, "messages": STORY, "max_tokens": 12, "seed": 5}

SHORT = {"thinking_budget": 4, "seed": 1}


class Place(BaseModel):
    place: Literal["here", "there"]
    n: int = Field(ge=3, le=17)


def chats():
    whole = client.chat.completions.create(**ASKED, logprobs=True, top_logprobs=2)
    text = whole.choices[0].message.content
    check("a chat", text == said(TINY, max_tokens=12, seed=5) and text, text)
    check("its usage", whole.usage.completion_tokens == 12 and whole.usage.total_tokens == whole.usage.prompt_tokens + 12)
    check("its end", whole.choices[0].finish_reason == "length" and whole.model == TINY and whole.object == "chat.completion")
    values = whole.choices[0].logprobs.content
    check("its log-probabilities", len(values) == 12 and all(len(v.top_logprobs) == 2 and v.logprob <= 0 for v in values))
    check("are of its text", b"".join(bytes(v.bytes) for v in values).decode() == text)
    chunks = list(client.chat.completions.create(**ASKED, stream=True, stream_options={"include_usage": True}))
    check("a stream has the same text", "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text)
    check("and usage at its end", chunks[-1].choices == [] and chunks[-1].usage.total_tokens == whole.usage.total_tokens and all(c.usage is None for c in chunks[:-1]), chunks[-1])
    two = client.chat.completions.create(**ASKED, n=2)
    check("n", [c.index for c in two.choices] == [0, 1] and two.choices[0].message.content == text != two.choices[1].message.content)
    stop = text[4:7]
    cut = client.chat.completions.create(**ASKED, stop=[stop]).choices[0]
    check("a stop", cut.message.content == text[: text.index(stop)] and cut.finish_reason == "stop", cut)
    with client.chat.completions.stream(**ASKED, stop=[stop]) as stream:
        deltas = [e.delta for e in stream if e.type == "content.delta"]
        final = stream.get_final_completion().choices[0]
    check("the helper's stream", "".join(deltas) == cut.message.content == final.message.content and final.finish_reason == "stop", final)
    raw = client.chat.completions.with_raw_response.create(**ASKED)
    check("raw", raw.status_code == 200 and raw.parse().choices[0].message.content == text)


async def at_once():
    other = openai.AsyncOpenAI(base_url=URL + "/v1", api_key="none", max_retries=0)
    alone = client.chat.completions.create(**ASKED).choices[0].message.content
    many = await asyncio.gather(*[other.chat.completions.create(**ASKED) for _ in range(6)])
    check("six at a time say what one says", {m.choices[0].message.content for m in many} == {alone})
    stream = await other.chat.completions.create(**ASKED, stream=True)
    check("an asynchronous stream", "".join([c.choices[0].delta.content or "" async for c in stream]) == alone)
    await other.close()


def texts():
    asked = {"model": TINY, "prompt": "Once upon", "max_tokens": 6, "seed": 1}
    plain, echoed = (client.completions.create(**asked, logprobs=1, echo=e).choices[0] for e in (False, True))
    check("a text", plain.text == ask("/v1/completions", asked)["choices"][0]["text"] and echoed.text == "Once upon" + plain.text)
    check("with log-probabilities", echoed.logprobs.token_logprobs[0] is None and echoed.logprobs.token_logprobs[-6:] == plain.logprobs.token_logprobs)
    check("as a stream", "".join(c.choices[0].text for c in client.completions.create(**asked, stream=True)) == plain.text)


def tools():
    asked = {"model": MODEL, "messages": STORY, "tools": [LOOK], "seed": 3, "max_tokens": 300, "extra_body": SHORT}
    for choice in ["required", {"type": "function", "function": {"name": "look"}}]:
        whole = client.chat.completions.create(**asked, tool_choice=choice, parallel_tool_calls=False).choices[0]
        call = whole.message.tool_calls[0]
        check(f"a call, {choice}", len(whole.message.tool_calls) == 1 and call.type == "function" and call.function.name == "look" and fits(json.loads(call.function.arguments)), whole)
        check("its end", whole.finish_reason == "tool_calls" and not whole.message.content)
    chunks = [c.choices[0] for c in client.chat.completions.create(**asked, tool_choice="required", parallel_tool_calls=False, stream=True)]
    pieces = [c for k in chunks for c in k.delta.tool_calls or []]
    check("in a stream", "".join(p.function.arguments or "" for p in pieces) == call.function.arguments and pieces[0].function.name == "look" and pieces[0].id)
    check("with its end", chunks[-1].finish_reason == "tool_calls" and {p.index for p in pieces} == {0})
    with client.chat.completions.stream(**asked, tool_choice="required", parallel_tool_calls=False) as stream:
        done = [e for e in stream if e.type == "tool_calls.function.arguments.done"]
    check("the helper's", len(done) == 1 and done[0].name == "look" and done[0].arguments == call.function.arguments)
    strict = openai.pydantic_function_tool(Place, name="look")
    parsed = client.chat.completions.parse(**{**asked, "tools": [strict]}, tool_choice="required", parallel_tool_calls=False).choices[0].message.tool_calls[0]
    check("parsed", isinstance(parsed.function.parsed_arguments, Place), parsed)
    before = client.chat.completions.create(**{**asked, "max_tokens": 4})
    turn = [*STORY, whole.message, {"role": "tool", "tool_call_id": call.id, "content": "a red bird"}]
    after = client.chat.completions.create(**{**asked, "messages": turn, "max_tokens": 4, "extra_body": {"recipe": True}})
    check("its result goes back", after.usage.prompt_tokens > before.usage.prompt_tokens + 10)
    prompt = prompt_of(MODEL, after)
    check("as the template has it", f'<tool_call>\n{{"name": "look", "arguments": {json.dumps(json.loads(call.function.arguments))}}}\n</tool_call>' in prompt and "<tool_response>\na red bird\n</tool_response>" in prompt, prompt)


def schemas():
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}
    for seed in range(3):
        whole = client.chat.completions.create(model=TINY, messages=STORY, seed=seed, response_format=form).choices[0]
        check("a schema", fits(json.loads(whole.message.content)) and whole.finish_reason == "stop", whole)
    parsed = client.chat.completions.parse(model=TINY, messages=STORY, seed=1, response_format=Place).choices[0].message.parsed
    check("parsed", isinstance(parsed, Place) and 3 <= parsed.n <= 17, parsed)
    free = client.chat.completions.create(model=TINY, messages=STORY, seed=1, max_tokens=200, response_format={"type": "json_object"}).choices[0]
    check("any object", free.finish_reason == "length" or isinstance(json.loads(free.message.content), dict), free)


def embeddings():
    asked = {"model": EMBEDS, "input": ["a b", "c"]}
    packed, plain = client.embeddings.create(**asked), client.embeddings.create(**asked, encoding_format="float")
    single = [[struct.unpack("f", struct.pack("f", x))[0] for x in d.embedding] for d in plain.data]
    check("base64, which is the client's default, is the floats", [list(d.embedding) for d in packed.data] == single)
    check("in order", [d.index for d in packed.data] == [0, 1] and single[0] != single[1])
    raw = client.embeddings.create(**asked, encoding_format="base64").data[0].embedding
    check("as it was sent", struct.unpack(f"<{len(single[0])}f", base64.b64decode(raw)) == tuple(single[0]))
    check("usage", packed.usage.total_tokens == packed.usage.prompt_tokens > 0)
    cut = client.embeddings.create(**asked, dimensions=4).data[0].embedding
    check("cut, and of length 1 again", len(cut) == 4 and abs(sum(x * x for x in cut) - 1) < 1e-6, cut)


def models():
    names = [m.id for m in client.models.list()]
    check("models", names[:3] == [MODEL, TINY, EMBEDS], names)
    check("one", client.models.retrieve(TINY).id == TINY)


def errors():
    lost = refused("no such model", openai.NotFoundError, lambda: client.chat.completions.create(model="gone", messages=STORY))
    check("by its field", lost and lost.param == "model" and lost.body["message"], lost)
    long = refused("too long", openai.BadRequestError, lambda: client.chat.completions.create(model=TINY, messages=[{"role": "user", "content": "a " * 9000}]))
    check("by its code", long and long.code == "context_length_exceeded", long)
    refused("a picture", openai.BadRequestError, lambda: client.chat.completions.create(model=TINY, messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1/a.png"}}]}]), "image_url")
    refused("the old form", openai.BadRequestError, lambda: client.chat.completions.create(**ASKED, functions=[{"name": "a"}]), "functions")
    locked = openai.OpenAI(base_url=LOCKED + "/v1", api_key="another-secret-00", max_retries=0)
    refused("no key", openai.AuthenticationError, lambda: locked.models.list())
    check("a key", locked.with_options(api_key=SECRET).models.list().data[0].id == TINY)


def jobs():
    lines = "".join(json.dumps({"messages": [{"role": "user", "content": f"what is {i}?"}, {"role": "assistant", "content": f"it is {i}."}]}) + "\n" for i in range(8))
    bad = refused("a file with a mistake", openai.BadRequestError, lambda: client.files.create(file=("b.jsonl", b'{"messages": ['), purpose="fine-tune", extra_body={"model": TINY}))
    check("with its place", bad and "b.jsonl: line 1, column 15" in bad.message, bad)
    file = client.files.create(file=("a.jsonl", lines.encode()), purpose="fine-tune", extra_body={"model": TINY})
    check("a file", file.bytes == len(lines) and file.filename == "a.jsonl" and file.purpose == "fine-tune" and client.files.wait_for_processing(file.id).status == "processed")
    check("its content", client.files.content(file.id).read() == lines.encode())
    check("the list", file.id in [f.id for f in client.files.list(purpose="fine-tune")])
    job = client.fine_tuning.jobs.create(model=TINY, training_file=file.id, suffix="py", seed=7, extra_body={"settings": ["rank=2"]},
                                         method={"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": 1, "batch_size": 2, "learning_rate_multiplier": 1}}})
    check("a job", job.object == "fine_tuning.job" and job.training_file == file.id and job.seed == 7 and job.method.supervised.hyperparameters.n_epochs == 1, job)
    refused("a file that a job uses", openai.ConflictError, lambda: client.files.delete(file.id), job.id)
    other = client.fine_tuning.jobs.create(model=TINY, training_file=file.id)
    check("paused", client.fine_tuning.jobs.pause(other.id).status == "paused")
    check("cancelled", client.fine_tuning.jobs.cancel(other.id).status == "cancelled")
    for _ in range(600):
        job = client.fine_tuning.jobs.retrieve(job.id)
        if job.status in ("succeeded", "failed"):
            break
        time.sleep(0.1)
    check("it ends", job.status == "succeeded" and job.trained_tokens > 0 and job.finished_at >= job.created_at, job)
    check("the list of jobs", [j.id for j in client.fine_tuning.jobs.list(limit=1)][:2] == [other.id, job.id])
    events = list(client.fine_tuning.jobs.list_events(job.id, limit=3))
    check("events, all pages of them", len(events) > 3 and len({e.id for e in events}) == len(events) and any(e.type == "metrics" for e in events), len(events))
    points = client.fine_tuning.jobs.checkpoints.list(job.id).data
    check("checkpoints", points and points[-1].fine_tuning_job_id == job.id and points[-1].step_number > 0, points)
    kinds = [client.files.retrieve(f).filename for f in job.result_files]
    check("results", "adapter.gguf" in kinds and client.files.content(job.result_files[kinds.index("adapter.gguf")]).read()[:4] == b"GGUF", kinds)
    tuned = client.chat.completions.create(**{**ASKED, "model": job.fine_tuned_model})
    check("it answers", tuned.usage.completion_tokens == 12 and tuned.model == job.fine_tuned_model)
    check("it is a model", client.models.retrieve(job.fine_tuned_model).id == job.fine_tuned_model)
    check("and can go", client.models.delete(job.fine_tuned_model).deleted)
    refused("then it is gone", openai.NotFoundError, lambda: client.chat.completions.create(**{**ASKED, "model": job.fine_tuned_model}))
    check("its file too", client.files.delete(file.id).deleted)


def responses():
    asked = {"model": MODEL, "input": "Tell me a story", "max_output_tokens": 12, "extra_body": {"seed": 5}}
    whole = client.responses.create(**asked)
    check("a response", whole.status == "incomplete" and whole.incomplete_details.reason == "max_output_tokens" and whole.usage.output_tokens == 12 and whole.output_text == said(MODEL, max_tokens=12, seed=5), whole)
    events = list(client.responses.create(**asked, stream=True))
    check("its events", "".join(e.delta for e in events if e.type == "response.output_text.delta") == whole.output_text and [e.sequence_number for e in events] == list(range(len(events))))
    check("first and last", (events[0].type, events[-1].type) == ("response.created", "response.incomplete") and events[-1].response.output_text == whole.output_text)
    with client.responses.stream(model=TINY, input="Where?", text_format=Place) as stream:
        deltas = [e.delta for e in stream if e.type == "response.output_text.delta"]
        final = stream.get_final_response()
    check("the helper's stream", "".join(deltas) == final.output_text and isinstance(final.output_parsed, Place), final)
    again = client.responses.retrieve(whole.id)
    check("kept", again.output_text == whole.output_text and again.usage == whole.usage)
    items = list(client.responses.input_items.list(whole.id))
    check("what went in", len(items) == 1 and items[0].content[0].text == "Tell me a story", items)
    tool = {"type": "function", "name": "look", "description": "at a place", "parameters": SCHEMA, "strict": True}
    called = client.responses.create(model=MODEL, input="Where?", tools=[tool], tool_choice="required", parallel_tool_calls=False, max_output_tokens=300, extra_body=SHORT)
    call = next(i for i in called.output if i.type == "function_call")
    check("a call", called.status == "completed" and call.name == "look" and fits(json.loads(call.arguments)), called)
    after = client.responses.create(model=MODEL, previous_response_id=called.id, max_output_tokens=4, tools=[tool], input=[{"type": "function_call_output", "call_id": call.call_id, "output": "a red bird"}])
    kinds = [i.type for i in client.responses.input_items.list(after.id, order="asc")]
    check("its result goes back", after.previous_response_id == called.id and [k for k in kinds if k != "reasoning"] == ["message", "function_call", "function_call_output"], kinds)
    chosen = client.responses.create(model=MODEL, input="Where?", tools=[tool, {**tool, "name": "count"}], tool_choice={"type": "function", "name": "count"}, parallel_tool_calls=False, max_output_tokens=300, extra_body=SHORT)
    check("a call of one", [i.name for i in chosen.output if i.type == "function_call"] == ["count"], chosen.output)
    parsed = client.responses.parse(model=TINY, input="Where?", text_format=Place)
    check("parsed", isinstance(parsed.output_parsed, Place), parsed)
    refused("in the background", openai.BadRequestError, lambda: client.responses.create(**asked, background=True), "background")
    refused("a tool of the API's own", openai.BadRequestError, lambda: client.responses.create(**asked, tools=[{"type": "web_search"}]), "tools")
    client.responses.delete(whole.id)
    refused("deleted", openai.NotFoundError, lambda: client.responses.retrieve(whole.id))


if __name__ == "__main__":
    run(models, chats, texts, tools, schemas, embeddings, errors, responses, jobs, lambda: asyncio.run(at_once()))
    close("openai " + openai.__version__)
