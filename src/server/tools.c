/* Checked in OpenAI's form once for all APIs. What a model may write is then rules: of the tools that may be
 * called, not of those that it is shown. */
#include "server/tools.h"

#include "server/fields.h"

#include <string.h>

/* ---- what is asked for ---- */

static const char *name_of(const hn_json *tool)
{
    const hn_json *type = hn_json_get(tool, "type"), *name = hn_json_get(hn_json_get(tool, "function"), "name");
    const bool is_function = !strcmp(hn_json_string(type), "function");
    return is_function && name && name->kind == HN_JSON_STRING ? hn_json_string(name) : NULL;
}

static bool check_tool(const hn_json *tools, const hn_json *tool, hn_failure *why)
{
    const char *name = name_of(tool);
    const hn_json *parameters = hn_json_get(hn_json_get(tool, "function"), "parameters");
    if (!name || !*name || strlen(name) > 128 || strpbrk(name, " \n\"\\{}<>"))
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "tools", "tools: expected functions with a name, of at most 128 bytes without blanks, "
                                                                  "quotes and brackets");
    if (parameters && parameters->kind != HN_JSON_OBJECT && parameters->kind != HN_JSON_NULL)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "tools", "tools: parameters of %.80s: expected an object", name);
    for (const hn_json *t = hn_json_first(tools); t != tool; t = t->next)
        if (!strcmp(name_of(t), name))
            return hn_refuse_as(why, HN_REFUSED_INVALID, "tools", "tools: two of the name %.80s", name);
    return true;
}

static bool check_tools(const hn_json *tools, hn_failure *why)
{
    if (hn_json_count(tools) > HN_MOST_TOOLS)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "tools", "tools: expected at most %d, found %zu", HN_MOST_TOOLS, hn_json_count(tools));
    size_t i = 0;
    for (const hn_json *t = hn_json_first(tools); t; t = t->next) {
        const hn_field_way way = hn_field_way_at("", "tools", i++);
        if (!check_tool(tools, t, why) || !hn_fields_check_within(&hn_fields_tool, way.text, t, why) ||
            !hn_fields_check_within(&hn_fields_tool_function, hn_field_way_to(way.text, "function").text, hn_json_get(t, "function"), why))
            return false;
    }
    return true;
}

static const hn_json *tool_named(const hn_json *tools, const char *name)
{
    const hn_json *t = hn_json_first(tools);
    while (t && strcmp(name_of(t), name) != 0)
        t = t->next;
    return t;
}

static bool refuse_allowed(hn_failure *why, const char *found)
{
    return hn_refuse_as(why, HN_REFUSED_INVALID, "tool_choice",
                        "tool_choice: allowed_tools: expected a mode, auto or required, and functions of tools by their names, found %.80s", found);
}

static const char *text_of(const hn_json *object, const char *key)
{
    const hn_json *v = hn_json_get(object, key);
    return hn_json_string(v);
}

/* {"mode": "auto" | "required", "tools": [{"type": "function", "function": {"name": ...}}]}: the model is given all tools, and may call these. */
static bool take_allowed(hn_answer *a, const hn_json *allowed, const hn_json *tools, hn_failure *why)
{
    const char *mode = text_of(allowed, "mode");
    const hn_json *list = hn_json_get(allowed, "tools");
    hn_json_writer w = hn_json_write_to(&a->allowed);
    a->must_call = !strcmp(mode, "required");
    if (!a->must_call && strcmp(mode, "auto") != 0)
        return refuse_allowed(why, *mode ? mode : "no mode");
    if (!list || list->kind != HN_JSON_ARRAY || !hn_json_count(list) || hn_json_count(list) > HN_MOST_TOOLS)
        return refuse_allowed(why, "none, or too many");
    hn_json_begin_array(&w);
    for (const hn_json *t = hn_json_first(list); t; t = t->next) {
        const char *name = name_of(t);
        const hn_json *tool = name ? tool_named(tools, name) : NULL;
        if (!tool)
            return refuse_allowed(why, name ? name : "another");
        hn_json_add_value(&w, tool);
    }
    hn_json_end_array(&w);
    return hn_str_status(&a->allowed) == HN_OK || hn_refuse_by(why, HN_ERR_MEMORY, "tool_choice");
}

/* "none", "auto", "required", {"type": "function", "function": {"name": ...}}, or {"type": "allowed_tools", ...}. *is_none: as if there were
 * no tools. */
static bool take_choice(hn_answer *a, const hn_json *choice, const hn_json *tools, bool *is_none, hn_failure *why)
{
    const char *word = choice->kind == HN_JSON_STRING ? hn_json_string(choice) : NULL, *name = name_of(choice);
    *is_none = word && !strcmp(word, "none");
    if (*is_none || (word && !strcmp(word, "auto")))
        return true;
    if (!strcmp(text_of(choice, "type"), "allowed_tools"))
        return take_allowed(a, hn_json_get(choice, "allowed_tools"), tools, why);
    if (!name && !(word && !strcmp(word, "required")))
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "tool_choice", "tool_choice: expected none, auto, required, a function by its name or allowed_tools");
    a->must_call = true;
    a->only = name;
    if (name ? tool_named(tools, name) != NULL : tools && hn_json_count(tools))
        return true;
    return hn_refuse_as(why, HN_REFUSED_INVALID, "tool_choice", "tool_choice: there is no tool %.80s", name ? name : "at all");
}

static bool check_allowed(const hn_json *allowed, hn_failure *why)
{
    const hn_json *tools = hn_field_of(allowed, "tools");
    size_t i = 0;
    if (!hn_fields_check_within(&hn_fields_allowed_tools, "tool_choice.allowed_tools.", allowed, why))
        return false;
    for (const hn_json *t = hn_json_at(tools, 0); t; t = t->next) {
        const hn_field_way way = hn_field_way_at("tool_choice.allowed_tools.", "tools", i++);
        if (!hn_fields_check_within(&hn_fields_allowed_tool, way.text, t, why) ||
            !hn_fields_check_within(&hn_fields_choice_function, hn_field_way_to(way.text, "function").text, hn_json_get(t, "function"), why))
            return false;
    }
    return true;
}

/* Of one that names a tool, or several. */
static bool check_choice(const hn_json *choice, hn_failure *why)
{
    const hn_json *function = hn_field_of(choice, "function"), *allowed = hn_field_of(choice, "allowed_tools");
    if (choice->kind != HN_JSON_OBJECT)
        return true;
    return hn_fields_check_within(&hn_fields_tool_choice, "tool_choice.", choice, why) &&
           hn_field_is_of(choice, "tool_choice.", "function", "function", why) &&
           hn_field_is_of(choice, "tool_choice.", "allowed_tools", "allowed_tools", why) &&
           (!function || hn_fields_check_within(&hn_fields_choice_function, "tool_choice.function.", function, why)) &&
           (!allowed || check_allowed(allowed, why));
}

bool hn_tools_take(hn_answer *a, hn_failure *why)
{
    const hn_json *tools = hn_field_of(a->body, "tools"), *choice = hn_field_of(a->body, "tool_choice");
    bool is_none = false;
    a->calls_once = !hn_field_bool(a->body, "parallel_tool_calls", true);
    a->most_thought = hn_field_int(a->body, "thinking_budget", 0);
    if (tools && !check_tools(tools, why))
        return false;
    if (choice && (!take_choice(a, choice, tools, &is_none, why) || !check_choice(choice, why)))
        return false;
    if ((a->must_call || a->most_thought) && a->grammar_text.length && a->grammar_kind == HN_LM_GBNF)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "grammar", "grammar: found %s too", a->must_call ? "tool_choice" : "thinking_budget");
    if (!tools || !hn_json_count(tools) || is_none)
        return true;
    hn_json_writer w = hn_json_write_to(&a->tools);
    hn_json_add_value(&w, tools);
    if (a->grammar_text.length && a->grammar_kind == HN_LM_JSON_SCHEMA)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "tools", "tools: found response_format, which holds the whole answer");
    return hn_str_status(&a->tools) == HN_OK || hn_refuse_by(why, HN_ERR_MEMORY, "tools");
}

/* ---- what it is held to ---- */

static hn_status write_rules(const hn_answer *a, const hn_lm_rules_options *o, hn_str *out)
{
    size_t bytes = 0;
    HN_TRY(hn_lm_answer_rules(a->model->lm, o, NULL, 0, &bytes));
    char *text = hn_alloc(a->heap, HN_TAG_TEXT, bytes + 1);
    if (!text)
        return HN_ERR_MEMORY;
    const hn_status status = hn_lm_answer_rules(a->model->lm, o, text, bytes + 1, &bytes);
    hn_str_clear(out);
    hn_str_add_bytes(out, text, bytes);
    hn_free(a->heap, text);
    return status == HN_OK ? hn_str_status(out) : status;
}

static bool knows_calls(const hn_answer *a, hn_failure *why)
{
    hn_lm_call_style style;
    const hn_status status = a->tools.length ? hn_lm_call_style_of(a->model->lm, a->model->o.calls, &style, sizeof style) : HN_OK;
    if (status == HN_ERR_UNSUPPORTED)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "tools", "tools: how %s writes calls is not known by its chat template; "
                            "`hone serve --calls json` takes objects of JSON for calls", a->model->name);
    return status == HN_OK || hn_refuse_by(why, status, "tools");
}

bool hn_tools_rule(hn_answer *a, hn_failure *why)
{
    const bool has_schema = a->grammar_text.length && a->grammar_kind == HN_LM_JSON_SCHEMA;
    const hn_prompt *p = &a->prompts[0];
    const hn_str *may_call = a->allowed.length ? &a->allowed : &a->tools;
    if (!knows_calls(a, why))
        return false;
    if (a->allowed.length && a->grammar_text.length)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "grammar", "grammar: found allowed_tools too");
    if ((a->grammar_text.length && !a->most_thought) || (!a->tools.length && !a->most_thought))
        return true; /* a grammar of the request's own, and its schema, hold the whole answer */
    const hn_lm_rules_options o = { .size = sizeof o, .tools = may_call->length ? may_call->text : NULL, .only = a->only, .family = a->model->o.calls,
                                    .must_call = a->must_call, .once = a->calls_once, .thought = a->most_thought,
                                    .schema = has_schema ? a->grammar_text.text : NULL, .prompt = p->ids, .n_prompt = (int64_t)p->n };
    hn_str rules = hn_str_on(a->heap);
    const hn_status status = write_rules(a, &o, &rules);
    hn_str_free(&a->grammar_text);
    a->grammar_text = rules;
    a->grammar_kind = HN_LM_GBNF;
    a->grammar_of = a->tools.length ? "tools" : has_schema ? "response_format" : "thinking_budget";
    if (status == HN_OK && a->allowed.length && !a->grammar_text.length)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "tool_choice",
                            "tool_choice: allowed_tools of mode auto: how this model writes calls is held to no rules, expected required");
    return status == HN_OK || hn_refuse_by(why, status, a->tools.length ? "tools" : "thinking_budget");
}
