/* Rules are written in the order in which a family of models writes: thoughts, words, what opens a call, the call,
 * what stands between two. Where a tool's schema is held its arguments have the schema's own rules; where it is
 * not, any that can be read back. */
#include "infer/answer_tools.h"
#include "infer/answer_words.h"

#include <string.h>

static const char blank[] = "blank ";

/* How a family of the form json has a call written: in a list or by itself, and its keys. */
typedef struct object_style {
    const char *family;
    bool is_list;
    const char *name, *arguments, *before, *after; /* members before the name, after the arguments */
} object_style;

static const object_style *object_style_of(const hn_call_family *f)
{
    static const object_style styles[] = {
        { "hermes", false, "name", "arguments", "", "" },
        { "llama-3", false, "name", "parameters", "", "" },
        { "json", false, "name", "arguments", "", "" },
        { "mistral", true, "name", "arguments", "", "\", \\\"id\\\": \\\"\" [a-zA-Z0-9]{9} \"\\\"\" " },
        { "command-r7b", true, "tool_name", "parameters", "\"\\\"tool_call_id\\\": \\\"\" [0-9]{1,3} \"\\\", \" ", "" },
        { "", true, "name", "arguments", "", "" },
    };
    const object_style *s = styles;
    while (*s->family && strcmp(s->family, f->name) != 0)
        s++;
    return s;
}

/* ---- parameters as elements ---- */

/* Some write values on lines of their own, and in some a key stands in quotes, perhaps with its kind. */
static hn_status add_parameter(hn_rule_writer *w, hn_str *to, const hn_json *schema, const hn_json *tool)
{
    const hn_call_elements *e = hn_call_elements_of(w->of->family);
    const bool has_lines = !strcmp(e->family, "qwen3-coder") || !strcmp(e->family, "seed-oss");
    const bool is_text = hn_call_value_may_be(schema, "string"), is_quoted = e->open[strlen(e->open) - 1] == '"';
    const char *kind = strncmp(e->family, "deepseek", 8) != 0 ? "" : is_text ? " string=\"true\"" : " string=\"false\"";
    hn_str end = hn_str_on(to->heap);
    hn_str_add(to, blank);
    hn_rule_mark(w, to, e->open);
    hn_rule_text(to, schema->key);
    hn_rule_text(to, is_quoted ? "\"" : "");
    hn_rule_text(to, kind);
    hn_rule_mark(w, to, e->key_end);
    if (e->value_open[0]) {
        hn_str_add(to, blank);
        hn_rule_mark(w, to, e->value_open);
    }
    hn_rule_text(to, has_lines ? "\n" : "");
    hn_str_print(&end, "%s%s", has_lines ? "\n" : "", e->value_end);
    hn_status status = hn_str_status(&end);
    if (status == HN_OK && is_text)
        status = hn_rule_text_value(w, to, schema, hn_tool_is_strict(tool, false), end.text, NULL);
    else if (status == HN_OK) {
        hn_rule_value(to, schema, hn_tool_parameters(tool));
        hn_rule_mark(w, to, end.text);
    }
    hn_str_free(&end);
    return status;
}

static hn_status add_parameters(hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    const hn_json *parameters = hn_tool_parameters(tool), *properties = hn_json_get(parameters, "properties");
    HN_TRY(hn_tool_check_apart(tool));
    for (const hn_json *p = properties && properties->kind == HN_JSON_OBJECT ? hn_json_first(properties) : NULL; p; p = p->next) {
        const bool may_lack = !hn_tool_requires(parameters, p->key);
        hn_str_add(to, may_lack ? "( " : "");
        HN_TRY(add_parameter(w, to, p, tool));
        hn_str_add(to, may_lack ? ")? " : "");
    }
    return HN_OK;
}

/* Of a tool whose schema is not held: any keys, any texts. */
static void add_any_parameters(hn_rule_writer *w, hn_str *to)
{
    const hn_call_elements *e = hn_call_elements_of(w->of->family);
    hn_str_print(to, "( %s", blank);
    hn_rule_mark(w, to, e->open);
    hn_str_add(to, "[^<>\\n]+ ");
    hn_rule_mark(w, to, e->key_end);
    if (e->value_open[0]) {
        hn_str_add(to, blank);
        hn_rule_mark(w, to, e->value_open);
    }
    hn_rule_until(w, to, e->value_end, NULL, NULL);
    hn_str_add(to, ")* ");
}

/* ---- one call ---- */

static void add_object(const hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    const object_style *s = object_style_of(w->of->family);
    hn_str name = hn_str_on(to->heap);
    hn_json_writer j = hn_json_write_to(&name);
    hn_json_add_string(&j, hn_tool_name(tool));
    hn_str_print(to, "\"{\" %s\"\\\"%s\\\": \" ", s->before, s->name);
    hn_rule_text(to, name.text);
    hn_str_print(to, "\", \\\"%s\\\": \" ", s->arguments);
    hn_rule_arguments(w, to, tool);
    hn_str_print(to, "%s\"}\" ", s->after);
    hn_str_free(&name);
}

static void add_keyed(const hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    hn_str_add(to, "\"{\\\"\" ");
    hn_rule_text(to, hn_tool_name(tool));
    hn_str_add(to, "\"\\\": \" ");
    hn_rule_arguments(w, to, tool);
    hn_str_add(to, "\"}\" ");
}

static void add_named(const hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    const hn_call_family *f = w->of->family;
    const bool is_fenced = !strcmp(f->name, "deepseek-r1");
    hn_rule_mark(w, to, f->begin);
    hn_rule_mark(w, to, f->prefix);
    hn_rule_text(to, hn_tool_name(tool));
    if (!strcmp(f->name, "kimi-k2"))
        hn_str_add(to, "\":\" [0-9]{1,3} ");
    hn_rule_mark(w, to, f->sep);
    hn_rule_text(to, is_fenced ? "```json\n" : "");
    hn_rule_arguments(w, to, tool);
    hn_rule_text(to, is_fenced ? "\n```" : "");
    hn_rule_mark(w, to, f->end);
}

/* GLM's `sep` is its first key's mark. */
static hn_status add_elements(hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    const hn_call_family *f = w->of->family;
    hn_rule_mark(w, to, f->prefix);
    hn_rule_text(to, hn_tool_name(tool));
    hn_rule_mark(w, to, f->prefix[0] ? f->sep : "");
    if (hn_tool_is_strict(tool, w->of->must_call))
        HN_TRY(add_parameters(w, to, tool));
    else
        add_any_parameters(w, to);
    hn_str_add(to, blank);
    hn_rule_mark(w, to, f->end);
    return HN_OK;
}

/* A header that names the tool. What ends the message ends the answer. */
static void add_addressed(const hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    hn_rule_mark(w, to, w->of->family->prefix);
    hn_rule_text(to, hn_tool_name(tool));
    hn_rule_mark(w, to, " <|constrain|>json");
    hn_rule_mark(w, to, w->of->family->sep);
    hn_rule_arguments(w, to, tool);
}

static hn_status add_call(hn_rule_writer *w, hn_str *to, const hn_json *tool)
{
    switch (w->of->family->form) {
    case HN_CALLS_JSON: add_object(w, to, tool); return HN_OK;
    case HN_CALLS_KEYED: add_keyed(w, to, tool); return HN_OK;
    case HN_CALLS_NAMED: add_named(w, to, tool); return HN_OK;
    case HN_CALLS_HARMONY: add_addressed(w, to, tool); return HN_OK;
    case HN_CALLS_PAIRS:
    case HN_CALLS_PYTHON: return hn_rule_words(w, to, tool);
    default: return add_elements(w, to, tool);
    }
}

/* The rule `call`: of any tool, or the one that is asked for. */
static hn_status add_call_rule(hn_rule_writer *w)
{
    hn_str all = hn_str_on(w->rules.heap);
    hn_status status = HN_OK;
    int n = 0;
    for (const hn_json *t = hn_json_first(w->of->tools); t && status == HN_OK; t = t->next)
        if (!w->of->only || !strcmp(hn_tool_name(t), w->of->only)) {
            hn_str_add(&all, n++ ? "| " : "");
            status = add_call(w, &all, t);
        }
    if (status == HN_OK && !n)
        status = hn_fail(HN_ERR_ARGUMENT, "tool_choice: there is no tool %.80s", w->of->only ? w->of->only : "");
    hn_str_print(&w->rules, "call ::= %s\n", all.text);
    if (status == HN_OK)
        status = hn_str_status(&all);
    hn_str_free(&all);
    return status;
}

/* ---- all calls, after what opens the first ---- */

static void add_list(hn_rule_writer *w)
{
    hn_str *to = &w->root;
    hn_str_print(to, "%s\"[\" %scall ", blank, blank);
    if (!w->of->once)
        hn_str_print(to, "( %s\",\" %scall )* ", blank, blank);
    hn_str_print(to, "%s\"]\" ", blank);
    if (w->of->family->close[0]) {
        hn_str_add(to, blank);
        hn_rule_mark(w, to, w->of->family->close);
    }
}

/* [NAME(...), NAME(...)] */
static void add_python(hn_rule_writer *w)
{
    const hn_call_family *f = w->of->family;
    hn_rule_text(&w->root, f->prefix);
    hn_str_add(&w->root, w->of->once ? "call " : "call ( \", \" call )* ");
    hn_rule_mark(w, &w->root, f->close);
}

/* Each with its own marks, or several between one pair of them. */
static void add_framed(hn_rule_writer *w, bool opens_each)
{
    const hn_call_family *f = w->of->family;
    hn_str *to = &w->root;
    const char *close = f->close[0] ? f->close : "";
    hn_str_print(to, "%scall ", blank);
    if (opens_each) {
        hn_str_add(to, *close ? blank : "");
        hn_rule_mark(w, to, close);
    }
    if (!w->of->once) {
        hn_str_print(to, "( %s", blank);
        hn_rule_mark(w, to, opens_each ? f->open : "");
        hn_str_print(to, "%scall ", blank);
        if (opens_each) {
            hn_str_add(to, *close ? blank : "");
            hn_rule_mark(w, to, close);
        }
        hn_str_add(to, ")* ");
    }
    if (!opens_each && *close) {
        hn_str_add(to, blank);
        hn_rule_mark(w, to, close);
    }
}

/* An answer may begin with a call as such, without a mark. */
static bool is_bare(const hn_call_family *f) { return f->form == HN_CALLS_JSON && f->begin[0]; }

static void add_calls(hn_rule_writer *w)
{
    const hn_call_family *f = w->of->family;
    const bool is_shared = (f->form == HN_CALLS_NAMED && f->begin[0]) || !strcmp(f->name, "minimax-m2") || !strncmp(f->name, "deepseek-d", 10) ||
                           !strcmp(f->name, "deepseek-v4");
    if (is_bare(f))
        hn_str_add(&w->root, "call ");
    else if (f->form == HN_CALLS_PYTHON)
        add_python(w);
    else if (f->form == HN_CALLS_KEYED || (f->form == HN_CALLS_JSON && object_style_of(f)->is_list))
        add_list(w);
    else
        add_framed(w, !is_shared);
}

/* ---- all of an answer ---- */

static hn_status add_thought(hn_rule_writer *w)
{
    const hn_answer_rules *of = w->of;
    const int32_t close = of->token(of->context, of->thoughts.close);
    hn_str_add(&w->root, of->in_thought ? "" : "( ");
    hn_rule_mark(w, &w->root, of->in_thought ? "" : of->thoughts.open);
    if (of->most_thought < 0)
        hn_rule_until(w, &w->root, of->thoughts.close, NULL, NULL);
    else {
        HN_REQUIRE(close >= 0, HN_ERR_UNSUPPORTED, "a thinking budget takes a model whose thoughts end in a token of their own: here \"%s\" is none",
                   of->thoughts.close);
        hn_str_print(&w->root, "!<[%d]>{0,%lld} <[%d]> ", close, (long long)of->most_thought, close);
    }
    hn_str_print(&w->root, "%s%s", blank, of->in_thought ? "" : ")? ");
    return HN_OK;
}

static hn_status add_answer(hn_rule_writer *w)
{
    const hn_answer_rules *of = w->of;
    const char *unthought = of->most_thought >= 0 ? of->thoughts.open : NULL;
    if (of->schema) {
        hn_str_print(&w->root, "%%json %s ", of->schema);
        return HN_OK;
    }
    if (!of->tools) {
        hn_rule_until(w, &w->root, NULL, unthought, NULL);
        return HN_OK;
    }
    HN_TRY(add_call_rule(w));
    if (of->must_call) {
        hn_str_add(&w->root, blank);
        hn_rule_mark(w, &w->root, is_bare(of->family) ? "" : of->family->open);
        add_calls(w);
        return HN_OK;
    }
    hn_str_add(&w->root, "( ");
    hn_rule_until(w, &w->root, NULL, of->family->open, unthought);
    hn_str_add(&w->root, "| ");
    hn_rule_until(w, &w->root, of->family->open, unthought, NULL);
    add_calls(w);
    hn_str_add(&w->root, ") ");
    return HN_OK;
}

/* ---- messages with headers ---- */

static void add_header(hn_rule_writer *w, const char *channel, const char *after)
{
    hn_rule_mark(w, &w->root, w->of->family->open);
    hn_rule_text(&w->root, channel);
    hn_rule_mark(w, &w->root, after);
}

/* A message, or none, that another comes after; *most: its tokens, -1: any number. */
static hn_status add_before(hn_rule_writer *w, const char *channel, int64_t most)
{
    static const char end[] = "<|end|>", start[] = "<|start|>";
    const int32_t close = w->of->token(w->of->context, end);
    hn_str_add(&w->root, "( ");
    add_header(w, channel, w->of->family->sep);
    if (most < 0)
        hn_rule_until(w, &w->root, end, start, w->of->family->open);
    else {
        HN_REQUIRE(close >= 0, HN_ERR_UNSUPPORTED, "a thinking budget takes a model whose thoughts end in a token of their own: here \"%s\" is none", end);
        hn_str_print(&w->root, "!<[%d]>{0,%lld} <[%d]> ", close, (long long)most, close);
    }
    hn_rule_mark(w, &w->root, start);
    hn_str_add(&w->root, "\"assistant\" )? ");
    return HN_OK;
}

/* Thoughts, then the answer, or words before a call and the call, each a message of its own. One call: its end is the answer's. */
static hn_status add_messages(hn_rule_writer *w)
{
    const hn_answer_rules *of = w->of;
    HN_TRY(add_before(w, "analysis", of->most_thought));
    if (of->tools)
        HN_TRY(add_call_rule(w));
    hn_str_add(&w->root, of->must_call ? "" : "( ");
    if (!of->must_call) {
        add_header(w, "final", of->family->sep);
        if (of->schema)
            hn_str_print(&w->root, "%%json %s ", of->schema);
        else
            hn_rule_until(w, &w->root, NULL, "<|start|>", of->family->open);
        hn_str_add(&w->root, of->tools ? "| " : ") ");
        if (of->tools)
            HN_TRY(add_before(w, "commentary", -1));
    }
    if (of->tools) {
        add_header(w, "commentary", "");
        hn_str_add(&w->root, of->must_call ? "call " : "call ) ");
    }
    return HN_OK;
}

static bool has_strict(const hn_json *tools)
{
    for (const hn_json *t = hn_json_first(tools); t; t = t->next)
        if (hn_tool_is_strict(t, false))
            return true;
    return false;
}

/* Whether calls of this family can be told by rules: *loose: they cannot, and nothing asks for it. */
static hn_status check_family(const hn_answer_rules *of, bool *is_loose)
{
    const hn_call_family *f = of->family;
    *is_loose = false;
    if (!of->tools)
        return HN_OK;
    HN_REQUIRE(f && f->form != HN_CALLS_REFUSED, HN_ERR_UNSUPPORTED, "tools: how this model writes calls is not known");
    if (of->must_call || !is_bare(f))
        return HN_OK;
    *is_loose = true;
    HN_REQUIRE(!of->must_call && !of->once && of->most_thought < 0 && !has_strict(of->tools), HN_ERR_UNSUPPORTED,
               "tools: calls as %s writes them are not held to rules: expected tool_choice auto, calls in parallel, no budget of thoughts and "
               "no tool that is strict", f->name);
    return HN_OK;
}

hn_status hn_answer_rules_write(hn_heap *heap, const hn_answer_rules *of, hn_str *out)
{
    hn_rule_writer w = { .of = of, .root = hn_str_on(heap), .rules = hn_str_on(heap) };
    bool is_loose;
    HN_TRY(check_family(of, &is_loose));
    if (is_loose)
        return HN_OK;
    const bool has_messages = of->family && of->family->form == HN_CALLS_HARMONY;
    hn_status status = of->thoughts.open[0] && !has_messages ? add_thought(&w) : HN_OK;
    if (status == HN_OK)
        status = has_messages ? add_messages(&w) : add_answer(&w);
    if (status == HN_OK)
        status = hn_str_status(&w.rules);
    if (status == HN_OK)
        status = hn_str_status(&w.root);
    if (status == HN_OK)
        hn_str_print(out, "root ::= %s\n%sblank ::= [ \\t\\n\\r]{0,8}\n", w.root.text, w.rules.text);
    hn_str_free(&w.root);
    hn_str_free(&w.rules);
    return status == HN_OK ? hn_str_status(out) : status;
}
