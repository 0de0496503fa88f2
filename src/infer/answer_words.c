/* Gemma's pairs, call:NAME{key:<|"|>text<|"|>,other:1}, and Python's calls, NAME(key="text", other=True). Values that are no text of
 * Gemma's are JSON, which both take; Python's truth is written as Python has it. */
#include "infer/answer_words.h"

#include "infer/answer_tools.h"

#include <string.h>

static const char quote[] = "<|\"|>";

static bool is_python(const hn_rule_writer *w) { return w->of->family->form == HN_CALLS_PYTHON; }

/* A key without quotes, or a name: up to a sign or a blank. */
static bool is_word(const char *text) { return *text && !strpbrk(text, ":=,{}[]()\"'<|> \t\r\n"); }

static bool is_of_type(const hn_json *schema, const char *type)
{
    const hn_json *t = hn_json_get(schema, "type");
    return t && t->kind == HN_JSON_STRING && !strcmp(hn_json_string(t), type) && !hn_json_get(schema, "enum") && !hn_json_get(schema, "const");
}

static hn_status add_value(hn_rule_writer *w, hn_str *to, const hn_json *schema, const hn_json *tool)
{
    if (is_python(w) && is_of_type(schema, "boolean"))
        hn_str_add(to, "( \"True\" | \"False\" ) ");
    else if (is_python(w) && is_of_type(schema, "null"))
        hn_str_add(to, "\"None\" ");
    else if (is_python(w) || !hn_call_value_may_be(schema, "string"))
        hn_rule_value(to, schema, hn_tool_parameters(tool));
    else {
        hn_rule_mark(w, to, quote);
        return hn_rule_text_value(w, to, schema, hn_tool_is_strict(tool, false), quote, w->of->family->close);
    }
    return HN_OK;
}

/* KEY and its value, a rule by itself: it is named in several places. */
static hn_status add_pair(hn_rule_writer *w, const hn_json *schema, const hn_json *tool)
{
    hn_str rule = hn_str_on(w->rules.heap);
    HN_REQUIRE(is_word(schema->key), HN_ERR_UNSUPPORTED, "tools: parameter \"%.60s\" of %.60s: expected a name without blanks, quotes, brackets and signs",
               schema->key, hn_tool_name(tool));
    hn_rule_text(&rule, schema->key);
    hn_rule_text(&rule, is_python(w) ? "=" : ":");
    hn_status status = add_value(w, &rule, schema, tool);
    if (status == HN_OK)
        status = hn_str_status(&rule);
    if (status == HN_OK)
        hn_str_print(&w->rules, "pair%d ::= %s\n", w->n_pairs++, rule.text);
    hn_str_free(&rule);
    return status;
}

/* Those of properties from `from` on that come after another, the first of them pair `n`. */
static void add_others(const hn_rule_writer *w, hn_str *to, const hn_json *parameters, const hn_json *from, int n)
{
    for (const hn_json *p = from; p; p = p->next, n++)
        hn_str_print(to, hn_tool_requires(parameters, p->key) ? "\"%s\" pair%d " : "( \"%s\" pair%d )? ", is_python(w) ? ", " : ",", n);
}

/* Commas stand between: so there is a way for each that may be the first. */
static hn_status add_pairs(hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    const hn_json *parameters = hn_tool_parameters(tool), *properties = hn_json_get(parameters, "properties");
    const hn_json *first = properties && properties->kind == HN_JSON_OBJECT ? hn_json_first(properties) : NULL;
    int n = w->n_pairs;
    bool must_come = false;
    HN_TRY(hn_tool_check_apart(tool));
    for (const hn_json *p = first; p; p = p->next)
        HN_TRY(add_pair(w, p, tool));
    hn_str_add(to, "( ");
    for (const hn_json *p = first; p && !must_come; p = p->next, n++) {
        hn_str_print(to, "pair%d ", n);
        add_others(w, to, parameters, p->next, n + 1);
        must_come = hn_tool_requires(parameters, p->key);
        hn_str_add(to, must_come ? "" : "| ");
    }
    hn_str_add(to, must_come ? ") " : "\"\" ) ");
    return HN_OK;
}

/* Of a tool whose schema is not held: any keys, any values. */
static void add_any_pairs(hn_rule_writer *w, hn_str *to)
{
    hn_str value = hn_str_on(to->heap);
    hn_str_add(&value, "%json {} ");
    if (!is_python(w)) {
        hn_str_clear(&value);
        hn_str_add(&value, "( %json {\"type\":[\"object\",\"array\",\"number\",\"boolean\",\"null\"]} | ");
        hn_rule_mark(w, &value, quote);
        hn_rule_until(w, &value, quote, w->of->family->close, NULL);
        hn_str_add(&value, ") ");
    }
    hn_str_print(&w->rules, "pair%d ::= [a-zA-Z_] [a-zA-Z0-9_]* \"%s\" %s\n", w->n_pairs, is_python(w) ? "=" : ":", value.text);
    hn_str_print(to, "( pair%d ( \",\" pair%d )* )? ", w->n_pairs, w->n_pairs);
    w->n_pairs++;
    hn_str_free(&value);
}

hn_status hn_rule_words(hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    const hn_call_family *f = w->of->family;
    HN_REQUIRE(is_word(hn_tool_name(tool)), HN_ERR_UNSUPPORTED, "tools: \"%.60s\": expected a name without blanks, quotes, brackets and signs",
               hn_tool_name(tool));
    hn_rule_text(to, is_python(w) ? "" : f->prefix);
    hn_rule_text(to, hn_tool_name(tool));
    hn_rule_text(to, f->sep);
    if (hn_tool_is_strict(tool, w->of->must_call))
        HN_TRY(add_pairs(w, to, tool));
    else
        add_any_pairs(w, to);
    hn_rule_text(to, f->end);
    return HN_OK;
}
