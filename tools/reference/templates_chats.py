"""The conversations that templates are tried on."""
TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "Weather of a city, \"now\" & <here>",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "description": "the city's name"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
            "days": {"type": "array", "items": {"type": "integer"}, "nullable": True},
            "where": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": ["number", "null"]}}}},
            "required": ["city"]}}},
    {"type": "function", "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}},
]
U = {"role": "user", "content": "Hello, who are you?"}
S = {"role": "system", "content": "You are a careful assistant.\nAnswer briefly."}
A = {"role": "assistant", "content": "I am a model."}


def call(name, arguments, id="call_123", **more):
    return {"role": "assistant", **more, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]}


def result(content, id="call_123", name="get_weather"):
    return {"role": "tool", "tool_call_id": id, "name": name, "content": content}


ROUND = [U, call("get_weather", {"city": "Zürich", "days": [1, 2], "where": {"lat": 47.4, "lon": None}, "ok": True}, content=""),
         result("{\"temperature\": 21.5}"), {"role": "assistant", "content": "It is 21.5 degrees."},
         {"role": "user", "content": "And in fahrenheit?"}]
CHATS = {
    "plain": {"messages": [U]},
    "no_prompt": {"messages": [U, A], "add_generation_prompt": False},
    "system": {"messages": [S, U]},
    "developer": {"messages": [{"role": "developer", "content": "Be brief."}, U]},
    "turns": {"messages": [S, U, A, {"role": "user", "content": "  spaces and\n\nlines \n"}, A, U]},
    "empty": {"messages": [{"role": "system", "content": ""}, {"role": "user", "content": ""}]},
    "unicode": {"messages": [{"role": "user", "content": "Grüße, 世界! 👩‍👩‍👧 \u00a0\u200b\u2028 <b>&\"'</b> {{ x }} {% if %}"},
                             {"role": "assistant", "content": "ДА İß ﬁ ǅ"}, U]},
    "tools": {"messages": [S, U], "tools": TOOLS},
    "tools_alone": {"messages": [U], "tools": TOOLS},
    "call": {"messages": [S, *ROUND[:2]], "tools": TOOLS, "add_generation_prompt": False},
    "call_result": {"messages": ROUND[:3], "tools": TOOLS},
    "round": {"messages": [S, *ROUND], "tools": TOOLS},
    "round_no_tools": {"messages": ROUND},
    "call_text": {"messages": [U, call("get_weather", "{\"city\": \"Bern\"}"), result("cold"), A], "tools": TOOLS},
    "two_calls": {"messages": [U, {"role": "assistant", "content": "Let me see.", "tool_calls": [
        {"id": "abcdefgh1", "type": "function", "function": {"name": "now", "arguments": {}}},
        {"id": "abcdefgh2", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Genf"}}}]},
        result("12:00", "abcdefgh1", "now"), result("warm", "abcdefgh2"), {"role": "assistant", "content": "Noon, warm."}], "tools": TOOLS},
    "id9": {"messages": [U, call("now", {}, "abcDEF123"), result("12:00", "abcDEF123", "now")], "tools": TOOLS},
    "reasoning": {"messages": [U, {"role": "assistant", "reasoning_content": "The user greets.", "thinking": "The user greets.",
                                   "content": "Hi."}, U]},
    "think_tags": {"messages": [U, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHi."}, U]},
    "think_last": {"messages": [U, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHi."}], "add_generation_prompt": False},
    "reasoning_call": {"messages": [U, call("now", {}, reasoning_content="I need the time.", thinking="I need the time."),
                                    result("12:00", name="now")], "tools": TOOLS},
    "no_think": {"messages": [U], "enable_thinking": False, "thinking": False, "reasoning_effort": "low"},
    "think": {"messages": [S, U], "enable_thinking": True, "thinking": True, "reasoning_effort": "high"},
    "parts": {"messages": [{"role": "system", "content": [{"type": "text", "text": "Look."}]},
                           {"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "image"}, {"type": "text", "text": "this?"}]}]},
    "documents": {"messages": [U], "documents": [{"title": "One", "text": "First.", "doc_id": "1"}, {"title": "Two", "text": "Second."}]},
    "bad_order": {"messages": [A, A, U]},
    "bad_role": {"messages": [{"role": "wizard", "content": "Abracadabra"}]},
    "no_content": {"messages": [U, {"role": "assistant"}, U]},
    "assistant_last": {"messages": [S, U, A], "add_generation_prompt": True},
}
KWARGS = ("add_generation_prompt", "tools", "documents")


def variables(chat):
    """What apply_chat_template hands to the template."""
    return {"tools": None, "documents": None, "add_generation_prompt": True,
            "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", **chat}
