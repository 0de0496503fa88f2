/* A field is named by the way to it: messages[3].content[0].text. */
#include "server/message_fields.h"

#include <stdio.h>
#include <string.h>

static const char *type_of(const hn_json *object)
{
    const hn_json *type = hn_json_get(object, "type");
    return hn_json_string(type);
}

typedef struct typed {
    const char *type;
    const hn_fields *fields;
} typed;

static const hn_fields *fields_of(const typed *list, const char *type)
{
    while (list->type && strcmp(list->type, type) != 0)
        list++;
    return list->fields;
}

/* An object's own, if it is there; one of another kind its row has refused. */
static bool check_own(const hn_fields *fields, const char *way, const hn_json *object, const char *name, hn_failure *why)
{
    const hn_json *own = hn_field_of(object, name);
    const hn_field_way to = hn_field_way_to(way, name);
    return !own || hn_fields_check_within(fields, to.text, own, why);
}

static bool check_each(const hn_fields *fields, const char *way, const hn_json *object, const char *name, hn_failure *why)
{
    const hn_json *list = hn_field_of(object, name);
    size_t i = 0;
    for (const hn_json *v = hn_json_at(list, 0); v; v = v->next)
        if (!hn_fields_check_within(fields, hn_field_way_at(way, name, i++).text, v, why))
            return false;
    return true;
}

/* One of another type than these is refused by who reads it, as that. */
static bool check_typed(const typed *known, const char *way, const hn_json *object, const char *name, hn_failure *why)
{
    const hn_json *list = hn_field_of(object, name);
    size_t i = 0;
    for (const hn_json *v = hn_json_at(list, 0); v; v = v->next, i++) {
        const hn_fields *fields = fields_of(known, type_of(v));
        if (fields && !hn_fields_check_within(fields, hn_field_way_at(way, name, i).text, v, why))
            return false;
    }
    return true;
}

/* ---- of OpenAI's chats, and of Ollama's ---- */

static bool check_calls(const hn_fields *call, const hn_fields *function, const char *way, const hn_json *message, hn_failure *why)
{
    const hn_json *calls = hn_field_of(message, "tool_calls");
    size_t i = 0;
    if (!check_each(call, way, message, "tool_calls", why))
        return false;
    for (const hn_json *c = hn_json_at(calls, 0); c; c = c->next)
        if (!check_own(function, hn_field_way_at(way, "tool_calls", i++).text, c, "function", why))
            return false;
    return true;
}

typedef struct messages {
    const hn_fields *message, *call, *function; /* a message, a call in it, and what it calls */
    const typed *parts;                         /* of its content */
} messages;

/* Templates take one without for nobody's, and pass over it. */
static bool has_role(const char *way, const hn_json *message, hn_failure *why)
{
    char name[128];
    snprintf(name, sizeof name, "%.100srole", way);
    return hn_field_of(message, "role") || hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, name, "%s: expected a string, found none", name);
}

static bool check_messages(const messages *of, const hn_json *list, hn_failure *why)
{
    size_t i = 0;
    for (const hn_json *m = hn_json_at(list, 0); m; m = m->next) {
        const hn_field_way way = hn_field_way_at("", "messages", i++);
        if (!hn_fields_check_within(of->message, way.text, m, why) || !has_role(way.text, m, why) ||
            !check_typed(of->parts, way.text, m, "content", why) || !check_calls(of->call, of->function, way.text, m, why))
            return false;
    }
    return true;
}

bool hn_check_chat_messages(const hn_json *list, hn_failure *why)
{
    static const typed parts[] = { { "text", &hn_fields_content_part }, { "refusal", &hn_fields_content_part }, { 0 } };
    static const messages of = { &hn_fields_chat_message, &hn_fields_message_call, &hn_fields_call_function, parts };
    return check_messages(&of, list, why);
}

bool hn_check_ollama_messages(const hn_json *list, hn_failure *why)
{
    static const typed none[] = { { 0 } };
    static const messages of = { &hn_fields_ollama_message, &hn_fields_ollama_call, &hn_fields_ollama_call_function, none };
    return check_messages(&of, list, why);
}

/* ---- of Anthropic's ---- */

/* Blocks, and those within the result of a tool. */
static bool check_blocks(const typed *blocks, const char *way, const hn_json *object, const char *name, hn_failure *why)
{
    static const typed texts[] = { { "text", &hn_fields_text_block }, { 0 } };
    const hn_json *list = hn_field_of(object, name);
    size_t i = 0;
    for (const hn_json *b = hn_json_at(list, 0); b; b = b->next) {
        const hn_field_way to = hn_field_way_at(way, name, i++);
        const hn_fields *fields = fields_of(blocks, type_of(b));
        if (!fields)
            continue;
        if (!hn_fields_check_within(fields, to.text, b, why) || !check_own(&hn_fields_cache_control, to.text, b, "cache_control", why) ||
            !check_own(&hn_fields_caller, to.text, b, "caller", why))
            return false;
        if (fields == &hn_fields_tool_result_block && !check_blocks(texts, to.text, b, "content", why))
            return false;
    }
    return true;
}

bool hn_check_anthropic_body(const hn_json *body, hn_failure *why)
{
    static const typed blocks[] = { { "text", &hn_fields_text_block }, { "thinking", &hn_fields_thinking_block }, { "tool_use", &hn_fields_tool_use_block },
                                    { "tool_result", &hn_fields_tool_result_block }, { 0 } };
    const hn_json *turns = hn_field_of(body, "messages");
    size_t i = 0;
    for (const hn_json *m = hn_json_at(turns, 0); m; m = m->next) {
        const hn_field_way way = hn_field_way_at("", "messages", i++);
        if (!hn_fields_check_within(&hn_fields_turn, way.text, m, why) || !check_blocks(blocks, way.text, m, "content", why))
            return false;
    }
    return check_blocks(blocks, "", body, "system", why) && check_own(&hn_fields_message_metadata, "", body, "metadata", why) &&
           check_own(&hn_fields_cache_control, "", body, "cache_control", why);
}

/* ---- of responses ---- */

bool hn_check_item(const hn_json *item, size_t number, hn_failure *why)
{
    static const typed items[] = { { "message", &hn_fields_item_message }, { "", &hn_fields_item_message }, { "function_call", &hn_fields_item_call },
                                   { "function_call_output", &hn_fields_item_output }, { "reasoning", &hn_fields_item_reasoning },
                                   { "item_reference", &hn_fields_item_reference }, { 0 } };
    static const typed parts[] = { { "input_text", &hn_fields_item_part }, { "output_text", &hn_fields_item_part }, { "text", &hn_fields_item_part },
                                   { "reasoning_text", &hn_fields_item_part }, { "refusal", &hn_fields_item_part }, { 0 } };
    const hn_fields *fields = fields_of(items, type_of(item));
    const hn_field_way way = hn_field_way_at("", "input", number);
    return !fields || (hn_fields_check_within(fields, way.text, item, why) && check_own(&hn_fields_caller, way.text, item, "caller", why) &&
                       check_typed(parts, way.text, item, "content", why) && check_typed(parts, way.text, item, "output", why));
}
