/* answer_tools.h: what rules of calls need of a tool: its name and parameters, and rules of a parameter's value. Private to
 * answer_rules.c and answer_words.c.
 *
 * A tool is {"name", "parameters", "strict"}, alone or as `function` of an object. */
#ifndef HN_INFER_ANSWER_TOOLS_H
#define HN_INFER_ANSWER_TOOLS_H

#include "infer/answer_texts.h"

const char *hn_tool_name(const hn_json *tool); /* "" if it has none */
bool hn_tool_is_strict(const hn_json *tool, bool otherwise);
const hn_json *hn_tool_parameters(const hn_json *tool); /* an object, or NULL */
bool hn_tool_requires(const hn_json *parameters, const char *name);
/* HN_ERR_UNSUPPORTED, by the keyword: a schema by which parameters depend on one another, in a form that writes them one by one. */
hn_status hn_tool_check_apart(const hn_json *tool);

/* A call's arguments, as JSON: by the tool's schema where it is held, else any object. */
void hn_rule_arguments(const hn_rule_writer *w, hn_str *to, const hn_json *tool);
/* A parameter's value as JSON, by its schema, with what that may refer to. */
void hn_rule_value(hn_str *to, const hn_json *schema, const hn_json *parameters);
/* A text as such, which may be one of `enum`, up to `end` and with it; in it stands no `without` (NULL: anything does). What else its
 * schema says is refused of a tool that is strict (is_exact). */
hn_status hn_rule_text_value(hn_rule_writer *w, hn_str *to, const hn_json *schema, bool is_exact, const char *end, const char *without);

#endif
