/* yaml: structure. A block's column is that of its first key or dash; what is right of it
 * belongs to it, what is left of it ends it. A list may stand in the column of the key it
 * belongs to. */
#include "base/yaml.h"

#include "base/utf8.h"
#include "base/yaml_scan.h"

#include <string.h>

static hn_status block_node(hn_yaml_scan *s, int parent, hn_yaml **out);
static hn_status flow_node(hn_yaml_scan *s, hn_yaml **out);

static hn_status new_node(hn_yaml_scan *s, hn_yaml_kind kind, hn_yaml **out)
{
    *out = hn_alloc(s->out->heap, HN_TAG_TEXT, sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    **out = (hn_yaml){ .kind = kind, .line = s->line, .made_before = s->out->nodes };
    s->out->nodes = *out;
    return HN_OK;
}

static void append(hn_yaml *to, hn_yaml *child)
{
    if (to->last)
        to->last->next = child;
    else
        to->first = child;
    to->last = child;
}

static hn_status copy(hn_yaml_scan *s, const hn_str *text, char **out)
{
    HN_TRY(hn_str_status(text));
    *out = hn_strdup(s->out->heap, HN_TAG_TEXT, text->text);
    return *out ? HN_OK : HN_ERR_MEMORY;
}

static hn_status scan_scalar(hn_yaml_scan *s, int parent, bool is_key, hn_str *text)
{
    const char c = hn_yaml_peek(s, 0);
    if (c == '"' || c == '\'')
        return hn_yaml_quoted(s, text);
    if (!s->in_flow && !is_key && (c == '|' || c == '>'))
        return hn_yaml_block(s, parent, text);
    if (c == '&' || c == '*' || c == '!')
        return hn_yaml_fail(s, "anchors, aliases and tags are not read");
    if (c == '?' && !hn_yaml_starts_plain(s))
        return hn_yaml_fail(s, "keys behind a question mark are not read");
    if (!hn_yaml_starts_plain(s))
        return hn_yaml_fail(s, c ? "expected a value" : "expected a value, found the end");
    return hn_yaml_plain(s, parent, is_key, text);
}

static hn_status scalar(hn_yaml_scan *s, int parent, hn_yaml **out)
{
    hn_str text = hn_str_on(s->out->heap);
    hn_status status = new_node(s, HN_YAML_TEXT, out);
    const bool is_plain = status == HN_OK && hn_yaml_starts_plain(s);
    if (status == HN_OK)
        status = scan_scalar(s, parent, false, &text);
    if (status == HN_OK)
        status = copy(s, &text, &(*out)->text);
    if (status == HN_OK && is_plain)
        (*out)->kind = hn_yaml_kind_of((*out)->text);
    hn_str_free(&text);
    return status;
}

/* A key, up to and with its colon. *out is NULL if it is no text. */
static hn_status key(hn_yaml_scan *s, char **out)
{
    hn_str text = hn_str_on(s->out->heap);
    const bool is_plain = hn_yaml_starts_plain(s);
    hn_status status = scan_scalar(s, 0, true, &text);
    if (status == HN_OK)
        status = hn_str_status(&text); /* before it is taken for an empty one */
    if (status == HN_OK && is_plain && !strcmp(text.text, "<<"))
        status = hn_yaml_fail(s, "merge keys are not read");
    if (status == HN_OK)
        hn_yaml_skip_spaces(s);
    if (status == HN_OK && !(is_plain && hn_yaml_kind_of(text.text) != HN_YAML_TEXT))
        status = copy(s, &text, out);
    hn_str_free(&text);
    return status;
}

static hn_status flow_list(hn_yaml_scan *s, hn_yaml *list)
{
    for (s->at++;;) {
        hn_yaml *item;
        hn_yaml_skip_blank(s);
        if (hn_yaml_peek(s, 0) == ']')
            break;
        HN_TRY(flow_node(s, &item));
        append(list, item);
        hn_yaml_skip_blank(s);
        if (hn_yaml_peek(s, 0) == ':')
            return hn_yaml_fail(s,
                                "mappings without braces in a list in brackets are not read");
        if (hn_yaml_peek(s, 0) == ',')
            s->at++;
        else if (hn_yaml_peek(s, 0) != ']')
            return hn_yaml_fail(s, "expected , or ]");
    }
    s->at++;
    return HN_OK;
}

static hn_status flow_pair(hn_yaml_scan *s, hn_yaml **out)
{
    char *name = NULL;
    HN_TRY(key(s, &name));
    hn_yaml_skip_blank(s);
    hn_status status = HN_OK;
    const bool has_value = hn_yaml_peek(s, 0) == ':';
    if (has_value) {
        s->at++;
        hn_yaml_skip_blank(s);
    }
    const char c = hn_yaml_peek(s, 0);
    status =
        has_value && c != ',' && c != '}' ? flow_node(s, out) : new_node(s, HN_YAML_NULL, out);
    if (status == HN_OK)
        (*out)->key = name;
    else
        hn_free(s->out->heap, name);
    return status;
}

static hn_status flow_map(hn_yaml_scan *s, hn_yaml *map)
{
    for (s->at++;;) {
        hn_yaml *value;
        hn_yaml_skip_blank(s);
        if (hn_yaml_peek(s, 0) == '}')
            break;
        HN_TRY(flow_pair(s, &value));
        append(map, value);
        hn_yaml_skip_blank(s);
        if (hn_yaml_peek(s, 0) == ',')
            s->at++;
        else if (hn_yaml_peek(s, 0) != '}')
            return hn_yaml_fail(s, "expected , or }");
    }
    s->at++;
    return HN_OK;
}

static hn_status flow_node(hn_yaml_scan *s, hn_yaml **out)
{
    const char c = hn_yaml_peek(s, 0);
    if (c != '[' && c != '{')
        return scalar(s, -1, out);
    if (s->depth == HN_YAML_MAX_DEPTH)
        return hn_yaml_fail(s, "too many levels");
    const bool was_in_flow = s->in_flow;
    HN_TRY(new_node(s, c == '[' ? HN_YAML_LIST : HN_YAML_MAP, out));
    s->in_flow = true;
    s->depth++;
    HN_TRY(c == '[' ? flow_list(s, *out) : flow_map(s, *out));
    s->depth--;
    s->in_flow = was_in_flow;
    return HN_OK;
}

static bool is_dash(const hn_yaml_scan *s)
{
    return hn_yaml_peek(s, 0) == '-' && hn_yaml_is_blank(hn_yaml_peek(s, 1));
}

/* A value that is no block of others. Nothing may follow it on its line. */
static hn_status single(hn_yaml_scan *s, int parent, hn_yaml **out)
{
    const char c = hn_yaml_peek(s, 0);
    const bool is_block = c == '|' || c == '>', is_flow = c == '[' || c == '{';
    HN_TRY(is_flow ? flow_node(s, out) : scalar(s, parent, out));
    const bool crossed = hn_yaml_skip_blank(s);
    if (crossed || is_block || s->at == s->end)
        return HN_OK;
    return hn_yaml_fail(s, hn_yaml_peek(s, 0) == ':'
                               ? "a mapping within a text, or a key of several lines"
                               : "expected the end of the line");
}

static hn_status block_list(hn_yaml_scan *s, int column, hn_yaml *list)
{
    while (s->at < s->end && hn_yaml_column(s) == column && is_dash(s)) {
        hn_yaml *item;
        s->at++;
        const bool is_below = hn_yaml_skip_blank(s);
        if (s->at == s->end || (is_below && hn_yaml_column(s) <= column))
            HN_TRY(new_node(s, HN_YAML_NULL, &item));
        else
            HN_TRY(block_node(s, column, &item));
        append(list, item);
    }
    if (s->at < s->end && hn_yaml_column(s) > column)
        return hn_yaml_fail(s, "indented unlike what is before it");
    return HN_OK;
}

/* What follows `key:` of a mapping in this column. */
static hn_status map_value(hn_yaml_scan *s, int column, hn_yaml **out)
{
    if (hn_yaml_skip_blank(s) || s->at == s->end) {
        const bool is_list = s->at < s->end && hn_yaml_column(s) == column && is_dash(s);
        if (s->at == s->end || (hn_yaml_column(s) <= column && !is_list))
            return new_node(s, HN_YAML_NULL, out);
        return block_node(s, column, out);
    }
    if (is_dash(s))
        return hn_yaml_fail(s, "a list that begins on the line of its key");
    if (hn_yaml_starts_key(s))
        return hn_yaml_fail(s, "a mapping that begins on the line of its key");
    return single(s, column, out);
}

static hn_status block_map(hn_yaml_scan *s, int column, hn_yaml *map)
{
    while (s->at < s->end && hn_yaml_column(s) == column) {
        hn_yaml *value = NULL;
        char *name = NULL;
        if (!hn_yaml_starts_key(s))
            return hn_yaml_fail(s, "expected `key: value`");
        HN_TRY(key(s, &name));
        s->at++;
        const hn_status status = map_value(s, column, &value);
        if (status != HN_OK) {
            hn_free(s->out->heap, name);
            return status;
        }
        value->key = name;
        append(map, value);
    }
    if (s->at < s->end && hn_yaml_column(s) > column)
        return hn_yaml_fail(s, "indented unlike what is before it");
    return HN_OK;
}

static hn_status block_node(hn_yaml_scan *s, int parent, hn_yaml **out)
{
    const int column = hn_yaml_column(s);
    const bool is_list = is_dash(s);
    if (!is_list && !hn_yaml_starts_key(s))
        return single(s, parent, out);
    if (s->depth == HN_YAML_MAX_DEPTH)
        return hn_yaml_fail(s, "too many levels");
    HN_TRY(new_node(s, is_list ? HN_YAML_LIST : HN_YAML_MAP, out));
    s->depth++;
    HN_TRY(is_list ? block_list(s, column, *out) : block_map(s, column, *out));
    s->depth--;
    return HN_OK;
}

/* What YAML has as characters, without tabs and the breaks that only YAML 1.1 takes for such.
 */
static hn_status check_text(hn_yaml_scan *s)
{
    for (const char *at = s->at; at < s->end;) {
        const size_t n = hn_utf8_length(at, (size_t)(s->end - at));
        if (n == 0)
            return hn_yaml_fail(s, "bytes that are no UTF-8");
        if (n == 1 && ((unsigned char)*at < 0x20 || *at == 0x7f) && *at != '\n')
            return hn_yaml_fail(s, "a control character");
        if ((n == 2 && (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0) ||
            (n == 3 && (!memcmp(at, "\xe2\x80\xa8", 3) || !memcmp(at, "\xe2\x80\xa9", 3))))
            return hn_yaml_fail(s, "a control character or a line break of Unicode");
        const size_t room = (size_t)(s->end - at);
        if ((at == s->at || at[-1] == '\n') && room >= 3 &&
            (!memcmp(at, "---", 3) || !memcmp(at, "...", 3)) &&
            (room == 3 || at[3] == ' ' || at[3] == '\n'))
            return hn_yaml_fail(s, "marks of documents are not read");
        s->line += *at == '\n';
        at += n;
    }
    return HN_OK;
}

hn_status hn_yaml_read(hn_heap *heap, const char *name, int line, const char *text,
                       size_t bytes, hn_yaml_text *out)
{
    *out = (hn_yaml_text){ .heap = heap };
    hn_yaml_scan s = { .out = out,
                       .name = name,
                       .at = text,
                       .end = text + bytes,
                       .line_begin = text,
                       .line = line };
    HN_TRY(check_text(&s));
    s.line = line;
    hn_yaml_skip_blank(&s);
    hn_status status =
        s.at == s.end ? new_node(&s, HN_YAML_NULL, &out->root) : block_node(&s, -1, &out->root);
    if (status == HN_OK && s.at != s.end)
        status = hn_yaml_fail(&s, "indented unlike what is before it");
    if (status != HN_OK)
        hn_yaml_free(out);
    return status;
}

void hn_yaml_free(hn_yaml_text *text)
{
    for (hn_yaml *node = text->nodes, *next; node; node = next) {
        next = node->made_before;
        hn_free(text->heap, node->key);
        hn_free(text->heap, node->text);
        hn_free(text->heap, node);
    }
    *text = (hn_yaml_text){ .heap = text->heap };
}

const hn_yaml *hn_yaml_get(const hn_yaml *map, const char *key)
{
    const hn_yaml *found = NULL;
    if (!map || map->kind != HN_YAML_MAP)
        return NULL;
    for (const hn_yaml *v = map->first; v; v = v->next)
        if (v->key && !strcmp(v->key, key))
            found = v;
    return found;
}
