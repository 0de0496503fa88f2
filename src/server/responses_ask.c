/* What POST /v1/responses asks for, in the form of OpenAI's chats: items become messages. What a model said lies in several items, and
 * is one message: a thought, a text, calls. */
#include "server/message_fields.h"
#include "server/responses_form.h"
#include "server/server_state.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const hn_json *object, const char *key)
{
    const hn_json *v = hn_json_get(object, key);
    return hn_json_string(v);
}

static bool is_of(const hn_json *item, const char *type) { return !strcmp(text_of(item, "type"), type); }

/* ---- items as they are kept ---- */

/* Of a part: what is said, or that it is not. */
static const hn_json *said_by(const hn_json *part) { return hn_json_get(part, is_of(part, "refusal") ? "refusal" : "text"); }

/* Types of parts that are texts, by who says them. */
static bool check_part(const hn_json *part, hn_failure *why)
{
    const hn_json *text = said_by(part);
    const bool is_text = is_of(part, "refusal") || is_of(part, "input_text") || is_of(part, "output_text") || is_of(part, "text") ||
                         is_of(part, "reasoning_text");
    return (is_text && text && text->kind == HN_JSON_STRING) ||
           hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "input", "input: a part of type \"%.40s\": expected texts", text_of(part, "type"));
}

static bool check_parts(const hn_json *parts, hn_failure *why)
{
    if (parts && parts->kind == HN_JSON_STRING)
        return true;
    if (!parts || parts->kind != HN_JSON_ARRAY)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: expected a text or parts");
    for (const hn_json *p = hn_json_first(parts); p; p = p->next)
        if (!check_part(p, why))
            return false;
    return true;
}

static bool check_item(const hn_json *item, hn_failure *why)
{
    static const char *const roles[] = { "user", "assistant", "system", "developer" };
    const hn_json *content = hn_json_get(item, "content");
    const char *role = text_of(item, "role");
    int i = 0;
    if (item->kind != HN_JSON_OBJECT)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: expected items, objects");
    if (is_of(item, "function_call_output"))
        return (*text_of(item, "call_id") || hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: function_call_output: expected call_id")) &&
               check_parts(hn_json_get(item, "output"), why);
    if (is_of(item, "function_call"))
        return (*text_of(item, "call_id") && *text_of(item, "name")) ||
               hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: function_call: expected call_id, name and arguments");
    if (is_of(item, "reasoning"))
        return !content || content->kind == HN_JSON_NULL || check_parts(content, why);
    if (*text_of(item, "type") && !is_of(item, "message"))
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "input",
                            "input: an item of type \"%.40s\": expected message, function_call, function_call_output, reasoning or item_reference",
                            text_of(item, "type"));
    while (i < 4 && strcmp(roles[i], role) != 0)
        i++;
    return (i < 4 || hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: a role of \"%.40s\": expected user, assistant, system or developer", role)) &&
           check_parts(content, why);
}

static void begin_kept(hn_json_writer *w, const hn_answer *a, const hn_json *item, size_t number)
{
    char id[96];
    snprintf(id, sizeof id, "in_%.40s_%zu", a->id, number);
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, *text_of(item, "id") ? text_of(item, "id") : id);
    hn_json_key(w, "type");
    hn_json_add_string(w, *text_of(item, "type") ? text_of(item, "type") : "message");
}

/* A text as one part. */
static void add_parts(hn_json_writer *w, const char *role, const hn_json *content)
{
    const bool is_said = !strcmp(role, "assistant");
    if (content->kind == HN_JSON_ARRAY) {
        hn_json_add_value(w, content);
        return;
    }
    hn_json_begin_array(w);
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, is_said ? "output_text" : "input_text");
    hn_json_key(w, "text");
    hn_json_add_value(w, content);
    if (is_said) {
        hn_json_key(w, "annotations");
        hn_json_begin_array(w);
        hn_json_end_array(w);
    }
    hn_json_end_object(w);
    hn_json_end_array(w);
}

/* With an id, a type and parts, whatever it was written with. */
static void keep_item(hn_answer *a, const hn_json *item, size_t number)
{
    hn_json_writer w = hn_json_write_to(&a->items);
    const char *role = text_of(item, "role");
    hn_str_add(&a->items, a->items.length ? "," : "");
    begin_kept(&w, a, item, number);
    for (const hn_json *v = hn_json_first(item); v; v = v->next) {
        if (!strcmp(v->key, "id") || !strcmp(v->key, "type"))
            continue;
        hn_json_key(&w, v->key);
        if (!strcmp(v->key, "content") && *role)
            add_parts(&w, role, v);
        else
            hn_json_add_value(&w, v);
    }
    hn_json_end_object(&w);
}

static void keep_text(hn_answer *a, const hn_json *text)
{
    const hn_json none = { .kind = HN_JSON_OBJECT };
    hn_json_writer w = hn_json_write_to(&a->items);
    hn_str_add(&a->items, a->items.length ? "," : "");
    begin_kept(&w, a, &none, 0);
    hn_json_key(&w, "role");
    hn_json_add_string(&w, "user");
    hn_json_key(&w, "content");
    add_parts(&w, "user", text);
    hn_json_end_object(&w);
}

/* The id of the response that an item with an id of the server's own came out of, or went into: KIND_ID_NUMBER. False: it is none. */
static bool response_of(const char *item, char *to, size_t room)
{
    const char *begin = strchr(item, '_'), *end = strrchr(item, '_');
    const int n = begin && end > begin ? (int)(end - begin - 1) : 0;
    return n > 0 && (size_t)n + 8 < room && snprintf(to, room, "resp_%.*s", n, begin + 1) > 0;
}

/* The item of this id, of a response that is kept, as it stands there. */
static bool keep_reference(hn_answer *a, const hn_json *reference, hn_failure *why)
{
    char response[128];
    const char *id = text_of(reference, "id");
    hn_str all = hn_str_on(a->heap), out = hn_str_on(a->heap);
    hn_json_text *read = NULL;
    const hn_json *item = NULL;
    hn_str_add_char(&all, '[');
    if (response_of(id, response, sizeof response) && hn_responses_find(&a->server->responses, a->asker, response, NULL, &all, &out)) {
        hn_str_print(&all, "%s%s]", all.length > 1 && out.length ? "," : "", out.text);
        if (hn_str_status(&all) == HN_OK && hn_json_read(a->heap, "item_reference", all.text, all.length, &read) == HN_OK)
            item = hn_json_first(hn_json_root(read));
        while (item && strcmp(text_of(item, "id"), id) != 0)
            item = item->next;
    }
    const bool lacks_memory = hn_str_status(&all) != HN_OK || hn_str_status(&out) != HN_OK || (all.length > 1 && !read);
    if (item) {
        hn_json_writer w = hn_json_write_to(&a->items);
        hn_str_add(&a->items, a->items.length ? "," : "");
        hn_json_add_value(&w, item);
    }
    hn_json_free(read);
    hn_str_free(&all);
    hn_str_free(&out);
    if (lacks_memory)
        return hn_refuse_by(why, HN_ERR_MEMORY, "input");
    return item || hn_refuse_as(why, HN_REFUSED_NO_OBJECT, "input", "input: item_reference: there is no item %.100s", id);
}

/* One of them as often as the limit of what is kept allows: each may be as large as that. */
static bool take_item(hn_answer *a, const hn_json *item, size_t number, int *n_references, hn_failure *why)
{
    enum { MOST_REFERENCES = 64 };
    if (!hn_check_item(item, number, why))
        return false;
    if (is_of(item, "item_reference")) {
        if (++*n_references > MOST_REFERENCES || (int64_t)a->items.length > a->server->responses.limits.bytes)
            return hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: expected at most %d references, to items of %lld bytes together", MOST_REFERENCES,
                                (long long)a->server->responses.limits.bytes);
        return keep_reference(a, item, why);
    }
    if (!check_item(item, why))
        return false;
    keep_item(a, item, number);
    return true;
}

/* Those of what it goes on from, and its own. */
static bool keep_items(hn_answer *a, hn_failure *why)
{
    const hn_json *input = hn_field_of(a->body, "input");
    const char *before = hn_field_text(a->body, "previous_response_id", NULL);
    size_t number = 0;
    int n_references = 0;
    hn_str out = hn_str_on(a->heap);
    const bool is_there = !before || hn_responses_find(&a->server->responses, a->asker, before, NULL, &a->items, &out);
    hn_str_add(&a->items, a->items.length && out.length ? "," : "");
    hn_str_add(&a->items, out.text);
    hn_str_end(&out, &a->items);
    if (!is_there)
        return hn_refuse_as(why, HN_REFUSED_NO_OBJECT, "previous_response_id", "previous_response_id: there is no response %.100s", before);
    if (input && input->kind == HN_JSON_STRING)
        keep_text(a, input);
    for (const hn_json *v = hn_json_at(input, 0); v; v = v->next)
        if (!take_item(a, v, number++, &n_references, why))
            return false;
    if (hn_str_status(&a->items) != HN_OK)
        return hn_refuse_by(why, HN_ERR_MEMORY, "input");
    return a->items.length || hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "input", "input: expected a text or items");
}

/* ---- items as messages ---- */

/* What a model said, until somebody else speaks. */
typedef struct turns {
    hn_json_writer *w;
    hn_str text, thought, calls;
    hn_json_writer calls_w;
    bool has_text, has_thought, has_calls;
} turns;

static void begin_message(hn_json_writer *w, const char *role)
{
    hn_json_begin_object(w);
    hn_json_key(w, "role");
    hn_json_add_string(w, role);
    hn_json_key(w, "content");
}

static void flush(turns *t)
{
    if (!t->has_text && !t->has_thought && !t->has_calls)
        return;
    begin_message(t->w, "assistant");
    hn_json_add_string(t->w, t->text.text);
    if (t->has_thought) {
        hn_json_key(t->w, "reasoning_content");
        hn_json_add_string(t->w, t->thought.text);
    }
    if (t->has_calls) {
        hn_json_end_array(&t->calls_w);
        hn_json_key(t->w, "tool_calls");
        hn_json_add_json(t->w, t->calls.text, t->calls.length);
    }
    hn_json_end_object(t->w);
    hn_str_clear(&t->text);
    hn_str_clear(&t->thought);
    hn_str_clear(&t->calls);
    t->has_text = t->has_thought = t->has_calls = false;
}

static void join(hn_str *to, const hn_json *parts)
{
    if (parts && parts->kind == HN_JSON_STRING)
        hn_str_add(to, hn_json_string(parts));
    for (const hn_json *p = hn_json_at(parts, 0); p; p = p->next)
        hn_str_add(to, hn_json_string(said_by(p)));
}

static void add_thought(turns *t, const hn_json *item)
{
    if (t->has_text || t->has_calls)
        flush(t);
    join(&t->thought, hn_json_get(item, "content"));
    t->has_thought = t->thought.length > 0;
}

static void add_call(turns *t, const hn_json *item)
{
    if (!t->has_calls) {
        t->calls_w = hn_json_write_to(&t->calls);
        hn_json_begin_array(&t->calls_w);
    }
    t->has_calls = true;
    hn_json_writer *w = &t->calls_w;
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, text_of(item, "call_id"));
    hn_json_key(w, "type");
    hn_json_add_string(w, "function");
    hn_json_key(w, "function");
    hn_json_begin_object(w);
    hn_json_key(w, "name");
    hn_json_add_string(w, text_of(item, "name"));
    hn_json_key(w, "arguments");
    hn_json_add_string(w, *text_of(item, "arguments") ? text_of(item, "arguments") : "{}");
    hn_json_end_object(w);
    hn_json_end_object(w);
}

/* Texts of others: parts stay apart, a line each. */
static void add_other(turns *t, const char *role, const char *call, const hn_json *parts)
{
    flush(t);
    begin_message(t->w, role);
    if (parts->kind == HN_JSON_STRING)
        hn_json_add_value(t->w, parts);
    else {
        hn_json_begin_array(t->w);
        for (const hn_json *p = hn_json_first(parts); p; p = p->next) {
            hn_json_begin_object(t->w);
            hn_json_key(t->w, "type");
            hn_json_add_string(t->w, "text");
            hn_json_key(t->w, "text");
            hn_json_add_value(t->w, said_by(p));
            hn_json_end_object(t->w);
        }
        hn_json_end_array(t->w);
    }
    if (call) {
        hn_json_key(t->w, "tool_call_id");
        hn_json_add_string(t->w, call);
    }
    hn_json_end_object(t->w);
}

static void add_item(turns *t, const hn_json *item)
{
    const char *role = text_of(item, "role");
    if (is_of(item, "reasoning"))
        add_thought(t, item);
    else if (is_of(item, "function_call"))
        add_call(t, item);
    else if (is_of(item, "function_call_output"))
        add_other(t, "tool", text_of(item, "call_id"), hn_json_get(item, "output"));
    else if (!strcmp(role, "assistant")) {
        if (t->has_text || t->has_calls)
            flush(t);
        join(&t->text, hn_json_get(item, "content"));
        t->has_text = true;
    } else
        add_other(t, !strcmp(role, "developer") ? "system" : role, NULL, hn_json_get(item, "content"));
}

static bool add_messages(hn_json_writer *w, hn_answer *a, hn_failure *why)
{
    const char *instructions = hn_field_text(a->body, "instructions", NULL);
    hn_str all = hn_str_on(a->heap);
    hn_json_text *items = NULL;
    hn_str_print(&all, "[%s]", a->items.text);
    all.status = all.status == HN_OK ? a->items.status : all.status;
    const hn_status status = hn_str_status(&all) == HN_OK ? hn_json_read(a->heap, "input", all.text, all.length, &items) : HN_ERR_MEMORY;
    hn_str_free(&all);
    if (status != HN_OK)
        return hn_refuse_by(why, status, "input");
    turns t = { .w = w, .text = hn_str_on(a->heap), .thought = hn_str_on(a->heap), .calls = hn_str_on(a->heap) };
    hn_json_key(w, "messages");
    hn_json_begin_array(w);
    if (instructions && *instructions) {
        begin_message(w, "system");
        hn_json_add_string(w, instructions);
        hn_json_end_object(w);
    }
    for (const hn_json *v = hn_json_first(hn_json_root(items)); v; v = v->next)
        add_item(&t, v);
    flush(&t);
    hn_json_end_array(w);
    const bool is_well = hn_str_status(&t.text) == HN_OK && hn_str_status(&t.thought) == HN_OK && hn_str_status(&t.calls) == HN_OK;
    hn_str_free(&t.text);
    hn_str_free(&t.thought);
    hn_str_free(&t.calls);
    hn_json_free(items);
    return is_well || hn_refuse_by(why, HN_ERR_MEMORY, "input");
}

/* ---- the rest ---- */

static void add_function(hn_json_writer *w, const hn_json *tool)
{
    static const char *const keys[] = { "name", "description", "parameters", "strict" };
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, "function");
    hn_json_key(w, "function");
    hn_json_begin_object(w);
    for (int i = 0; i < 4; i++)
        if (hn_field_of(tool, keys[i])) {
            hn_json_key(w, keys[i]);
            hn_json_add_value(w, hn_field_of(tool, keys[i]));
        }
    hn_json_end_object(w);
    hn_json_end_object(w);
}

static bool check_choice(const hn_json *choice, hn_failure *why)
{
    const hn_json *tools = hn_field_of(choice, "tools");
    size_t i = 0;
    if (!hn_fields_check_within(&hn_fields_response_choice, "tool_choice.", choice, why) ||
        !hn_field_is_of(choice, "tool_choice.", "name", "function", why) ||
        !hn_field_is_of(choice, "tool_choice.", "mode", "allowed_tools", why) ||
        !hn_field_is_of(choice, "tool_choice.", "tools", "allowed_tools", why))
        return false;
    for (const hn_json *t = hn_json_at(tools, 0); t; t = t->next, i++)
        if (is_of(t, "function") && !hn_fields_check_within(&hn_fields_response_allowed_tool, hn_field_way_at("tool_choice.", "tools", i).text, t, why))
            return false;
    return true;
}

/* {"type": "allowed_tools", "mode", "tools": [{"type": "function", "name"}]} */
static void add_allowed(hn_json_writer *w, const hn_json *choice)
{
    const hn_json *tools = hn_json_get(choice, "tools");
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, "allowed_tools");
    hn_json_key(w, "allowed_tools");
    hn_json_begin_object(w);
    hn_json_key(w, "mode");
    hn_json_add_string(w, text_of(choice, "mode"));
    hn_json_key(w, "tools");
    hn_json_begin_array(w);
    for (const hn_json *t = hn_json_at(tools, 0); t; t = t->next)
        if (is_of(t, "function"))
            add_function(w, t);
        else
            hn_json_add_value(w, t); /* refused by name */
    hn_json_end_array(w);
    hn_json_end_object(w);
    hn_json_end_object(w);
}

static bool add_tools(hn_json_writer *w, const hn_json *body, hn_failure *why)
{
    const hn_json *tools = hn_field_of(body, "tools"), *choice = hn_field_of(body, "tool_choice");
    if (tools) {
        hn_json_key(w, "tools");
        hn_json_begin_array(w);
        size_t i = 0;
        for (const hn_json *t = hn_json_first(tools); t; t = t->next) {
            if (!is_of(t, "function"))
                return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "tools", "tools: type \"%.40s\": expected function", text_of(t, "type"));
            if (!hn_fields_check_within(&hn_fields_response_tool, hn_field_way_at("", "tools", i++).text, t, why))
                return false;
            add_function(w, t);
        }
        hn_json_end_array(w);
    }
    if (!choice)
        return true;
    const bool is_allowed = is_of(choice, "allowed_tools");
    if (choice->kind == HN_JSON_OBJECT && !is_of(choice, "function") && !is_allowed)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "tool_choice", "tool_choice: type \"%.40s\": expected function or allowed_tools",
                            text_of(choice, "type"));
    if (choice->kind == HN_JSON_OBJECT && !check_choice(choice, why))
        return false;
    hn_json_key(w, "tool_choice");
    if (is_allowed)
        add_allowed(w, choice);
    else if (choice->kind == HN_JSON_OBJECT)
        add_function(w, choice);
    else
        hn_json_add_value(w, choice);
    return true;
}

/* text: {"format": {"type", "name", "schema", "strict"}, "verbosity"} */
static bool add_format(hn_json_writer *w, const hn_json *text, hn_failure *why)
{
    static const char *const needed[] = { "type", "schema" }, *const ways[] = { "text.format.type", "text.format.schema" };
    const hn_json *format = hn_field_of(text, "format");
    if (!hn_fields_check_within(&hn_fields_response_text, "text.", text, why))
        return false;
    if (!format)
        return true;
    if (!hn_fields_check_within(&hn_fields_text_format, "text.format.", format, why) ||
        !hn_field_is_of(format, "text.format.", "schema", "json_schema", why))
        return false;
    for (int i = 0; i < 2; i++) /* here: chats would name what is missing as they call it */
        if (!hn_field_of(format, needed[i]) && (!i || is_of(format, "json_schema")))
            return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, ways[i], "%s: expected %s, found none", ways[i], i ? "an object" : "a word");
    hn_json_key(w, "response_format");
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_value(w, hn_field_of(format, "type"));
    if (is_of(format, "json_schema")) {
        hn_json_key(w, "json_schema");
        hn_json_begin_object(w);
        hn_json_key(w, "schema");
        hn_json_add_value(w, hn_field_of(format, "schema"));
        hn_json_end_object(w);
    }
    hn_json_end_object(w);
    return true;
}

static bool add_reasoning(hn_json_writer *w, const hn_json *reasoning, hn_failure *why)
{
    if (!hn_fields_check_within(&hn_fields_response_reasoning, "reasoning.", reasoning, why))
        return false;
    if (hn_field_of(reasoning, "effort")) {
        hn_json_key(w, "reasoning_effort");
        hn_json_add_value(w, hn_field_of(reasoning, "effort"));
    }
    return true;
}

static bool add_scores(hn_json_writer *w, const hn_json *body, hn_failure *why)
{
    const hn_json *include = hn_field_of(body, "include");
    bool scores = hn_field_of(body, "top_logprobs") != NULL;
    for (const hn_json *v = hn_json_first(include); v; v = v->next) {
        const char *word = hn_json_string(v);
        if (strcmp(word, "message.output_text.logprobs") != 0 && strcmp(word, "reasoning.encrypted_content") != 0)
            return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "include", "include: %.60s: expected message.output_text.logprobs", word);
        scores |= word[0] == 'm';
    }
    hn_json_key(w, "logprobs");
    hn_json_add_bool(w, scores);
    return true;
}

bool hn_responses_translate(hn_answer *a, hn_failure *why)
{
    static const char *const fields[][2] = { { "model", "model" }, { "max_output_tokens", "max_completion_tokens" }, { "temperature", "temperature" },
                                             { "top_p", "top_p" }, { "top_logprobs", "top_logprobs" }, { "parallel_tool_calls", "parallel_tool_calls" },
                                             { "stream", "stream" }, { "seed", "seed" }, { "recipe", "recipe" }, { "thinking_budget", "thinking_budget" },
                                             { "grammar", "grammar" },
                                             { "chat_template_kwargs", "chat_template_kwargs" }, { "enable_thinking", "enable_thinking" } };
    const hn_json *b = a->body, *text = hn_field_of(b, "text"), *reasoning = hn_field_of(b, "reasoning"),
                  *options = hn_field_of(b, "stream_options");
    hn_str out = hn_str_on(a->heap);
    hn_json_writer w = hn_json_write_to(&out);
    hn_json_begin_object(&w);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (hn_field_of(b, fields[i][0])) {
            hn_json_key(&w, fields[i][1]);
            hn_json_add_value(&w, hn_field_of(b, fields[i][0]));
        }
    bool is_well = (!options || hn_fields_check_within(&hn_fields_response_stream_options, "stream_options.", options, why)) &&
                   keep_items(a, why) && add_messages(&w, a, why) && add_tools(&w, b, why) && (!text || add_format(&w, text, why)) &&
                   (!reasoning || add_reasoning(&w, reasoning, why)) && add_scores(&w, b, why);
    hn_json_end_object(&w);
    is_well = is_well && hn_answer_translate(a, &out, why);
    hn_str_free(&out);
    return is_well;
}
