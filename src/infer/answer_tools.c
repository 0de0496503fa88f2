/* A tool comes bare or as `function` of an object, and its parameters may be left out; both are settled here once. */
#include "infer/answer_tools.h"

#include <string.h>

static const hn_json *function_of(const hn_json *tool)
{
    const hn_json *f = hn_json_get(tool, "function");
    return f ? f : tool;
}

const char *hn_tool_name(const hn_json *tool)
{
    const hn_json *name = hn_json_get(function_of(tool), "name");
    return hn_json_string(name);
}

bool hn_tool_is_strict(const hn_json *tool, bool otherwise)
{
    const hn_json *strict = hn_json_get(function_of(tool), "strict");
    return strict && strict->kind == HN_JSON_BOOL ? hn_json_is_true(strict) : otherwise;
}

const hn_json *hn_tool_parameters(const hn_json *tool)
{
    const hn_json *p = hn_json_get(function_of(tool), "parameters");
    return p && p->kind == HN_JSON_OBJECT ? p : NULL;
}

bool hn_tool_requires(const hn_json *parameters, const char *name)
{
    const hn_json *list = hn_json_get(parameters, "required");
    for (const hn_json *v = hn_json_at(list, 0); v; v = v->next)
        if (v->kind == HN_JSON_STRING && !strcmp(hn_json_string(v), name))
            return true;
    return false;
}

static void add_schema(hn_str *to, const hn_json *schema)
{
    hn_json_writer w = hn_json_write_to(to);
    hn_str_add(to, "%json ");
    hn_json_add_value(&w, schema);
    hn_str_add_char(to, ' ');
}

void hn_rule_arguments(const hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    const hn_json *parameters = hn_tool_parameters(tool);
    if (!hn_tool_is_strict(tool, w->of->must_call))
        hn_str_add(to, "%json {\"type\":\"object\"} ");
    else if (!parameters)
        hn_str_add(to, "%json {\"type\":\"object\",\"additionalProperties\":false} ");
    else
        add_schema(to, parameters);
}

hn_status hn_tool_check_apart(const hn_json *tool)
{
    static const char *const unheld[] = { "$ref", "anyOf", "oneOf", "allOf", "patternProperties", "minProperties", "maxProperties" };
    const hn_json *parameters = hn_tool_parameters(tool);
    for (int i = 0; i < 7; i++)
        HN_REQUIRE(!hn_json_get(parameters, unheld[i]), HN_ERR_UNSUPPORTED,
                   "tools: %s of %.60s: calls of this model have parameters one by one, of which it is not held", unheld[i], hn_tool_name(tool));
    return HN_OK;
}

/* ---- values ---- */

void hn_rule_value(hn_str *to, const hn_json *schema, const hn_json *parameters)
{
    static const char *const shared[] = { "$defs", "definitions" };
    hn_json_writer w = hn_json_write_to(to);
    if (schema->kind != HN_JSON_OBJECT) {
        hn_str_add(to, "%json {} ");
        return;
    }
    hn_str_add(to, "%json ");
    hn_json_begin_object(&w);
    for (const hn_json *v = hn_json_first(schema); v; v = v->next) {
        hn_json_key(&w, v->key);
        hn_json_add_value(&w, v);
    }
    for (int i = 0; i < 2; i++)
        if (hn_json_get(parameters, shared[i]) && !hn_json_get(schema, shared[i])) {
            hn_json_key(&w, shared[i]);
            hn_json_add_value(&w, hn_json_get(parameters, shared[i]));
        }
    hn_json_end_object(&w);
    hn_str_add_char(to, ' ');
}

hn_status hn_rule_text_value(hn_rule_writer *w, hn_str *to, const hn_json *schema, bool is_exact, const char *end, const char *without)
{
    static const char *const unheld[] = { "pattern", "format", "minLength", "maxLength", "const" };
    const hn_json *values = hn_json_get(schema, "enum");
    for (int i = 0; i < 5; i++)
        HN_REQUIRE(!is_exact || !hn_json_get(schema, unheld[i]), HN_ERR_UNSUPPORTED,
                   "tools: %s of parameter %.60s: calls of this model have texts without quotes, of which it is not held", unheld[i],
                   schema->key ? schema->key : "");
    if (!values || values->kind != HN_JSON_ARRAY) {
        hn_rule_until(w, to, end, without, NULL);
        return HN_OK;
    }
    hn_str_add(to, "( ");
    for (const hn_json *v = hn_json_first(values); v; v = v->next) {
        HN_REQUIRE(v->kind == HN_JSON_STRING && hn_json_bytes(v), HN_ERR_UNSUPPORTED,
                   "tools: enum of parameter %.60s: expected texts that are not empty", schema->key ? schema->key : "");
        hn_rule_text(to, hn_json_string(v));
        hn_str_add(to, v->next ? "| " : ") ");
    }
    hn_rule_mark(w, to, end);
    return HN_OK;
}
