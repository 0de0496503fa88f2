/* yaml_scan: structure. In blocks it is in the columns: a deeper one begins a list or mapping,
 * a shallower one ends it. A key is known by its colon only, on the same line and within 1024
 * characters, so tokens wait until what may be one is none. */
#include "base/yaml_scan.h"

#include <string.h>

enum { MOST_IN_KEY = 1024 };

hn_status hn_yaml_fail(const hn_yaml_scan *s, int line, const char *what)
{
    return hn_fail(HN_ERR_FORMAT, "%s:%d: %s", s->name, line, what);
}

hn_status hn_yaml_fail_here(const hn_yaml_scan *s, const char *what)
{
    return hn_yaml_fail(s, s->line, what);
}

void hn_yaml_step(hn_yaml_scan *s)
{
    static const char mark[] = "\xef\xbb\xbf"; /* which has no width */
    if (s->at == s->end)
        return;
    const unsigned char c = (unsigned char)*s->at;
    const size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    const bool is_mark = n == 3 && !memcmp(s->at, mark, 3);
    s->at += n;
    s->index++;
    if (c == '\n') {
        s->line++;
        s->column = 0;
    } else if (!is_mark) {
        s->column++;
    }
}

void hn_yaml_skip_spaces(hn_yaml_scan *s)
{
    while (hn_yaml_peek(s, 0) == ' ')
        hn_yaml_step(s);
}

void hn_yaml_skip_line(hn_yaml_scan *s)
{
    while (s->at < s->end && *s->at != '\n')
        hn_yaml_step(s);
}

bool hn_yaml_at_mark(const hn_yaml_scan *s, const char *mark)
{
    return (size_t)(s->end - s->at) >= 3 && !memcmp(s->at, mark, 3) &&
           hn_yaml_is_blank(hn_yaml_peek(s, 3));
}

static hn_status insert(hn_yaml_scan *s, size_t number, hn_yaml_token token)
{
    if (s->head && s->head == s->n_tokens)
        s->head = s->n_tokens = 0;
    if (s->n_tokens == s->room && s->head >= s->room / 2 && s->head) {
        memmove(s->tokens, s->tokens + s->head, (s->n_tokens - s->head) * sizeof *s->tokens);
        s->n_tokens -= s->head;
        s->head = 0;
    }
    if (s->n_tokens == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        hn_yaml_token *grown =
            hn_realloc_array(s->heap, HN_TAG_TEXT, s->tokens, room, sizeof *grown);
        if (!grown)
            return HN_ERR_MEMORY;
        s->tokens = grown;
        s->room = room;
    }
    const size_t at = s->head + (number - s->n_taken);
    memmove(s->tokens + at + 1, s->tokens + at, (s->n_tokens - at) * sizeof *s->tokens);
    s->tokens[at] = token;
    s->n_tokens++;
    return HN_OK;
}

static size_t next_number(const hn_yaml_scan *s) { return s->n_taken + s->n_tokens - s->head; }

static hn_status add(hn_yaml_scan *s, hn_yaml_token_kind kind)
{
    return insert(s, next_number(s), (hn_yaml_token){ .kind = kind, .line = s->line });
}

/* A token with a text, which it takes over. */
static hn_status add_text(hn_yaml_scan *s, hn_yaml_token token, hn_str *text)
{
    hn_status status = hn_str_status(text);
    if (status == HN_OK) {
        token.bytes = text->length;
        token.text = hn_alloc(s->heap, HN_TAG_TEXT, text->length + 1);
        if (token.text)
            memcpy(token.text, text->text, text->length);
        status = token.text ? insert(s, next_number(s), token) : HN_ERR_MEMORY;
    }
    hn_str_free(text);
    if (status != HN_OK)
        hn_yaml_token_free(s->heap, &token);
    return status;
}

static hn_status no_colon(const hn_yaml_scan *s, const hn_yaml_key *key)
{
    return hn_yaml_fail(s, key->line, "expected `key: value`");
}

/* Forgets places too far back for a key. */
static hn_status drop_stale_keys(hn_yaml_scan *s)
{
    for (; s->first_key < s->n_keys; s->first_key++) {
        const hn_yaml_key *key = &s->keys[s->first_key];
        if (key->line == s->line && s->index - key->index <= MOST_IN_KEY)
            return HN_OK;
        if (key->is_required)
            return no_colon(s, key);
    }
    s->first_key = s->n_keys = 0;
    return HN_OK;
}

static hn_yaml_key *key_of_level(hn_yaml_scan *s)
{
    hn_yaml_key *last = s->n_keys > s->first_key ? &s->keys[s->n_keys - 1] : NULL;
    return last && last->level == s->flow_level ? last : NULL;
}

static hn_status drop_key(hn_yaml_scan *s)
{
    const hn_yaml_key *key = key_of_level(s);
    if (key && key->is_required)
        return no_colon(s, key);
    s->n_keys -= key != NULL;
    return HN_OK;
}

static hn_status save_key(hn_yaml_scan *s)
{
    if (!s->may_start_key)
        return HN_OK;
    HN_TRY(drop_key(s));
    if (s->first_key == s->n_keys)
        s->first_key = s->n_keys = 0;
    s->keys[s->n_keys++] =
        (hn_yaml_key){ .token = next_number(s),
                       .index = s->index,
                       .line = s->line,
                       .column = s->column,
                       .level = s->flow_level,
                       .is_required = !s->flow_level && s->indent == s->column };
    return HN_OK;
}

static hn_status unwind(hn_yaml_scan *s, int column)
{
    while (!s->flow_level && s->indent > column) {
        s->indent = s->indents[--s->n_indents];
        HN_TRY(add(s, HN_YAML_T_BLOCK_END));
    }
    return HN_OK;
}

/* A block begins in this column, unless it has. */
static hn_status indent(hn_yaml_scan *s, int column, size_t number, int line,
                        hn_yaml_token_kind kind)
{
    if (s->indent >= column)
        return HN_OK;
    if (s->n_indents > HN_YAML_MAX_DEPTH)
        return hn_yaml_fail(s, line, "too many levels");
    s->indents[s->n_indents++] = s->indent;
    s->indent = column;
    return insert(s, number, (hn_yaml_token){ .kind = kind, .line = line });
}

static hn_status step_with(hn_yaml_scan *s, hn_yaml_token_kind kind, size_t n)
{
    HN_TRY(add(s, kind));
    for (size_t i = 0; i < n; i++)
        hn_yaml_step(s);
    return HN_OK;
}

static hn_status fetch_end(hn_yaml_scan *s)
{
    HN_TRY(unwind(s, -1));
    HN_TRY(drop_key(s));
    s->is_done = true;
    s->first_key = s->n_keys = 0;
    return add(s, HN_YAML_T_END);
}

static hn_status fetch_mark(hn_yaml_scan *s, hn_yaml_token_kind kind)
{
    HN_TRY(unwind(s, -1));
    HN_TRY(drop_key(s));
    s->may_start_key = false;
    return step_with(s, kind, 3);
}

static hn_status fetch_directive(hn_yaml_scan *s)
{
    hn_yaml_token token = { .kind = HN_YAML_T_DIRECTIVE, .line = s->line };
    HN_TRY(unwind(s, -1));
    HN_TRY(drop_key(s));
    s->may_start_key = false;
    hn_status status = hn_yaml_scan_directive(s, &token);
    if (status == HN_OK)
        status = insert(s, next_number(s), token);
    if (status != HN_OK)
        hn_yaml_token_free(s->heap, &token);
    return status;
}

static hn_status fetch_flow_begin(hn_yaml_scan *s, hn_yaml_token_kind kind)
{
    HN_TRY(save_key(s));
    if (s->flow_level == HN_YAML_MAX_DEPTH)
        return hn_yaml_fail_here(s, "too many levels");
    s->flow_level++;
    s->may_start_key = true;
    return step_with(s, kind, 1);
}

static hn_status fetch_flow_end(hn_yaml_scan *s, hn_yaml_token_kind kind)
{
    if (!s->flow_level)
        return hn_yaml_fail_here(s, "a closing bracket without an opening one");
    HN_TRY(drop_key(s));
    s->flow_level--;
    s->may_start_key = false;
    return step_with(s, kind, 1);
}

/* "- ", "? ", or ": " behind no key of this line. */
static hn_status fetch_in_block(hn_yaml_scan *s, hn_yaml_token_kind block,
                                hn_yaml_token_kind kind)
{
    if (!s->flow_level && !s->may_start_key)
        return hn_yaml_fail_here(s, kind == HN_YAML_T_BLOCK_ENTRY
                                        ? "a list that begins on the line of its key"
                                        : "a mapping within a text, or on the line of its key");
    if (!s->flow_level)
        HN_TRY(indent(s, s->column, next_number(s), s->line, block));
    s->may_start_key = kind == HN_YAML_T_BLOCK_ENTRY || !s->flow_level;
    HN_TRY(drop_key(s));
    return step_with(s, kind, 1);
}

static hn_status fetch_value(hn_yaml_scan *s)
{
    const hn_yaml_key *found = key_of_level(s);
    if (!found)
        return fetch_in_block(s, HN_YAML_T_BLOCK_MAP, HN_YAML_T_VALUE);
    const hn_yaml_key key = *found;
    s->n_keys--;
    HN_TRY(insert(s, key.token, (hn_yaml_token){ .kind = HN_YAML_T_KEY, .line = key.line }));
    if (!s->flow_level)
        HN_TRY(indent(s, key.column, key.token, key.line, HN_YAML_T_BLOCK_MAP));
    s->may_start_key = false;
    return step_with(s, HN_YAML_T_VALUE, 1);
}

static hn_status fetch_name(hn_yaml_scan *s, hn_yaml_token_kind kind)
{
    hn_str text = hn_str_on(s->heap);
    const int line = s->line;
    HN_TRY(save_key(s));
    s->may_start_key = false;
    const hn_status status = hn_yaml_scan_anchor(s, &text);
    if (status != HN_OK) {
        hn_str_free(&text);
        return status;
    }
    return add_text(s, (hn_yaml_token){ .kind = kind, .line = line }, &text);
}

static hn_status fetch_tag(hn_yaml_scan *s)
{
    hn_str text = hn_str_on(s->heap), handle = hn_str_on(s->heap);
    hn_yaml_token token = { .kind = HN_YAML_T_TAG, .line = s->line };
    bool has_handle = false;
    HN_TRY(save_key(s));
    s->may_start_key = false;
    hn_status status = hn_yaml_scan_tag(s, &handle, &has_handle, &text);
    if (status == HN_OK)
        status = hn_str_status(&handle);
    if (status == HN_OK && has_handle) {
        token.handle = hn_strdup(s->heap, HN_TAG_TEXT, handle.text);
        status = token.handle ? HN_OK : HN_ERR_MEMORY;
    }
    hn_str_free(&handle);
    if (status != HN_OK) {
        hn_str_free(&text);
        return status;
    }
    return add_text(s, token, &text);
}

static hn_status fetch_scalar(hn_yaml_scan *s)
{
    const char c = hn_yaml_peek(s, 0);
    const bool is_quoted = c == '"' || c == '\'';
    const bool is_block = !s->flow_level && (c == '|' || c == '>');
    hn_yaml_token token = { .kind = HN_YAML_T_SCALAR,
                            .line = s->line,
                            .is_plain = !is_quoted && !is_block };
    hn_str text = hn_str_on(s->heap);
    HN_TRY(is_block ? drop_key(s) : save_key(s));
    s->may_start_key = is_block;
    const hn_status status = is_block    ? hn_yaml_scan_block(s, &text)
                             : is_quoted ? hn_yaml_scan_quoted(s, &text)
                                         : hn_yaml_scan_plain(s, &text);
    if (status != HN_OK) {
        hn_str_free(&text);
        return status;
    }
    return add_text(s, token, &text);
}

/* Spaces, comments and line breaks, and a byte order mark that the text begins with. */
static void skip_to_token(hn_yaml_scan *s)
{
    if (!s->index && hn_yaml_peek(s, 0) == '\xef' && hn_yaml_peek(s, 1) == '\xbb' &&
        hn_yaml_peek(s, 2) == '\xbf')
        hn_yaml_step(s);
    for (;;) {
        hn_yaml_skip_spaces(s);
        if (hn_yaml_peek(s, 0) == '#')
            hn_yaml_skip_line(s);
        if (hn_yaml_peek(s, 0) != '\n')
            return;
        hn_yaml_step(s);
        s->may_start_key = s->may_start_key || !s->flow_level;
    }
}

/* What may stand at the beginning of a plain text. */
static bool starts_plain(const hn_yaml_scan *s, char c, bool is_before_blank)
{
    if (!strchr("-?:,[]{}#&*!|>'\"%@`", c))
        return true;
    return !is_before_blank && (c == '-' || (!s->flow_level && (c == '?' || c == ':')));
}

static hn_status fetch(hn_yaml_scan *s)
{
    skip_to_token(s);
    HN_TRY(drop_stale_keys(s));
    HN_TRY(unwind(s, s->column));
    const char c = hn_yaml_peek(s, 0);
    const bool is_before_blank = hn_yaml_is_blank(hn_yaml_peek(s, 1));
    if (!c)
        return fetch_end(s);
    if (!s->column && c == '%')
        return fetch_directive(s);
    if (!s->column && hn_yaml_at_mark(s, "---"))
        return fetch_mark(s, HN_YAML_T_DOCUMENT);
    if (!s->column && hn_yaml_at_mark(s, "..."))
        return fetch_mark(s, HN_YAML_T_DOCUMENT_END);
    if (c == '[' || c == '{')
        return fetch_flow_begin(s, c == '[' ? HN_YAML_T_FLOW_LIST : HN_YAML_T_FLOW_MAP);
    if (c == ']' || c == '}')
        return fetch_flow_end(s, c == ']' ? HN_YAML_T_FLOW_LIST_END : HN_YAML_T_FLOW_MAP_END);
    if (c == ',') {
        s->may_start_key = true;
        HN_TRY(drop_key(s));
        return step_with(s, HN_YAML_T_FLOW_ENTRY, 1);
    }
    if (c == '-' && is_before_blank)
        return fetch_in_block(s, HN_YAML_T_BLOCK_LIST, HN_YAML_T_BLOCK_ENTRY);
    if (c == '?' && (s->flow_level || is_before_blank))
        return fetch_in_block(s, HN_YAML_T_BLOCK_MAP, HN_YAML_T_KEY);
    if (c == ':' && (s->flow_level || is_before_blank))
        return fetch_value(s);
    if (c == '*' || c == '&')
        return fetch_name(s, c == '*' ? HN_YAML_T_ALIAS : HN_YAML_T_ANCHOR);
    if (c == '!')
        return fetch_tag(s);
    if (c == '\'' || c == '"' || (!s->flow_level && (c == '|' || c == '>')) ||
        starts_plain(s, c, is_before_blank))
        return fetch_scalar(s);
    return hn_yaml_fail_here(s, "a character that no value begins with");
}

/* Whether the first token may yet turn out to begin a key. */
static hn_status needs_more(hn_yaml_scan *s, bool *out)
{
    *out = !s->is_done && s->head == s->n_tokens;
    if (s->is_done || *out)
        return HN_OK;
    HN_TRY(drop_stale_keys(s));
    *out = s->first_key < s->n_keys && s->keys[s->first_key].token == s->n_taken;
    return HN_OK;
}

hn_yaml_token_kind hn_yaml_next(hn_yaml_scan *s)
{
    while (s->status == HN_OK) {
        bool more = false;
        s->status = needs_more(s, &more);
        if (s->status == HN_OK && !more)
            return s->head < s->n_tokens ? s->tokens[s->head].kind : HN_YAML_T_END;
        if (s->status == HN_OK)
            s->status = fetch(s);
    }
    return HN_YAML_T_FAILED;
}

const hn_yaml_token *hn_yaml_peek_token(const hn_yaml_scan *s) { return &s->tokens[s->head]; }

hn_yaml_token hn_yaml_take(hn_yaml_scan *s)
{
    s->n_taken++;
    return s->tokens[s->head++];
}

void hn_yaml_token_free(hn_heap *heap, hn_yaml_token *token)
{
    hn_free(heap, token->text);
    hn_free(heap, token->handle);
    token->text = token->handle = NULL;
}

void hn_yaml_scan_free(hn_yaml_scan *s)
{
    for (size_t i = s->head; i < s->n_tokens; i++)
        hn_yaml_token_free(s->heap, &s->tokens[i]);
    hn_free(s->heap, s->tokens);
}
