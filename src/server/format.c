/* What is asked for is only kept while the body is read; the grammar is made when the model's vocabulary is there. */
#include "server/format.h"

#include "server/fields.h"

#include <string.h>

static bool take_schema(hn_answer *a, const hn_json *format, hn_failure *why)
{
    const hn_json *named = hn_field_of(format, "json_schema"), *schema = NULL;
    if (!named)
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "response_format.json_schema", "response_format.json_schema: expected an object");
    if (!hn_fields_check_within(&hn_fields_json_schema, "response_format.json_schema.", named, why))
        return false;
    schema = hn_field_of(named, "schema");
    if (!schema) /* one that says nothing is {}, and not no schema: nobody means that by its type */
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "response_format.json_schema.schema", "response_format.json_schema.schema: expected an object");
    hn_json_writer w = hn_json_write_to(&a->grammar_text);
    hn_json_add_value(&w, schema);
    return hn_str_status(&a->grammar_text) == HN_OK || hn_refuse_by(why, HN_ERR_MEMORY, "response_format");
}

static bool take_format(hn_answer *a, const hn_json *format, hn_failure *why)
{
    if (!hn_fields_check_within(&hn_fields_response_format, "response_format.", format, why))
        return false;
    const char *type = hn_field_text(format, "type", NULL);
    if (!type)
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "response_format.type", "response_format.type: expected a word, found none");
    a->grammar_kind = HN_LM_JSON_SCHEMA;
    if (!hn_field_is_of(format, "response_format.", "json_schema", "json_schema", why))
        return false;
    if (!strcmp(type, "json_schema"))
        return take_schema(a, format, why);
    if (!strcmp(type, "json_object"))
        hn_str_add(&a->grammar_text, "{\"type\":\"object\"}");
    return hn_str_status(&a->grammar_text) == HN_OK || hn_refuse_by(why, HN_ERR_MEMORY, "response_format");
}

bool hn_format_take(hn_answer *a, hn_failure *why)
{
    const hn_json *format = hn_field_of(a->body, "response_format");
    const char *rules = hn_field_text(a->body, "grammar", NULL);
    if (format && rules)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "grammar", "grammar: found response_format too");
    a->grammar_of = format ? "response_format" : "grammar";
    if (format)
        return take_format(a, format, why);
    a->grammar_kind = HN_LM_GBNF;
    if (rules && !*rules)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "grammar", "grammar: expected rules, found none");
    hn_str_add(&a->grammar_text, rules ? rules : "");
    return hn_str_status(&a->grammar_text) == HN_OK || hn_refuse_by(why, HN_ERR_MEMORY, "grammar");
}

bool hn_format_make(hn_answer *a, hn_failure *why)
{
    if (!a->grammar_text.length)
        return true;
    if (a->goes_on) /* the rules say where the text ends */
        return hn_refuse_as(why, HN_REFUSED_INVALID, "ignore_eos", "ignore_eos: found %s too, whose text ends where the model says that it is done",
                            a->grammar_of);
    const hn_status status = hn_lm_grammar_new(&a->grammar, a->model->shelf->engine, a->grammar_kind, a->grammar_text.text,
                                               a->grammar_text.length, NULL);
    return status == HN_OK || hn_refuse_by(why, status, a->grammar_of);
}
