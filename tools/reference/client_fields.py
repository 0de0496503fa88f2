"""The fields that the clients' own types have, for tests/unit/client_fields.json, to which unit/http_fields holds the tables of
src/server/fields: what a client can say has a row, done, harmless or refused by name.

    pip install -r tools/clients/requirements.txt
    python tools/reference/client_fields.py          # writes the file, and says what is new in it
    python tools/reference/client_fields.py --check  # says it, and fails if there is any: tools/clients/check.sh does

Run it again when a version in tools/clients/requirements.txt is raised: a field that came with it is then red in unit/http_fields until
its row is written. What a client sends beside its types (extra_body, headers, time limits) is no field of theirs."""
import importlib
import importlib.metadata
import json
import pathlib
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "tests/unit/client_fields.json"

# By the title of a table: where its types are; of several, all that one of them has. "module:Type".
OPENAI, ANTHROPIC = "openai.types.", "anthropic.types."
TYPES = {
    "POST /v1/chat/completions": [OPENAI + "chat.completion_create_params:CompletionCreateParamsNonStreaming",
                                  OPENAI + "chat.completion_create_params:CompletionCreateParamsStreaming"],
    "stream_options": [OPENAI + "chat.chat_completion_stream_options_param:ChatCompletionStreamOptionsParam"],
    "response_format": [OPENAI + "shared_params.response_format_json_schema:ResponseFormatJSONSchema",
                        OPENAI + "shared_params.response_format_json_object:ResponseFormatJSONObject",
                        OPENAI + "shared_params.response_format_text:ResponseFormatText"],
    "response_format.json_schema": [OPENAI + "shared_params.response_format_json_schema:JSONSchema"],
    "messages": [OPENAI + f"chat.chat_completion_{role}_message_param:ChatCompletion{role.title()}MessageParam"
                 for role in ("user", "assistant", "system", "developer", "tool", "function")] + [OPENAI + "chat.chat_completion_message:ChatCompletionMessage"],
    "messages.content": [OPENAI + "chat.chat_completion_content_part_text_param:ChatCompletionContentPartTextParam",
                         OPENAI + "chat.chat_completion_content_part_refusal_param:ChatCompletionContentPartRefusalParam"],
    "messages.tool_calls": [OPENAI + "chat.chat_completion_message_function_tool_call_param:ChatCompletionMessageFunctionToolCallParam",
                            OPENAI + "chat.chat_completion_message_custom_tool_call_param:ChatCompletionMessageCustomToolCallParam"],
    "messages.tool_calls.function": [OPENAI + "chat.chat_completion_message_function_tool_call_param:Function"],
    "tools": [OPENAI + "chat.chat_completion_function_tool_param:ChatCompletionFunctionToolParam",
              OPENAI + "chat.chat_completion_custom_tool_param:ChatCompletionCustomToolParam", "ollama._types:Tool"],
    "tools.function": [OPENAI + "shared_params.function_definition:FunctionDefinition", "ollama._types:Tool.Function"],
    "tool_choice": [OPENAI + "chat.chat_completion_named_tool_choice_param:ChatCompletionNamedToolChoiceParam",
                    OPENAI + "chat.chat_completion_named_tool_choice_custom_param:ChatCompletionNamedToolChoiceCustomParam",
                    OPENAI + "chat.chat_completion_allowed_tool_choice_param:ChatCompletionAllowedToolChoiceParam"],
    "tool_choice.function": [OPENAI + "chat.chat_completion_named_tool_choice_param:Function"],
    "tool_choice.allowed_tools": [OPENAI + "chat.chat_completion_allowed_tools_param:ChatCompletionAllowedToolsParam"],
    "POST /v1/responses": [OPENAI + "responses.response_create_params:ResponseCreateParamsNonStreaming",
                           OPENAI + "responses.response_create_params:ResponseCreateParamsStreaming"],
    "text": [OPENAI + "responses.response_text_config_param:ResponseTextConfigParam"],
    "text.format": [OPENAI + "responses.response_format_text_json_schema_config_param:ResponseFormatTextJSONSchemaConfigParam"],
    "reasoning": [OPENAI + "shared_params.reasoning:Reasoning"],
    "input of type message": [OPENAI + "responses.easy_input_message_param:EasyInputMessageParam", OPENAI + "responses.response_input_item_param:Message",
                              OPENAI + "responses.response_output_message_param:ResponseOutputMessageParam"],
    "input of type function_call": [OPENAI + "responses.response_function_tool_call_param:ResponseFunctionToolCallParam"],
    "input of type function_call_output": [OPENAI + "responses.response_input_item_param:FunctionCallOutput"],
    "input of type reasoning": [OPENAI + "responses.response_reasoning_item_param:ResponseReasoningItemParam"],
    "input of type item_reference": [OPENAI + "responses.response_input_item_param:ItemReference"],
    "input.content, and output": [OPENAI + "responses.response_input_text_param:ResponseInputTextParam", OPENAI + "responses.response_output_text_param:ResponseOutputTextParam",
                                  OPENAI + "responses.response_output_refusal_param:ResponseOutputRefusalParam", OPENAI + "responses.response_reasoning_item_param:Content"],
    "caller": [OPENAI + "responses.response_function_tool_call_param:CallerDirect", ANTHROPIC + "direct_caller_param:DirectCallerParam"],
    "tools of POST /v1/responses": [OPENAI + "responses.function_tool_param:FunctionToolParam"],
    "tool_choice of POST /v1/responses": [OPENAI + "responses.tool_choice_function_param:ToolChoiceFunctionParam",
                                          OPENAI + "responses.tool_choice_allowed_param:ToolChoiceAllowedParam"],
    "POST /v1/completions": [OPENAI + "completion_create_params:CompletionCreateParamsNonStreaming",
                             OPENAI + "completion_create_params:CompletionCreateParamsStreaming"],
    "POST /v1/embeddings": [OPENAI + "embedding_create_params:EmbeddingCreateParams"],
    "POST /v1/files": [OPENAI + "file_create_params:FileCreateParams"],
    "expires_after": [OPENAI + "file_create_params:ExpiresAfter"],
    "GET /v1/files": [OPENAI + "file_list_params:FileListParams"],
    "POST /v1/fine_tuning/jobs": [OPENAI + "fine_tuning.job_create_params:JobCreateParams"],
    "method": [OPENAI + "fine_tuning.job_create_params:Method"],
    "method.supervised and its like": [OPENAI + "fine_tuning.supervised_method_param:SupervisedMethodParam",
                                         OPENAI + "fine_tuning.dpo_method_param:DpoMethodParam"],
    "hyperparameters": [OPENAI + "fine_tuning.supervised_hyperparameters_param:SupervisedHyperparametersParam",
                        OPENAI + "fine_tuning.dpo_hyperparameters_param:DpoHyperparametersParam",
                        OPENAI + "fine_tuning.job_create_params:Hyperparameters"],
    "GET /v1/fine_tuning/jobs": [OPENAI + "fine_tuning.job_list_params:JobListParams"],
    "GET /v1/fine_tuning/jobs/ID/events": [OPENAI + "fine_tuning.job_list_events_params:JobListEventsParams",
                                           OPENAI + "fine_tuning.jobs.checkpoint_list_params:CheckpointListParams"],
    "POST /v1/messages": ["anthropic.types.message_create_params:MessageCreateParamsNonStreaming",
                          "anthropic.types.message_create_params:MessageCreateParamsStreaming"],
    "messages of POST /v1/messages": [ANTHROPIC + f"{role}_message_param:{role.title()}MessageParam" for role in ("user", "assistant", "system")],
    "content of type text": [ANTHROPIC + "text_block_param:TextBlockParam"],
    "content of type thinking": [ANTHROPIC + "thinking_block_param:ThinkingBlockParam"],
    "content of type tool_use": [ANTHROPIC + "tool_use_block_param:ToolUseBlockParam"],
    "content of type tool_result": [ANTHROPIC + "tool_result_block_param:ToolResultBlockParam"],
    "cache_control": [ANTHROPIC + "cache_control_ephemeral_param:CacheControlEphemeralParam"],
    "metadata of POST /v1/messages": [ANTHROPIC + "metadata_param:MetadataParam"],
    "tools of POST /v1/messages": [ANTHROPIC + "tool_param:ToolParam"],
    "tool_choice of POST /v1/messages": [ANTHROPIC + f"tool_choice_{kind}_param:ToolChoice{kind.title()}Param" for kind in ("auto", "any", "tool", "none")],
    "thinking": [ANTHROPIC + f"thinking_config_{kind}_param:ThinkingConfig{kind.title()}Param" for kind in ("enabled", "disabled", "adaptive")],
    "output_config": [ANTHROPIC + "output_config_param:OutputConfigParam"],
    "output_config.format": [ANTHROPIC + "json_output_format_param:JSONOutputFormatParam"],
    "POST /v1/messages/count_tokens": ["anthropic.types.message_count_tokens_params:MessageCountTokensParams"],
    "POST /api/chat": ["ollama._types:ChatRequest"],
    "POST /api/generate": ["ollama._types:GenerateRequest"],
    "messages of POST /api/chat": ["ollama._types:Message"],
    "tool_calls of POST /api/chat": ["ollama._types:Message.ToolCall"],
    "tool_calls.function of POST /api/chat": ["ollama._types:Message.ToolCall.Function"],
    "options": ["ollama._types:Options"],
    "POST /api/embed": ["ollama._types:EmbedRequest"],
    "POST /api/show": ["ollama._types:ShowRequest"],
}


def fields_of(where):
    module, name = where.split(":")
    kind = importlib.import_module(module)
    for part in name.split("."):
        kind = getattr(kind, part)
    if hasattr(kind, "model_fields"):
        return set(kind.model_fields)
    return {n for n in typing.get_type_hints(kind) if not n.startswith("betas")}


def main():
    old = json.loads(FILE.read_text())["fields"] if FILE.exists() else {}
    versions = {n: importlib.metadata.version(n) for n in ("openai", "anthropic", "ollama")}
    found = {title: sorted(set().union(*map(fields_of, types))) for title, types in TYPES.items()}
    changed = [(title, n, n in names) for title, names in found.items() for n in sorted(set(names) ^ set(old.get(title, [])))]
    for title, n, is_new in changed:
        print(f"{title}: {n} {'is new' if is_new else 'is gone'}")
    if "--check" in sys.argv:
        sys.exit(bool(changed))
    lines = [f"{json.dumps(title)}: {json.dumps(names)}" for title, names in found.items()]
    FILE.write_text('{"versions": ' + json.dumps(versions) + ',\n"fields": {\n' + ",\n".join(lines) + "\n}}\n")
    print(f"{sum(map(len, found.values()))} fields of {len(found)} tables")


if __name__ == "__main__":
    main()
