/* Calls as JSON objects, and JSON values wherever arguments are. Arguments are given out as they stand, while they come. */
#include "infer/reader_parts.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

hn_value_step hn_value_feed(hn_value_scan *v, char c)
{
    if (v->in_string) {
        const bool was_escaped = v->is_escaped;
        v->is_escaped = !was_escaped && c == '\\';
        v->in_string = was_escaped || c != '"';
        return v->in_string || v->depth ? HN_VALUE_GOES_ON : HN_VALUE_ENDS_WITH;
    }
    if (!v->depth && v->has_begun && (is_blank(c) || strchr(",]}", c)))
        return HN_VALUE_ENDS_BEFORE;
    v->has_begun = true;
    if (c == '"')
        v->in_string = true;
    else if (c == '{' || c == '[')
        v->depth++;
    else if (c == '}' || c == ']')
        return --v->depth > 0 ? HN_VALUE_GOES_ON : HN_VALUE_ENDS_WITH;
    return HN_VALUE_GOES_ON;
}

hn_status hn_reader_unquote(hn_reader *r, const hn_str *quoted, hn_str *to)
{
    hn_json_text *json = NULL;
    hn_str_clear(to);
    const hn_status status = hn_json_read(r->heap, "a call", quoted->text, quoted->length, &json);
    if (status == HN_ERR_MEMORY)
        r->status = status;
    HN_TRY(status);
    const hn_json *root = hn_json_root(json);
    if (root->kind == HN_JSON_STRING)
        hn_str_add_bytes(to, hn_json_string(root), hn_json_bytes(root));
    hn_json_free(json);
    return HN_OK;
}

void hn_reader_quote(hn_str *to, const char *text, size_t bytes)
{
    hn_str_add_char(to, '"');
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)text[i];
        static const char codes[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
        const char *found = c ? strchr(codes, c) : NULL;
        if (found)
            hn_str_print(to, "\\%c", names[found - codes]);
        else if (c < 0x20)
            hn_str_print(to, "\\u%04x", c);
        else
            hn_str_add_char(to, text[i]);
    }
    hn_str_add_char(to, '"');
}

void hn_reader_begin_object(hn_reader *r)
{
    r->phase = HN_READS_OBJECT;
    r->place = HN_AT_KEY;
    r->nesting = 0;
    hn_str_clear(&r->name);
    hn_str_clear(&r->id);
    hn_str_clear(&r->arguments);
    r->has_arguments = false;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(word, *words))
            return true;
    return false;
}

static bool tells_late(const hn_reader *r) { return !strcmp(r->o.family->sep, "id"); }

/* A call without a mark before it is one only if it names a tool. */
static bool tell_if_known(hn_reader *r)
{
    if (r->is_told || !hn_reader_is_name(&r->name))
        return true;
    if (r->is_bare && !hn_reader_has_tool(r, r->name.text)) {
        hn_reader_abandon(r);
        return false;
    }
    if (!tells_late(r))
        hn_reader_tell(r);
    return true;
}

static void begin_value(hn_reader *r, char c)
{
    static const char *const names[] = { "name", "tool_name", "function", NULL },
                      *const arguments[] = { "arguments", "parameters", "args", "tool_args", NULL },
                      *const ids[] = { "id", "call_id", "tool_call_id", NULL };
    const char *key = r->key.text;
    const bool is_keyed = r->o.family->form == HN_CALLS_KEYED && !r->nesting;
    r->value = (hn_value_scan){ 0 };
    hn_str_clear(&r->word);
    r->place = HN_IN_OTHER;
    if (is_keyed) {
        hn_str_clear(&r->name);
        hn_str_add_bytes(&r->name, r->key.text, r->key.length);
        r->place = HN_IN_ARGUMENTS;
    } else if (!strcmp(key, "function") && c == '{') {
        r->nesting++;
        r->place = HN_AT_KEY;
        return;
    } else if (c == '"' && is_one_of(key, names)) {
        r->place = HN_IN_NAME;
    } else if (c == '"' && is_one_of(key, ids)) {
        r->place = HN_IN_ID;
    } else if (is_one_of(key, arguments) && c != 'n') {
        r->place = c == '"' ? HN_IN_ARGUMENT_TEXT : HN_IN_ARGUMENTS;
    }
    if (r->place == HN_IN_ARGUMENTS && !tell_if_known(r))
        return;
    hn_value_feed(&r->value, c);
    if (r->place == HN_IN_ARGUMENTS)
        hn_reader_give(r, &c, 1);
    else
        hn_str_add_char(&r->word, c);
}

static void end_object(hn_reader *r)
{
    if (r->nesting) {
        r->nesting--;
        r->place = HN_AFTER_VALUE;
        return;
    }
    if (!hn_reader_is_name(&r->name) || (!r->is_told && r->is_bare && !hn_reader_has_tool(r, r->name.text))) {
        hn_reader_abandon(r);
        return;
    }
    const bool was_bare = r->is_bare;
    hn_reader_end_call(r);
    r->is_bare = was_bare;
}

/* In a call that was told already nothing is text any more: what is malformed ends it. */
static void go_wrong(hn_reader *r)
{
    if (!r->is_told) {
        hn_reader_abandon(r);
        return;
    }
    hn_reader_end_call(r);
    hn_reader_end_section(r);
}

/* Whether a value that was written out ended well; what it is to the call. */
static bool end_value(hn_reader *r)
{
    const hn_object_place place = r->place;
    hn_str text = hn_str_on(r->heap);
    bool is_well = true;
    r->place = HN_AFTER_VALUE;
    if (place == HN_IN_NAME || place == HN_IN_ID || place == HN_IN_ARGUMENT_TEXT) {
        is_well = hn_reader_unquote(r, &r->word, &text) == HN_OK;
    }
    if (is_well && place == HN_IN_ARGUMENT_TEXT) {
        is_well = tell_if_known(r);
        if (is_well)
            hn_reader_give(r, text.text, text.length);
    } else if (is_well && place != HN_IN_ARGUMENTS && place != HN_IN_OTHER) {
        hn_str *to = place == HN_IN_NAME ? &r->name : &r->id;
        hn_str_clear(to);
        hn_str_add_bytes(to, text.text, text.length);
    }
    hn_reader_drop(r, &text);
    if (!is_well && r->phase == HN_READS_OBJECT)
        go_wrong(r);
    if (is_well && place == HN_IN_NAME && !r->is_bare)
        is_well = tell_if_known(r);
    else if (is_well && place == HN_IN_NAME && r->arguments.length)
        is_well = tell_if_known(r);
    return is_well;
}

static void take(hn_reader *r, char c);

static void read_value(hn_reader *r, char c)
{
    const hn_value_step step = hn_value_feed(&r->value, c);
    if (step != HN_VALUE_ENDS_BEFORE) {
        if (r->place == HN_IN_ARGUMENTS)
            hn_reader_give(r, &c, 1);
        else
            hn_str_add_char(&r->word, c);
    }
    if (step == HN_VALUE_GOES_ON)
        return;
    if (end_value(r) && step == HN_VALUE_ENDS_BEFORE && r->phase == HN_READS_OBJECT)
        take(r, c);
}

static void read_key(hn_reader *r, char c)
{
    hn_str_add_char(&r->word, c);
    if (hn_value_feed(&r->value, c) == HN_VALUE_GOES_ON)
        return;
    r->place = HN_AT_COLON;
    if (hn_reader_unquote(r, &r->word, &r->key) != HN_OK)
        go_wrong(r);
}

static void take(hn_reader *r, char c)
{
    switch (r->place) {
    case HN_AT_KEY:
        if (c == '"') {
            r->value = (hn_value_scan){ 0 };
            hn_str_clear(&r->word);
            r->place = HN_IN_KEY;
            read_key(r, c);
        } else if (c == '}') {
            end_object(r);
        } else if (!is_blank(c)) {
            go_wrong(r);
        }
        break;
    case HN_IN_KEY:
        read_key(r, c);
        break;
    case HN_AT_COLON:
        if (c == ':')
            r->place = HN_AT_VALUE;
        else if (!is_blank(c))
            go_wrong(r);
        break;
    case HN_AT_VALUE:
        if (!is_blank(c))
            begin_value(r, c);
        break;
    case HN_AFTER_VALUE:
        if (c == ',')
            r->place = HN_AT_KEY;
        else if (c == '}')
            end_object(r);
        else if (!is_blank(c))
            go_wrong(r);
        break;
    default:
        read_value(r, c);
    }
}

void hn_reader_object(hn_reader *r, char c)
{
    if (!r->is_told)
        hn_str_add_char(&r->raw, c);
    take(r, c);
}
