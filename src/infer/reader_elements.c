/* Calls whose parameters are elements: <function=NAME><parameter=KEY>value</parameter></function>, and as others write it.
 * A value is text where the tool's schema says so; otherwise it is the JSON it is, or text. */
#include "infer/answer_rules.h"
#include "infer/reader_parts.h"

#include <string.h>

static const hn_call_elements all[] = {
#define HN_ELEMENTS(family, open, key_end, value_open, value_end) { family, open, key_end, value_open, value_end },
#include "infer/call_elements.def"
#undef HN_ELEMENTS
};

const hn_call_elements *hn_call_elements_of(const hn_call_family *family)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].family, family->name))
            return &all[i];
    return NULL;
}

static const hn_call_elements *elements_of(const hn_reader *r) { return hn_call_elements_of(r->o.family); }

static void cut_end(hn_str *text, const char *mark)
{
    text->length -= strlen(mark);
    text->text[text->length] = 0;
}

static void trim(hn_str *text)
{
    size_t begin = 0;
    while (begin < text->length && strchr(" \n\r\t", text->text[begin]))
        begin++;
    while (text->length > begin && strchr(" \n\r\t", text->text[text->length - 1]))
        text->length--;
    memmove(text->text, text->text + begin, text->length - begin);
    text->length -= begin;
    text->text[text->length] = 0;
}

static void tell(hn_reader *r, hn_reader_phase next)
{
    trim(&r->word);
    hn_str_clear(&r->name);
    hn_str_clear(&r->id);
    hn_str_add_bytes(&r->name, r->word.text, r->word.length);
    hn_str_clear(&r->word);
    hn_str_clear(&r->held);
    if (!hn_reader_is_name(&r->name)) {
        hn_reader_abandon(r);
        return;
    }
    hn_reader_tell(r);
    r->phase = next;
}

static void end_call(hn_reader *r)
{
    if (r->has_arguments)
        hn_reader_give(r, "}", 1);
    hn_reader_end_call(r);
}

/* GLM's name ends with its line, its first key, or the call. */
static void read_name(hn_reader *r, char c)
{
    const hn_call_family *f = r->o.family;
    hn_str_add_char(&r->raw, c);
    hn_str_add_char(&r->word, c);
    if (r->word.length > 512 || c == '{') {
        hn_reader_abandon(r);
        return;
    }
    if (hn_reader_ends(&r->word, f->sep)) {
        cut_end(&r->word, f->sep);
        tell(r, f->prefix[0] ? HN_READS_BODY : HN_READS_KEY);
    } else if (!f->prefix[0] && hn_reader_ends(&r->word, f->end)) {
        cut_end(&r->word, f->end);
        tell(r, HN_READS_BODY);
        if (r->is_told)
            end_call(r);
    }
}

static void read_body(hn_reader *r, char c)
{
    const hn_call_elements *e = elements_of(r);
    const hn_call_family *f = r->o.family;
    if (!r->held.length && strchr(" \n\r\t", c))
        return;
    hn_str_add_char(&r->held, c);
    if (hn_reader_ends(&r->held, e->open)) {
        hn_str_clear(&r->held);
        hn_str_clear(&r->word);
        r->phase = HN_READS_KEY;
    } else if (hn_reader_ends(&r->held, f->end)) {
        end_call(r);
    } else if (f->close[0] && hn_reader_ends(&r->held, f->close)) {
        end_call(r);
        hn_reader_end_section(r);
    }
}

/* x" string="true" is a key with a note on its kind; kept in `held`. */
static void read_key(hn_reader *r, char c)
{
    const hn_call_elements *e = elements_of(r);
    hn_str_add_char(&r->word, c);
    if (!hn_reader_ends(&r->word, e->key_end))
        return;
    cut_end(&r->word, e->key_end);
    const char *quote = strchr(r->word.text, '"');
    hn_str_clear(&r->key);
    hn_str_add_bytes(&r->key, r->word.text, quote ? (size_t)(quote - r->word.text) : r->word.length);
    hn_str_clear(&r->held);
    if (quote)
        hn_str_add(&r->held, quote);
    hn_str_clear(&r->word);
    r->phase = HN_READS_ELEMENT;
}

/* ---- values ---- */

static bool is_type(const hn_json *type, const char *name)
{
    if (!type)
        return false;
    if (type->kind == HN_JSON_STRING)
        return !strcmp(hn_json_string(type), name);
    if (type->kind == HN_JSON_ARRAY)
        for (const hn_json *t = hn_json_first(type); t; t = t->next)
            if (is_type(t, name))
                return true;
    return false;
}

bool hn_call_value_may_be(const hn_json *schema, const char *name)
{
    static const char *const unions[] = { "anyOf", "oneOf", "allOf" };
    const hn_json *values = hn_json_get(schema, "enum");
    if (is_type(hn_json_get(schema, "type"), name))
        return true;
    for (int i = 0; i < 3; i++) {
        const hn_json *list = hn_json_get(schema, unions[i]);
        for (const hn_json *s = hn_json_at(list, 0); s; s = s->next)
            if (hn_call_value_may_be(s, name))
                return true;
    }
    for (const hn_json *v = hn_json_at(values, 0); v; v = v->next)
        if (v->kind == HN_JSON_STRING && !strcmp(name, "string"))
            return true;
    return false;
}

static hn_json_kind kind_of(hn_reader *r, const hn_str *text, bool *is_json)
{
    hn_json_text *json = NULL;
    const hn_status status = hn_json_read(r->heap, "a value", text->text, text->length, &json);
    const hn_json_kind kind = status == HN_OK ? hn_json_root(json)->kind : HN_JSON_STRING;
    *is_json = status == HN_OK;
    r->status = status == HN_ERR_MEMORY ? status : r->status;
    hn_json_free(json);
    return kind;
}

static bool may_be_kind(const hn_json *schema, hn_json_kind kind)
{
    static const char *const names[] = { [HN_JSON_NULL] = "null",     [HN_JSON_BOOL] = "boolean", [HN_JSON_INT] = "integer",
                                         [HN_JSON_DOUBLE] = "number", [HN_JSON_STRING] = "string", [HN_JSON_ARRAY] = "array",
                                         [HN_JSON_OBJECT] = "object" };
    return hn_call_value_may_be(schema, names[kind]) || (kind == HN_JSON_INT && hn_call_value_may_be(schema, "number"));
}

static bool is_text(hn_reader *r, const hn_str *value)
{
    const hn_json *schema = hn_reader_schema(r, r->name.text, r->key.text);
    bool is_json = false;
    const hn_json_kind kind = kind_of(r, value, &is_json);
    if (strstr(r->held.text, "string=\"true\""))
        return true;
    if (!is_json)
        return true;
    if (!schema || !hn_call_value_may_be(schema, "string"))
        return false;
    return kind == HN_JSON_STRING || !may_be_kind(schema, kind); /* a text, unless it is of another kind that may be */
}

/* A value on lines of its own. */
static void strip_line(hn_str *text)
{
    if (!text->length || text->text[0] != '\n')
        return;
    memmove(text->text, text->text + 1, text->length);
    text->length--;
    if (text->length && text->text[text->length - 1] == '\n')
        text->text[--text->length] = 0;
}

static void give(hn_reader *r)
{
    static const char *const python[][2] = { { "True", "true" }, { "False", "false" }, { "None", "null" } };
    hn_str out = hn_str_on(r->heap), bare = hn_str_on(r->heap);
    const hn_json *schema = hn_reader_schema(r, r->name.text, r->key.text);
    strip_line(&r->word);
    hn_str_add_bytes(&bare, r->word.text, r->word.length);
    trim(&bare);
    for (int i = 0; i < 3; i++)
        if (!strcmp(bare.text, python[i][0]) && schema && !hn_call_value_may_be(schema, "string")) {
            hn_str_clear(&bare);
            hn_str_add(&bare, python[i][1]);
        }
    hn_str_add(&out, r->has_arguments ? ", " : "{");
    hn_reader_quote(&out, r->key.text, r->key.length);
    hn_str_add(&out, ": ");
    if (is_text(r, &bare))
        hn_reader_quote(&out, r->word.text, r->word.length);
    else
        hn_str_add_bytes(&out, bare.text, bare.length);
    hn_reader_give(r, out.text, out.length);
    hn_reader_drop(r, &out);
    hn_reader_drop(r, &bare);
}

static void read_value(hn_reader *r, char c)
{
    const hn_call_elements *e = elements_of(r);
    hn_str_add_char(&r->word, c);
    if (!hn_reader_ends(&r->word, e->value_end))
        return;
    cut_end(&r->word, e->value_end);
    if (e->value_open[0]) {
        const char *open = strstr(r->word.text, e->value_open);
        const size_t n = open ? (size_t)(open - r->word.text) + strlen(e->value_open) : 0;
        memmove(r->word.text, r->word.text + n, r->word.length - n);
        r->word.length -= n;
        r->word.text[r->word.length] = 0;
    }
    give(r);
    hn_str_clear(&r->word);
    hn_str_clear(&r->held);
    r->phase = HN_READS_BODY;
}

void hn_reader_elements(hn_reader *r, char c)
{
    if (r->phase == HN_READS_NAME)
        read_name(r, c);
    else if (r->phase == HN_READS_BODY)
        read_body(r, c);
    else if (r->phase == HN_READS_KEY)
        read_key(r, c);
    else
        read_value(r, c);
}
