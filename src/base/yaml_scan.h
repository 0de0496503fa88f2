/* yaml_scan.h: the tokens of a YAML text; for yaml*.c alone. The rules are PyYAML's scanner's,
 * which differ from the specification's in places, so its shape is kept. */
#ifndef HN_BASE_YAML_SCAN_H
#define HN_BASE_YAML_SCAN_H

#include "base/str.h"
#include "base/yaml.h"

typedef enum hn_yaml_token_kind {
    HN_YAML_T_FAILED, /* the scan's status says why; every further one too */
    HN_YAML_T_END,
    HN_YAML_T_DIRECTIVE, /* `handle` and `text` of %TAG; `has_version` of %YAML */
    HN_YAML_T_DOCUMENT,
    HN_YAML_T_DOCUMENT_END,
    HN_YAML_T_BLOCK_LIST,
    HN_YAML_T_BLOCK_MAP,
    HN_YAML_T_BLOCK_END,
    HN_YAML_T_FLOW_LIST,
    HN_YAML_T_FLOW_MAP,
    HN_YAML_T_FLOW_LIST_END,
    HN_YAML_T_FLOW_MAP_END,
    HN_YAML_T_BLOCK_ENTRY,
    HN_YAML_T_FLOW_ENTRY,
    HN_YAML_T_KEY,
    HN_YAML_T_VALUE,
    HN_YAML_T_ALIAS,
    HN_YAML_T_ANCHOR,
    HN_YAML_T_TAG, /* `handle`, NULL if there is none, and `text` */
    HN_YAML_T_SCALAR
} hn_yaml_token_kind;

typedef struct hn_yaml_token {
    hn_yaml_token_kind kind;
    int line;
    bool is_plain, has_version;
    char *text, *handle; /* on the heap; of who takes the token */
    size_t bytes;
} hn_yaml_token;

/* Where a key may have begun that is seen as one at its colon. */
typedef struct hn_yaml_key {
    size_t token, index;
    int line, column, level;
    bool is_required;
} hn_yaml_key;

typedef struct hn_yaml_scan {
    hn_heap *heap;
    const char *name;
    const char *at, *end; /* *end is no part of the text, and never read */
    size_t index;         /* characters before the place */
    int line, column;
    int flow_level, indent;
    bool may_start_key, is_done;
    hn_status status;

    int indents[HN_YAML_MAX_DEPTH + 2];
    int n_indents;
    hn_yaml_key keys[HN_YAML_MAX_DEPTH + 2]; /* from first_key on, of rising levels */
    int first_key, n_keys;

    hn_yaml_token *tokens; /* from `head` on */
    size_t head, n_tokens, room;
    size_t n_taken;
} hn_yaml_scan;

/* `s` is zero but for heap, name, text, line and indent, which is -1. */
void hn_yaml_scan_free(hn_yaml_scan *s);

/* The kind of the next token, which hn_yaml_peek_token then gives. */
hn_yaml_token_kind hn_yaml_next(hn_yaml_scan *s);
const hn_yaml_token *hn_yaml_peek_token(const hn_yaml_scan *s);
/* The token that hn_yaml_next saw. Its texts are the caller's. */
hn_yaml_token hn_yaml_take(hn_yaml_scan *s);
void hn_yaml_token_free(hn_heap *heap, hn_yaml_token *token);

hn_status hn_yaml_fail(const hn_yaml_scan *s, int line, const char *what);
hn_status hn_yaml_fail_here(const hn_yaml_scan *s, const char *what);

/* The byte `ahead` of the place; NUL at the end, and in no text. */
static inline char hn_yaml_peek(const hn_yaml_scan *s, size_t ahead)
{
    return ahead < (size_t)(s->end - s->at) ? s->at[ahead] : '\0';
}

static inline bool hn_yaml_is_blank(char c) { return !c || c == ' ' || c == '\n'; }

/* Past one character, if there is one. */
void hn_yaml_step(hn_yaml_scan *s);
void hn_yaml_skip_spaces(hn_yaml_scan *s);
void hn_yaml_skip_line(hn_yaml_scan *s); /* up to its end */
/* Whether "---" or "..." stands here, alone or before a blank. */
bool hn_yaml_at_mark(const hn_yaml_scan *s, const char *mark);

/* The bodies of tokens whose first character is at the place. */
hn_status hn_yaml_scan_plain(hn_yaml_scan *s, hn_str *text);
hn_status hn_yaml_scan_quoted(hn_yaml_scan *s, hn_str *text);
hn_status hn_yaml_scan_block(hn_yaml_scan *s, hn_str *text);
hn_status hn_yaml_scan_anchor(hn_yaml_scan *s, hn_str *text); /* or an alias */
hn_status hn_yaml_scan_tag(hn_yaml_scan *s, hn_str *handle, bool *has_handle, hn_str *text);
hn_status hn_yaml_scan_directive(hn_yaml_scan *s, hn_yaml_token *token);

#endif
