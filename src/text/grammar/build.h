/* build.h: how rules are put together. Private to this folder.
 *
 * Failure is sticky: after it, calls give node 0 and do nothing, and hn_build_finish says what it was. */
#ifndef HN_TEXT_GRAMMAR_BUILD_H
#define HN_TEXT_GRAMMAR_BUILD_H

#include "text/grammar/grammar.h"
#include "text/unicode/charset.h"

typedef struct hn_build_edge {
    hn_edge edge;
    uint32_t from;
} hn_build_edge;

typedef struct hn_build_rule {
    uint32_t start, end;
    const char *name; /* of messages; lives as long as the build, or NULL */
    size_t name_bytes;
} hn_build_rule;

typedef struct hn_build {
    hn_heap *heap;
    hn_grammar_limits limits;
    hn_status status;
    hn_build_edge *edges;
    hn_build_rule *rules;
    hn_named_token *tokens; /* their texts live as long as the build */
    size_t n_edges, edge_room, n_rules, rule_room, n_tokens, token_room;
    uint32_t n_nodes;
    int64_t n_steps;
} hn_build;

hn_build hn_build_on(hn_heap *heap, const hn_grammar_limits *limits);
void hn_build_free(hn_build *b);

uint32_t hn_build_node(hn_build *b);
void hn_build_bytes(hn_build *b, uint32_t from, uint8_t low, uint8_t high, uint32_t to);
void hn_build_empty(hn_build *b, uint32_t from, uint32_t to);
void hn_build_call(hn_build *b, uint32_t from, uint32_t rule, uint32_t to);
void hn_build_text(hn_build *b, uint32_t from, const char *text, size_t bytes, uint32_t to);
/* Characters as UTF-8. */
void hn_build_chars(hn_build *b, uint32_t from, uint32_t low, uint32_t high, uint32_t to);
void hn_build_control(hn_build *b, uint32_t from, uint32_t to); /* any token without text that the grammar does not name */
void hn_build_token(hn_build *b, uint32_t from, hn_edge_kind kind, int32_t id, const char *text, size_t bytes, uint32_t to);
uint32_t hn_build_rule_new(hn_build *b);
/* The rule of what a JSON schema allows; nothing of its text is kept. */
uint32_t hn_build_schema(hn_build *b, const char *text, size_t bytes);
/* A rule that has any text, and may end there; from after the first trigger on, what `rule` has. */
uint32_t hn_build_lazy(hn_build *b, uint32_t rule);

/* Counts work; false, and the failure is set, when there was too much. */
bool hn_build_step(hn_build *b, int64_t n);
void hn_build_fail(hn_build *b, hn_status status); /* whose message is set */

/* What cannot be finished is left out. `root`: the rule that a text has. */
hn_status hn_build_finish(hn_build *b, uint32_t root, hn_grammar **out);

#endif
