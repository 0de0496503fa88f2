/* The rows are the .def files of server/fields, one for each object of a body; here they become tables. */
#include "server/fields.h"

#include "server/job_methods.h"

static const hn_field chat[] = {
#include "server/fields/chat.def"
};
static const hn_field stream_options[] = {
#include "server/fields/stream_options.def"
};
static const hn_field response_format[] = {
#include "server/fields/response_format.def"
};
static const hn_field json_schema[] = {
#include "server/fields/json_schema.def"
};
static const hn_field chat_message[] = {
#include "server/fields/chat_message.def"
};
static const hn_field content_part[] = {
#include "server/fields/content_part.def"
};
static const hn_field message_call[] = {
#include "server/fields/message_call.def"
};
static const hn_field call_function[] = {
#include "server/fields/call_function.def"
};
static const hn_field tool[] = {
#include "server/fields/tool.def"
};
static const hn_field tool_function[] = {
#include "server/fields/tool_function.def"
};
static const hn_field tool_choice[] = {
#include "server/fields/tool_choice.def"
};
static const hn_field choice_function[] = {
#include "server/fields/choice_function.def"
};
static const hn_field allowed_tools[] = {
#include "server/fields/allowed_tools.def"
};
static const hn_field allowed_tool[] = {
#include "server/fields/allowed_tool.def"
};
static const hn_field responses[] = {
#include "server/fields/responses.def"
};
static const hn_field response_stream_options[] = {
#include "server/fields/response_stream_options.def"
};
static const hn_field response_text[] = {
#include "server/fields/response_text.def"
};
static const hn_field text_format[] = {
#include "server/fields/text_format.def"
};
static const hn_field response_reasoning[] = {
#include "server/fields/response_reasoning.def"
};
static const hn_field item_message[] = {
#include "server/fields/item_message.def"
};
static const hn_field item_call[] = {
#include "server/fields/item_call.def"
};
static const hn_field item_output[] = {
#include "server/fields/item_output.def"
};
static const hn_field item_reasoning[] = {
#include "server/fields/item_reasoning.def"
};
static const hn_field item_reference[] = {
#include "server/fields/item_reference.def"
};
static const hn_field item_part[] = {
#include "server/fields/item_part.def"
};
static const hn_field caller[] = {
#include "server/fields/caller.def"
};
static const hn_field response_tool[] = {
#include "server/fields/response_tool.def"
};
static const hn_field response_choice[] = {
#include "server/fields/response_choice.def"
};
static const hn_field response_allowed_tool[] = {
#include "server/fields/response_allowed_tool.def"
};
static const hn_field input_items[] = {
#include "server/fields/input_items.def"
};
static const hn_field completions[] = {
#include "server/fields/completions.def"
};
static const hn_field embeddings[] = {
#include "server/fields/embeddings.def"
};
static const hn_field messages[] = {
#include "server/fields/messages.def"
};
static const hn_field turn[] = {
#include "server/fields/turn.def"
};
static const hn_field text_block[] = {
#include "server/fields/text_block.def"
};
static const hn_field thinking_block[] = {
#include "server/fields/thinking_block.def"
};
static const hn_field tool_use_block[] = {
#include "server/fields/tool_use_block.def"
};
static const hn_field tool_result_block[] = {
#include "server/fields/tool_result_block.def"
};
static const hn_field cache_control[] = {
#include "server/fields/cache_control.def"
};
static const hn_field message_metadata[] = {
#include "server/fields/message_metadata.def"
};
static const hn_field message_tool[] = {
#include "server/fields/message_tool.def"
};
static const hn_field message_choice[] = {
#include "server/fields/message_choice.def"
};
static const hn_field thinking[] = {
#include "server/fields/thinking.def"
};
static const hn_field output_config[] = {
#include "server/fields/output_config.def"
};
static const hn_field output_format[] = {
#include "server/fields/output_format.def"
};
static const hn_field count_tokens[] = {
#include "server/fields/count_tokens.def"
};
static const hn_field models_query[] = {
#include "server/fields/models_query.def"
};
static const hn_field messages_query[] = {
#include "server/fields/messages_query.def"
};
static const hn_field load_lora_adapter[] = {
#include "server/fields/load_lora_adapter.def"
};
static const hn_field unload_lora_adapter[] = {
#include "server/fields/unload_lora_adapter.def"
};
static const hn_field tokenize[] = {
#include "server/fields/tokenize.def"
};
static const hn_field detokenize[] = {
#include "server/fields/detokenize.def"
};
static const hn_field apply_template[] = {
#include "server/fields/apply_template.def"
};
static const hn_field ollama_chat[] = {
#include "server/fields/ollama_chat.def"
};
static const hn_field ollama_generate[] = {
#include "server/fields/ollama_generate.def"
};
static const hn_field ollama_message[] = {
#include "server/fields/ollama_message.def"
};
static const hn_field ollama_call[] = {
#include "server/fields/ollama_call.def"
};
static const hn_field ollama_call_function[] = {
#include "server/fields/ollama_call_function.def"
};
static const hn_field ollama_options[] = {
#include "server/fields/ollama_options.def"
};
static const hn_field ollama_embed[] = {
#include "server/fields/ollama_embed.def"
};
static const hn_field ollama_show[] = {
#include "server/fields/ollama_show.def"
};
static const hn_field files[] = {
#include "server/fields/files.def"
};
static const hn_field expires_after[] = {
#include "server/fields/expires_after.def"
};
static const hn_field files_list[] = {
#include "server/fields/files_list.def"
};
static const hn_field file_tokens[] = {
#include "server/fields/file_tokens.def"
};
static const hn_field jobs[] = {
#include "server/fields/jobs.def"
};
static const hn_field job_method[] = {
#include "server/fields/job_method.def"
};
static const hn_field job_part[] = {
#include "server/fields/job_part.def"
};
static const hn_field job_hyperparameters[] = {
#include "server/fields/job_hyperparameters.def"
};
static const hn_field jobs_list[] = {
#include "server/fields/jobs_list.def"
};
static const hn_field job_events[] = {
#include "server/fields/job_events.def"
};
static const hn_field props[] = {
#include "server/fields/props.def"
};
static const hn_field slots[] = {
#include "server/fields/slots.def"
};

#define HN_FIELD_TABLE(name, api) const hn_fields hn_fields_##name = { api, name, sizeof name / sizeof *name };
#include "server/field_tables.def"
#undef HN_FIELD_TABLE

const hn_fields *hn_fields_at(size_t i)
{
#define HN_FIELD_TABLE(name, api) &hn_fields_##name,
    static const hn_fields *const all[] = {
#include "server/field_tables.def"
    };
#undef HN_FIELD_TABLE
    return i < sizeof all / sizeof *all ? all[i] : NULL;
}
