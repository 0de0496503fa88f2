/* What Anthropic's form asks for, in OpenAI's. A message of blocks becomes several where it has results of tools: each of these is a
 * message of its own there. */
#include "server/anthropic.h"

#include "server/message_fields.h"

#include <string.h>

static const char *text_of(const hn_json *object, const char *key)
{
    const hn_json *v = hn_json_get(object, key);
    return hn_json_string(v);
}

static bool is_block(const hn_json *block, const char *type) { return !strcmp(text_of(block, "type"), type); }

static bool refuse_block(const hn_json *block, const char *param, const char *expected, hn_failure *why)
{
    return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, param, "%s: a block of type \"%.40s\": expected %s", param, text_of(block, "type"), expected);
}

static bool wants(const hn_json *block, const char *key, hn_json_kind kind, hn_failure *why)
{
    const hn_json *v = hn_json_get(block, key);
    return (v && v->kind == kind) || hn_refuse_as(why, HN_REFUSED_INVALID, "messages", "messages: a block of type %.40s: expected %s, %s",
                                                  text_of(block, "type"), key, hn_json_kind_text(kind));
}

/* ---- texts ---- */

/* A text, or blocks of type text. */
static bool check_texts(const hn_json *content, const char *param, hn_failure *why)
{
    if (content && content->kind == HN_JSON_STRING)
        return true;
    if (!content || content->kind != HN_JSON_ARRAY)
        return hn_refuse_as(why, HN_REFUSED_INVALID, param, "%s: expected a text or blocks", param);
    for (const hn_json *b = hn_json_first(content); b; b = b->next)
        if (!is_block(b, "text"))
            return refuse_block(b, param, "text", why);
        else if (!wants(b, "text", HN_JSON_STRING, why))
            return false;
    return true;
}

/* What is said of a text, of where it is from and of what is kept of it, goes no further. */
static void add_text(hn_json_writer *w, const hn_json *block)
{
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, "text");
    hn_json_key(w, "text");
    hn_json_add_value(w, hn_json_get(block, "text"));
    hn_json_end_object(w);
}

static void add_content(hn_json_writer *w, const hn_json *content)
{
    hn_json_key(w, "content");
    if (content->kind == HN_JSON_STRING) {
        hn_json_add_value(w, content);
        return;
    }
    hn_json_begin_array(w);
    for (const hn_json *b = hn_json_first(content); b; b = b->next)
        add_text(w, b);
    hn_json_end_array(w);
}

static void begin_message(hn_json_writer *w, const char *role)
{
    hn_json_begin_object(w);
    hn_json_key(w, "role");
    hn_json_add_string(w, role);
}

static void add_message(hn_json_writer *w, const char *role, const hn_json *content)
{
    begin_message(w, role);
    add_content(w, content);
    hn_json_end_object(w);
}

/* Blocks of type text that follow each other are one message. */
static const hn_json *add_texts(hn_json_writer *w, const char *role, const hn_json *block)
{
    begin_message(w, role);
    hn_json_key(w, "content");
    hn_json_begin_array(w);
    for (; block && is_block(block, "text"); block = block->next)
        add_text(w, block);
    hn_json_end_array(w);
    hn_json_end_object(w);
    return block;
}

/* ---- of a user: texts, and results of tools ---- */

static bool add_result(hn_json_writer *w, const hn_json *block, hn_failure *why)
{
    const hn_json *content = hn_field_of(block, "content");
    if (!wants(block, "tool_use_id", HN_JSON_STRING, why) || (content && !check_texts(content, "messages", why)))
        return false;
    begin_message(w, "tool");
    hn_json_key(w, "tool_call_id");
    hn_json_add_string(w, text_of(block, "tool_use_id"));
    if (content)
        add_content(w, content);
    else {
        hn_json_key(w, "content");
        hn_json_add_string(w, "");
    }
    hn_json_end_object(w);
    return true;
}

static bool add_user(hn_json_writer *w, const hn_json *content, hn_failure *why)
{
    if (!hn_json_count(content)) /* a turn all the same */
        add_message(w, "user", content);
    for (const hn_json *b = hn_json_first(content); b;) {
        if (is_block(b, "text") && wants(b, "text", HN_JSON_STRING, why))
            b = add_texts(w, "user", b);
        else if (is_block(b, "tool_result") && add_result(w, b, why))
            b = b->next;
        else
            return why->kind != HN_REFUSED_NOT ? false : refuse_block(b, "messages", "text or tool_result of a user", why);
    }
    return true;
}

/* ---- of the model: texts, thoughts, calls ---- */

static bool check_said(const hn_json *content, hn_failure *why)
{
    for (const hn_json *b = hn_json_first(content); b; b = b->next) {
        const bool is_text = is_block(b, "text"), is_thought = is_block(b, "thinking"), is_call = is_block(b, "tool_use");
        if (!is_text && !is_thought && !is_call)
            return refuse_block(b, "messages", "text, thinking or tool_use of an assistant", why);
        if (is_call ? !wants(b, "id", HN_JSON_STRING, why) || !wants(b, "name", HN_JSON_STRING, why) || !wants(b, "input", HN_JSON_OBJECT, why)
                    : !wants(b, is_text ? "text" : "thinking", HN_JSON_STRING, why))
            return false;
    }
    return true;
}

static void add_thoughts(hn_json_writer *w, hn_heap *heap, const hn_json *content)
{
    hn_str all = hn_str_on(heap);
    for (const hn_json *b = hn_json_first(content); b; b = b->next)
        if (is_block(b, "thinking"))
            hn_str_add(&all, text_of(b, "thinking"));
    if (all.length) {
        hn_json_key(w, "reasoning_content");
        hn_json_add_string(w, all.text);
    }
    hn_str_end(&all, w->to);
}

static void add_call(hn_json_writer *w, const hn_json *block)
{
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, text_of(block, "id"));
    hn_json_key(w, "type");
    hn_json_add_string(w, "function");
    hn_json_key(w, "function");
    hn_json_begin_object(w);
    hn_json_key(w, "name");
    hn_json_add_string(w, text_of(block, "name"));
    hn_json_key(w, "arguments");
    hn_json_add_value(w, hn_json_get(block, "input"));
    hn_json_end_object(w);
    hn_json_end_object(w);
}

static bool add_said(hn_json_writer *w, hn_heap *heap, const hn_json *content, hn_failure *why)
{
    size_t n_calls = 0;
    if (!check_said(content, why))
        return false;
    begin_message(w, "assistant");
    hn_json_key(w, "content");
    hn_json_begin_array(w);
    for (const hn_json *b = hn_json_first(content); b; b = b->next) {
        n_calls += is_block(b, "tool_use");
        if (is_block(b, "text"))
            add_text(w, b);
    }
    hn_json_end_array(w);
    add_thoughts(w, heap, content);
    if (n_calls) {
        hn_json_key(w, "tool_calls");
        hn_json_begin_array(w);
        for (const hn_json *b = hn_json_first(content); b; b = b->next)
            if (is_block(b, "tool_use"))
                add_call(w, b);
        hn_json_end_array(w);
    }
    hn_json_end_object(w);
    return true;
}

static bool add_turn(hn_json_writer *w, hn_heap *heap, const hn_json *message, hn_failure *why)
{
    const char *role = text_of(message, "role");
    const hn_json *content = hn_json_get(message, "content");
    const bool is_user = !strcmp(role, "user"), is_system = !strcmp(role, "system");
    if (!is_user && !is_system && strcmp(role, "assistant") != 0)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "messages", "messages: a role of \"%.40s\": expected user, assistant or system", role);
    if (is_system && !check_texts(content, "messages", why))
        return false;
    if (is_system || (content && content->kind == HN_JSON_STRING)) {
        add_message(w, role, content);
        return true;
    }
    if (!content || content->kind != HN_JSON_ARRAY)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "messages", "messages: expected a text or blocks");
    return is_user ? add_user(w, content, why) : add_said(w, heap, content, why);
}

static bool add_messages(hn_json_writer *w, hn_heap *heap, const hn_json *body, hn_failure *why)
{
    const hn_json *messages = hn_field_of(body, "messages"), *system = hn_field_of(body, "system"), *last = NULL;
    if (!messages || !hn_json_count(messages))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "messages", "messages: expected at least one");
    if (system && !check_texts(system, "system", why))
        return false;
    hn_json_key(w, "messages");
    hn_json_begin_array(w);
    if (system && (hn_json_bytes(system) || hn_json_count(system))) /* as the API has it: an empty one is none */
        add_message(w, "system", system);
    for (const hn_json *m = hn_json_first(messages); m; m = m->next) {
        last = m;
        if (!add_turn(w, heap, m, why))
            return false;
    }
    hn_json_end_array(w);
    if (!strcmp(text_of(last, "role"), "assistant")) {
        hn_json_key(w, "continue_final_message");
        hn_json_add_bool(w, true);
    }
    return true;
}

/* ---- tools ---- */

static bool add_tool(hn_json_writer *w, const hn_json *tool, size_t number, hn_failure *why)
{
    const hn_field_way way = hn_field_way_at("", "tools", number);
    const hn_json *cache = hn_field_of(tool, "cache_control");
    static const char *const named[][2] = { { "name", "name" }, { "description", "description" }, { "input_schema", "parameters" }, { "strict", "strict" } };
    const char *type = text_of(tool, "type");
    if (*type && strcmp(type, "custom") != 0)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "tools", "tools: type %.60s: expected tools of the client's own", type);
    if (!hn_fields_check_within(&hn_fields_message_tool, way.text, tool, why) ||
        (cache && !hn_fields_check_within(&hn_fields_cache_control, hn_field_way_to(way.text, "cache_control").text, cache, why)))
        return false;
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, "function");
    hn_json_key(w, "function");
    hn_json_begin_object(w);
    for (int i = 0; i < 4; i++)
        if (hn_field_of(tool, named[i][0])) {
            hn_json_key(w, named[i][1]);
            hn_json_add_value(w, hn_field_of(tool, named[i][0]));
        }
    hn_json_end_object(w);
    hn_json_end_object(w);
    return true;
}

/* {"type": "auto" | "any" | "tool" | "none", "name", "disable_parallel_tool_use"} */
static bool add_choice(hn_json_writer *w, const hn_json *choice, hn_failure *why)
{
    const char *type = text_of(choice, "type");
    const char *word = !strcmp(type, "any") ? "required" : type;
    if (strcmp(type, "auto") != 0 && strcmp(type, "any") != 0 && strcmp(type, "none") != 0 && strcmp(type, "tool") != 0)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "tool_choice", "tool_choice: expected type auto, any, tool or none, found \"%.40s\"", type);
    if (!hn_fields_check_within(&hn_fields_message_choice, "tool_choice.", choice, why) ||
        !hn_field_is_of(choice, "tool_choice.", "name", "tool", why))
        return false;
    hn_json_key(w, "tool_choice");
    if (!strcmp(type, "tool")) {
        hn_json_begin_object(w);
        hn_json_key(w, "type");
        hn_json_add_string(w, "function");
        hn_json_key(w, "function");
        hn_json_begin_object(w);
        hn_json_key(w, "name");
        hn_json_add_string(w, text_of(choice, "name"));
        hn_json_end_object(w);
        hn_json_end_object(w);
    } else
        hn_json_add_string(w, word);
    hn_json_key(w, "parallel_tool_calls");
    hn_json_add_bool(w, !hn_field_bool(choice, "disable_parallel_tool_use", false));
    return true;
}

static bool add_tools(hn_json_writer *w, const hn_json *body, hn_failure *why)
{
    const hn_json *tools = hn_field_of(body, "tools"), *choice = hn_field_of(body, "tool_choice");
    size_t i = 0;
    if (tools) {
        hn_json_key(w, "tools");
        hn_json_begin_array(w);
        for (const hn_json *t = hn_json_first(tools); t; t = t->next)
            if (!add_tool(w, t, i++, why))
                return false;
        hn_json_end_array(w);
    }
    return !choice || add_choice(w, choice, why);
}

/* ---- thoughts, and the form of the text ---- */

/* {"type": "enabled", "budget_tokens": N} | {"type": "disabled"} | {"type": "adaptive"}, which is as it is without. */
static bool add_thinking(hn_json_writer *w, const hn_json *thinking, hn_failure *why)
{
    const char *type = text_of(thinking, "type");
    const bool is_on = !strcmp(type, "enabled"), is_adaptive = !strcmp(type, "adaptive");
    if (!thinking)
        return true;
    if (!is_on && !is_adaptive && strcmp(type, "disabled") != 0)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "thinking", "thinking: expected type enabled, disabled or adaptive, found \"%.40s\"", type);
    if (!hn_fields_check_within(&hn_fields_thinking, "thinking.", thinking, why) ||
        !hn_field_is_of(thinking, "thinking.", "budget_tokens", "enabled", why))
        return false;
    if (is_adaptive)
        return true;
    hn_json_key(w, "enable_thinking");
    hn_json_add_bool(w, is_on);
    const int64_t budget = hn_field_int(thinking, "budget_tokens", 0);
    if (is_on && (budget < 1 || budget > 65536))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "thinking", "thinking: expected budget_tokens of 1 to 65536, found %lld", (long long)budget);
    if (is_on) {
        hn_json_key(w, "thinking_budget");
        hn_json_add_int(w, budget);
    }
    return true;
}

/* {"format": {"type": "json_schema", "schema": ...}, "effort": ...} */
static bool add_output(hn_json_writer *w, const hn_json *config, hn_failure *why)
{
    const hn_json *format = hn_field_of(config, "format"), *effort = hn_field_of(config, "effort");
    if (config && !hn_fields_check_within(&hn_fields_output_config, "output_config.", config, why))
        return false;
    if (effort) {
        hn_json_key(w, "reasoning_effort");
        hn_json_add_value(w, effort);
    }
    if (!format)
        return true;
    if (strcmp(text_of(format, "type"), "json_schema") != 0 || !hn_field_of(format, "schema"))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "output_config", "output_config: expected a format of type json_schema, with a schema");
    if (!hn_fields_check_within(&hn_fields_output_format, "output_config.format.", format, why))
        return false;
    hn_json_key(w, "response_format");
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, "json_schema");
    hn_json_key(w, "json_schema");
    hn_json_begin_object(w);
    hn_json_key(w, "schema");
    hn_json_add_value(w, hn_field_of(format, "schema"));
    hn_json_end_object(w);
    hn_json_end_object(w);
    return true;
}

bool hn_anthropic_translate(hn_answer *a, hn_failure *why)
{
    static const char *const fields[][2] = { { "model", "model" },   { "max_tokens", "max_tokens" },   { "temperature", "temperature" },
                                             { "top_p", "top_p" },   { "top_k", "top_k" },             { "stop_sequences", "stop" },
                                             { "stream", "stream" }, { "seed", "seed" },               { "recipe", "recipe" } };
    const hn_json *b = a->body;
    if (hn_field_bool(b, "recipe", false) && hn_field_bool(b, "stream", false)) /* its events have no place for one */
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "recipe", "recipe: not of a stream");
    hn_str out = hn_str_on(a->heap);
    hn_json_writer w = hn_json_write_to(&out);
    hn_json_begin_object(&w);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (hn_field_of(b, fields[i][0])) {
            hn_json_key(&w, fields[i][1]);
            hn_json_add_value(&w, hn_field_of(b, fields[i][0]));
        }
    bool is_well = hn_check_anthropic_body(b, why) && add_messages(&w, a->heap, b, why) && add_tools(&w, b, why) &&
                   add_thinking(&w, hn_field_of(b, "thinking"), why) &&
                   add_output(&w, hn_field_of(b, "output_config"), why);
    hn_json_end_object(&w);
    is_well = is_well && hn_answer_translate(a, &out, why);
    hn_str_free(&out);
    return is_well;
}
