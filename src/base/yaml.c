/* yaml: the grammar, from tokens to nodes. Kinds are found later, by yaml_make. */
#include "base/yaml.h"

#include "base/rng.h"
#include "base/utf8.h"
#include "base/yaml_make.h"

#include <string.h>

enum { N_BUCKETS = 1024, MOST_ANCHORS = 1 << 16, MOST_HANDLES = 64 };

/* What a node may be. */
enum { IN_BLOCK = 1, BARE_LIST = 2 };

typedef struct anchor {
    char *name;
    hn_yaml *node;
    struct anchor *next; /* of its bucket */
} anchor;

typedef struct parser {
    hn_yaml_scan scan;
    hn_yaml_text *out;
    anchor *buckets[N_BUCKETS];
    int n_anchors;
    struct {
        char *handle, *prefix;
    } handles[MOST_HANDLES];
    int n_handles;
    size_t n_repeated;
    int depth;
} parser;

/* Before a node's value. */
typedef struct properties {
    char *anchor, *tag; /* NULL: none */
    int line;
} properties;

static hn_status node(parser *p, unsigned may, hn_yaml **out);

static hn_yaml_token_kind next(parser *p) { return hn_yaml_next(&p->scan); }

static void drop(parser *p)
{
    hn_yaml_token token = hn_yaml_take(&p->scan);
    hn_yaml_token_free(p->scan.heap, &token);
}

/* The scan's own failure, or that the next token is not what it should be. */
static hn_status expected(parser *p, const char *what)
{
    if (next(p) == HN_YAML_T_FAILED)
        return p->scan.status;
    return hn_yaml_fail(&p->scan, hn_yaml_peek_token(&p->scan)->line, what);
}

static int here(parser *p)
{
    return next(p) == HN_YAML_T_FAILED ? 1 : hn_yaml_peek_token(&p->scan)->line;
}

static hn_status new_node(parser *p, hn_yaml_shape shape, int line, hn_yaml **out)
{
    static const hn_yaml_tag tags[] = { HN_YAML_TAG_STR, HN_YAML_TAG_SEQ, HN_YAML_TAG_MAP };
    *out = hn_alloc(p->out->heap, HN_TAG_TEXT, sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    **out = (hn_yaml){ .line = line,
                       .shape = shape,
                       .tag = tags[shape],
                       .weight = 1,
                       .made_before = p->out->nodes };
    p->out->nodes = *out;
    return HN_OK;
}

/* A plain scalar of no characters. */
static hn_status nothing(parser *p, hn_yaml **out)
{
    HN_TRY(new_node(p, HN_YAML_SCALAR, here(p), out));
    (*out)->tag = HN_YAML_TAG_NULL;
    (*out)->text = hn_strdup(p->out->heap, HN_TAG_TEXT, "");
    return (*out)->text ? HN_OK : HN_ERR_MEMORY;
}

static anchor *find_anchor(const parser *p, const char *name)
{
    anchor *found = p->buckets[hn_hash_text(name) % N_BUCKETS];
    while (found && strcmp(found->name, name) != 0)
        found = found->next;
    return found;
}

/* Takes the name over, if there is one. */
static hn_status add_anchor(parser *p, char **name, hn_yaml *to)
{
    if (!*name)
        return HN_OK;
    if (p->n_anchors++ == MOST_ANCHORS)
        return hn_yaml_fail(&p->scan, to->line, "too many anchors");
    anchor *added = hn_alloc(p->scan.heap, HN_TAG_TEXT, sizeof *added);
    if (!added)
        return HN_ERR_MEMORY;
    anchor **bucket = &p->buckets[hn_hash_text(*name) % N_BUCKETS];
    *added = (anchor){ .name = *name, .node = to, .next = *bucket };
    *bucket = added;
    *name = NULL;
    return HN_OK;
}

static hn_status alias(parser *p, hn_yaml **out)
{
    hn_yaml_token token = hn_yaml_take(&p->scan);
    const anchor *found = find_anchor(p, token.text);
    const hn_status status = found ? HN_OK
                                   : hn_fail(HN_ERR_FORMAT, "%s:%d: no anchor &%s before *%s",
                                             p->scan.name, token.line, token.text, token.text);
    hn_yaml_token_free(p->scan.heap, &token);
    HN_TRY(status);
    *out = found->node;
    p->n_repeated += found->node->weight;
    if (p->n_repeated > HN_YAML_MAX_REPEATED)
        return hn_yaml_fail(&p->scan, here(p), "aliases that repeat too much");
    return HN_OK;
}

/* "!!str" in full. */
static hn_status full_tag(parser *p, const hn_yaml_token *token, char **out)
{
    const char *prefix = token->handle ? NULL : "";
    for (int i = 0; token->handle && i < p->n_handles; i++)
        if (!strcmp(p->handles[i].handle, token->handle))
            prefix = p->handles[i].prefix;
    if (!prefix && !strcmp(token->handle, "!"))
        prefix = "!";
    if (!prefix && !strcmp(token->handle, "!!"))
        prefix = "tag:yaml.org,2002:";
    if (!prefix)
        return hn_fail(HN_ERR_FORMAT, "%s:%d: no %%TAG says what %s stands for", p->scan.name,
                       token->line, token->handle);
    hn_str text = hn_str_on(p->scan.heap);
    hn_str_add(&text, prefix);
    hn_str_add_bytes(&text, token->text, token->bytes);
    hn_status status = hn_str_status(&text);
    if (status == HN_OK) {
        *out = hn_strdup(p->scan.heap, HN_TAG_TEXT, text.text);
        status = *out ? HN_OK : HN_ERR_MEMORY;
    }
    hn_str_free(&text);
    return status;
}

static hn_status take_properties(parser *p, properties *out)
{
    out->line = here(p);
    for (int i = 0; i < 2; i++) {
        const hn_yaml_token_kind kind = next(p);
        if (kind == HN_YAML_T_ANCHOR && !out->anchor) {
            out->anchor = hn_yaml_take(&p->scan).text;
        } else if (kind == HN_YAML_T_TAG && !out->tag) {
            hn_yaml_token token = hn_yaml_take(&p->scan);
            const hn_status status = full_tag(p, &token, &out->tag);
            hn_yaml_token_free(p->scan.heap, &token);
            HN_TRY(status);
        }
    }
    if (out->anchor && find_anchor(p, out->anchor))
        return hn_fail(HN_ERR_FORMAT, "%s:%d: a second anchor &%s", p->scan.name, out->line,
                       out->anchor);
    return HN_OK;
}

/* "!" alone says no more than no tag. */
static bool is_resolved(const properties *with)
{
    return !with->tag || !strcmp(with->tag, "!");
}

static void set_tag(properties *with, hn_yaml *to)
{
    static const char *const names[] = {
        [HN_YAML_TAG_STR] = "str",
        [HN_YAML_TAG_NULL] = "null",
        [HN_YAML_TAG_BOOL] = "bool",
        [HN_YAML_TAG_INT] = "int",
        [HN_YAML_TAG_FLOAT] = "float",
        [HN_YAML_TAG_BINARY] = "binary",
        [HN_YAML_TAG_TIMESTAMP] = "timestamp",
        [HN_YAML_TAG_SEQ] = "seq",
        [HN_YAML_TAG_OMAP] = "omap",
        [HN_YAML_TAG_PAIRS] = "pairs",
        [HN_YAML_TAG_MAP] = "map",
        [HN_YAML_TAG_SET] = "set",
        [HN_YAML_TAG_MERGE] = "merge",
        [HN_YAML_TAG_VALUE] = "value",
    };
    static const char prefix[] = "tag:yaml.org,2002:";
    const size_t n = sizeof prefix - 1;
    if (is_resolved(with))
        return;
    to->tag = HN_YAML_TAG_UNKNOWN;
    for (int i = 0; !strncmp(with->tag, prefix, n) && i < HN_YAML_TAG_UNKNOWN; i++)
        if (!strcmp(with->tag + n, names[i]))
            to->tag = (hn_yaml_tag)i;
    to->tag_text = with->tag;
    with->tag = NULL;
}

static hn_status append(parser *p, hn_yaml *to, hn_yaml *key, hn_yaml *value)
{
    to->weight += value->weight + (key ? key->weight : 0);
    return hn_yaml_append(p->out->heap, to, key, value);
}

static hn_status block_list(parser *p, hn_yaml *list)
{
    for (drop(p); next(p) == HN_YAML_T_BLOCK_ENTRY;) {
        hn_yaml *item;
        drop(p);
        const hn_yaml_token_kind kind = next(p);
        HN_TRY(kind == HN_YAML_T_BLOCK_ENTRY || kind == HN_YAML_T_BLOCK_END
                   ? nothing(p, &item)
                   : node(p, IN_BLOCK, &item));
        HN_TRY(append(p, list, NULL, item));
    }
    if (next(p) != HN_YAML_T_BLOCK_END)
        return expected(p, "indented unlike what is before it");
    drop(p);
    return HN_OK;
}

/* A list in the column of the key that it belongs to. */
static hn_status bare_list(parser *p, hn_yaml *list)
{
    while (next(p) == HN_YAML_T_BLOCK_ENTRY) {
        hn_yaml *item;
        drop(p);
        const hn_yaml_token_kind kind = next(p);
        HN_TRY(kind == HN_YAML_T_BLOCK_ENTRY || kind == HN_YAML_T_KEY ||
                       kind == HN_YAML_T_VALUE || kind == HN_YAML_T_BLOCK_END
                   ? nothing(p, &item)
                   : node(p, IN_BLOCK, &item));
        HN_TRY(append(p, list, NULL, item));
    }
    return HN_OK;
}

/* What stands behind "?" or ":" of a block, if they are there. */
static hn_status block_part(parser *p, hn_yaml_token_kind mark, hn_yaml **out)
{
    if (next(p) != mark)
        return nothing(p, out);
    drop(p);
    const hn_yaml_token_kind kind = next(p);
    return kind == HN_YAML_T_KEY || kind == HN_YAML_T_VALUE || kind == HN_YAML_T_BLOCK_END
               ? nothing(p, out)
               : node(p, IN_BLOCK | BARE_LIST, out);
}

static hn_status block_map(parser *p, hn_yaml *map)
{
    for (drop(p); next(p) == HN_YAML_T_KEY;) {
        hn_yaml *key, *value;
        HN_TRY(block_part(p, HN_YAML_T_KEY, &key));
        HN_TRY(block_part(p, HN_YAML_T_VALUE, &value));
        HN_TRY(append(p, map, key, value));
    }
    if (next(p) != HN_YAML_T_BLOCK_END)
        return expected(p, "expected `key: value`");
    drop(p);
    return HN_OK;
}

/* `KEY` or `KEY: VALUE` in brackets, whose last is `end`. */
static hn_status flow_pair(parser *p, hn_yaml_token_kind end, hn_yaml **key, hn_yaml **value)
{
    const bool has_mark = next(p) == HN_YAML_T_KEY;
    if (has_mark)
        drop(p);
    hn_yaml_token_kind kind = next(p);
    HN_TRY(has_mark && (kind == HN_YAML_T_VALUE || kind == HN_YAML_T_FLOW_ENTRY || kind == end)
               ? nothing(p, key)
               : node(p, 0, key));
    if (!has_mark || next(p) != HN_YAML_T_VALUE)
        return nothing(p, value);
    drop(p);
    kind = next(p);
    return kind == HN_YAML_T_FLOW_ENTRY || kind == end ? nothing(p, value) : node(p, 0, value);
}

/* `[a: b]` is a list of one mapping. */
static hn_status flow_item(parser *p, hn_yaml **out)
{
    hn_yaml *key, *value;
    if (next(p) != HN_YAML_T_KEY)
        return node(p, 0, out);
    HN_TRY(new_node(p, HN_YAML_MAPPING, here(p), out));
    HN_TRY(flow_pair(p, HN_YAML_T_FLOW_LIST_END, &key, &value));
    return append(p, *out, key, value);
}

static hn_status flow(parser *p, hn_yaml *to)
{
    const bool is_list = to->shape == HN_YAML_SEQUENCE;
    const hn_yaml_token_kind end = is_list ? HN_YAML_T_FLOW_LIST_END : HN_YAML_T_FLOW_MAP_END;
    for (drop(p); next(p) != end;) {
        hn_yaml *key = NULL, *value;
        HN_TRY(is_list ? flow_item(p, &value) : flow_pair(p, end, &key, &value));
        HN_TRY(append(p, to, key, value));
        if (next(p) == HN_YAML_T_FLOW_ENTRY)
            drop(p);
        else if (next(p) != end)
            return expected(p, is_list ? "expected , or ]" : "expected , or }");
    }
    drop(p);
    return HN_OK;
}

static hn_status collection(parser *p, hn_yaml_token_kind kind, properties *with, hn_yaml **out)
{
    const bool is_list = kind == HN_YAML_T_FLOW_LIST || kind == HN_YAML_T_BLOCK_LIST ||
                         kind == HN_YAML_T_BLOCK_ENTRY;
    if (p->depth == HN_YAML_MAX_DEPTH)
        return expected(p, "too many levels");
    HN_TRY(new_node(p, is_list ? HN_YAML_SEQUENCE : HN_YAML_MAPPING, with->line, out));
    set_tag(with, *out);
    HN_TRY(add_anchor(p, &with->anchor, *out));
    p->depth++;
    HN_TRY(kind == HN_YAML_T_BLOCK_ENTRY  ? bare_list(p, *out)
           : kind == HN_YAML_T_BLOCK_LIST ? block_list(p, *out)
           : kind == HN_YAML_T_BLOCK_MAP  ? block_map(p, *out)
                                          : flow(p, *out));
    p->depth--;
    return HN_OK;
}

static hn_status scalar(parser *p, properties *with, hn_yaml **out)
{
    hn_yaml_token token = { .is_plain = true }; /* of no characters, but with properties */
    HN_TRY(new_node(p, HN_YAML_SCALAR, with->line, out));
    if (next(p) == HN_YAML_T_SCALAR) {
        token = hn_yaml_take(&p->scan);
        (*out)->line = with->anchor || with->tag ? with->line : token.line;
    } else if (!(token.text = hn_strdup(p->scan.heap, HN_TAG_TEXT, ""))) {
        return HN_ERR_MEMORY;
    }
    (*out)->text = token.text;
    (*out)->bytes = token.bytes;
    (*out)->weight += token.bytes;
    if ((token.is_plain && !with->tag) || (with->tag && is_resolved(with)))
        (*out)->tag = hn_yaml_resolve(token.text, token.bytes);
    set_tag(with, *out);
    return add_anchor(p, &with->anchor, *out);
}

static hn_status value(parser *p, unsigned may, properties *with, hn_yaml **out)
{
    const hn_yaml_token_kind kind = next(p);
    const bool is_block = kind == HN_YAML_T_BLOCK_LIST || kind == HN_YAML_T_BLOCK_MAP;
    if ((kind == HN_YAML_T_BLOCK_ENTRY && may & BARE_LIST) || kind == HN_YAML_T_FLOW_LIST ||
        kind == HN_YAML_T_FLOW_MAP || (is_block && may & IN_BLOCK))
        return collection(p, kind, with, out);
    if (kind == HN_YAML_T_SCALAR || (kind != HN_YAML_T_FAILED && (with->anchor || with->tag)))
        return scalar(p, with, out);
    return expected(p, kind == HN_YAML_T_END ? "expected a value, found the end"
                                             : "expected a value");
}

static hn_status node(parser *p, unsigned may, hn_yaml **out)
{
    properties with = { 0 };
    if (next(p) == HN_YAML_T_ALIAS)
        return alias(p, out);
    hn_status status = take_properties(p, &with);
    if (status == HN_OK)
        status = value(p, may, &with, out);
    hn_free(p->scan.heap, with.anchor);
    hn_free(p->scan.heap, with.tag);
    return status;
}

static hn_status directives(parser *p)
{
    for (bool has_version = false; next(p) == HN_YAML_T_DIRECTIVE;) {
        hn_yaml_token token = hn_yaml_take(&p->scan);
        hn_status status = HN_OK;
        if (token.has_version && has_version)
            status = hn_yaml_fail(&p->scan, token.line, "a second version");
        has_version = has_version || token.has_version;
        for (int i = 0; token.handle && i < p->n_handles && status == HN_OK; i++)
            if (!strcmp(p->handles[i].handle, token.handle))
                status = hn_yaml_fail(&p->scan, token.line, "a second %TAG of this handle");
        if (status == HN_OK && token.handle && p->n_handles == MOST_HANDLES)
            status = hn_yaml_fail(&p->scan, token.line, "too many %TAG");
        if (status == HN_OK && token.handle) {
            p->handles[p->n_handles].handle = token.handle;
            p->handles[p->n_handles++].prefix = token.text;
            token.handle = token.text = NULL;
        }
        hn_yaml_token_free(p->scan.heap, &token);
        HN_TRY(status);
    }
    return HN_OK;
}

static hn_status document(parser *p, hn_yaml **out)
{
    hn_yaml_token_kind kind = next(p);
    if (kind == HN_YAML_T_END)
        return nothing(p, out);
    if (kind == HN_YAML_T_DIRECTIVE || kind == HN_YAML_T_DOCUMENT) {
        HN_TRY(directives(p));
        if (next(p) != HN_YAML_T_DOCUMENT)
            return expected(p, "expected --- after directives");
        drop(p);
        kind = next(p);
    }
    const bool is_empty = kind == HN_YAML_T_DIRECTIVE || kind == HN_YAML_T_DOCUMENT ||
                          kind == HN_YAML_T_DOCUMENT_END || kind == HN_YAML_T_END;
    HN_TRY(is_empty && p->scan.n_taken ? nothing(p, out) : node(p, IN_BLOCK, out));
    while (next(p) == HN_YAML_T_DOCUMENT_END)
        drop(p);
    return next(p) == HN_YAML_T_END ? HN_OK : expected(p, "expected the end of the text");
}

/* Characters that YAML has, without tabs and the breaks that only YAML 1.1 takes for such. */
static hn_status check_text(const hn_yaml_scan *s)
{
    int line = s->line;
    for (const char *at = s->at; at < s->end;) {
        const size_t n = hn_utf8_length(at, (size_t)(s->end - at));
        const unsigned char c = (unsigned char)at[0], d = n > 1 ? (unsigned char)at[1] : 0;
        if (n == 0)
            return hn_yaml_fail(s, line, "bytes that are no UTF-8");
        if (n == 1 && (c < 0x20 || c == 0x7f) && c != '\n')
            return hn_yaml_fail(s, line, "a control character");
        if ((n == 2 && c == 0xc2 && d < 0xa0) ||
            (n == 3 && (!memcmp(at, "\xe2\x80\xa8", 3) || !memcmp(at, "\xe2\x80\xa9", 3))))
            return hn_yaml_fail(s, line, "a control character or a line break of Unicode");
        if (n == 3 && c == 0xef && d == 0xbf && (unsigned char)at[2] >= 0xbe)
            return hn_yaml_fail(s, line, "a code point that is no character");
        line += c == '\n';
        at += n;
    }
    return HN_OK;
}

static void free_parser(parser *p)
{
    hn_heap *heap = p->scan.heap;
    hn_yaml_scan_free(&p->scan);
    for (int i = 0; i < N_BUCKETS; i++)
        for (anchor *a = p->buckets[i], *after; a; a = after) {
            after = a->next;
            hn_free(heap, a->name);
            hn_free(heap, a);
        }
    for (int i = 0; i < p->n_handles; i++) {
        hn_free(heap, p->handles[i].handle);
        hn_free(heap, p->handles[i].prefix);
    }
    hn_free(heap, p);
}

hn_status hn_yaml_read(hn_heap *heap, const char *name, int line, const char *text,
                       size_t bytes, hn_yaml_text *out)
{
    *out = (hn_yaml_text){ .heap = heap };
    parser *p = hn_alloc(heap, HN_TAG_TEXT, sizeof *p);
    if (!p)
        return HN_ERR_MEMORY;
    p->out = out;
    p->scan.heap = heap;
    p->scan.name = name;
    p->scan.at = text;
    p->scan.end = text + bytes;
    p->scan.line = line;
    p->scan.indent = -1;
    p->scan.may_start_key = true;
    hn_status status = check_text(&p->scan);
    if (status == HN_OK)
        status = document(p, &out->root);
    if (status == HN_OK)
        status = hn_yaml_make(&p->scan, out);
    free_parser(p);
    if (status != HN_OK)
        hn_yaml_free(out);
    return status;
}

void hn_yaml_free(hn_yaml_text *text)
{
    for (hn_yaml *at = text->nodes, *before; at; at = before) {
        before = at->made_before;
        hn_free(text->heap, at->text);
        hn_free(text->heap, at->tag_text);
        hn_free(text->heap, at->items);
        hn_free(text->heap, at);
    }
    *text = (hn_yaml_text){ .heap = text->heap };
}

const hn_yaml *hn_yaml_get(const hn_yaml *map, const char *key)
{
    const size_t n = strlen(key);
    if (!map || map->kind != HN_YAML_MAP)
        return NULL;
    for (size_t i = map->n; i-- > 0;) {
        const hn_yaml *k = map->items[i].key;
        if (k->kind == HN_YAML_TEXT && k->bytes == n && !memcmp(k->text, key, n))
            return map->items[i].value;
    }
    return NULL;
}

bool hn_yaml_is_false(const hn_yaml *value)
{
    switch (value->kind) {
    case HN_YAML_NULL:
        return true;
    case HN_YAML_TEXT:
        return !value->bytes;
    case HN_YAML_BOOL:
    case HN_YAML_INT:
        return !value->integer;
    case HN_YAML_FLOAT:
        return value->number == 0;
    case HN_YAML_OTHER:
        return value->is_empty;
    default:
        return !value->n;
    }
}
