/* grammar.h: a language of byte strings, as rules that call each other: what texts a model may write.
 *
 * It is made of a JSON schema, a regular expression or GBNF, knows no tokenizer, and is only read once it is made. Making one
 * is bounded by limits on counts, never on time: what is refused is refused everywhere. docs/grammar.md has the dialects. */
#ifndef HN_TEXT_GRAMMAR_GRAMMAR_H
#define HN_TEXT_GRAMMAR_GRAMMAR_H

#include "base/heap.h"

/* What a lazy grammar waits for: texts, and special tokens by their names. */
enum { HN_MOST_TRIGGERS = 16, HN_TRIGGER_BYTES = 256 };
typedef struct hn_grammar_triggers {
    const char *const *texts, *const *tokens;
    int32_t n_texts, n_tokens;
} hn_grammar_triggers;

typedef struct hn_grammar_limits {
    int64_t bytes;      /* of the source */
    int64_t depth;      /* of what nests in the source */
    int64_t references; /* $ref that are followed, rules that are called */
    int64_t repetition; /* the largest count of a repetition or of a length */
    int64_t states;     /* of all that is made of it */
    int64_t steps;      /* of making it, and of one mask */
    int64_t nesting;    /* calls within calls, in a text that is read by it */
    int64_t ways;       /* in which a text may be read at a time */
    hn_grammar_triggers triggers;
} hn_grammar_limits;

#define HN_GRAMMAR_DEFAULTS                                                                                            \
    {                                                                                                                  \
        .bytes = 1 << 20, .depth = 64, .references = 1 << 16, .repetition = 1 << 16, .states = 1 << 19,                \
        .steps = 1 << 26, .nesting = 256, .ways = 1 << 14                                                              \
    }

typedef enum hn_edge_kind {
    HN_EDGE_BYTE,  /* one of low to high */
    HN_EDGE_EMPTY,
    HN_EDGE_CALL,  /* what rule `what` has */
    HN_EDGE_TOKEN, /* the special token with name `what` */
    HN_EDGE_OTHER_TOKEN, /* every other token */
    HN_EDGE_CONTROL /* any token that has no text */
} hn_edge_kind;

typedef struct hn_edge {
    uint8_t kind, low, high;
    uint32_t what, to;
} hn_edge;

typedef struct hn_rule {
    uint32_t start;
    uint32_t order;  /* who calls another before any byte comes before it */
    uint32_t height; /* calls that it needs within it, at least */
    bool is_nullable;
} hn_rule;

/* The id of a token, or its text. */
typedef struct hn_named_token {
    int32_t id; /* -1: by text */
    const char *text;
    uint32_t bytes;
} hn_named_token;

/* Node 0 is where every text ends; it has no edge. */
typedef struct hn_grammar {
    hn_heap *heap;
    hn_grammar_limits limits;
    uint32_t *first; /* [n_nodes + 1]: of the edges of a node */
    hn_edge *edges;
    uint32_t *height; /* [n_nodes]: calls that are needed from there to the end of its rule */
    uint8_t *ends;    /* [n_nodes]: its rule may end there */
    hn_rule *rules;
    hn_named_token *tokens;
    char *token_text;
    uint32_t n_nodes, n_edges, n_rules, n_tokens, root;
    uint8_t classes[256]; /* bytes that no edge tells apart have the same */
    uint32_t n_classes;
} hn_grammar;

/* HN_ERR_FORMAT: malformed; HN_ERR_UNSUPPORTED: what no mask can hold, by name, or a limit; HN_ERR_ARGUMENT: nothing can
 * satisfy it. */
hn_status hn_grammar_from_schema(hn_heap *heap, const char *text, size_t bytes, const hn_grammar_limits *limits, hn_grammar **out);
hn_status hn_grammar_from_regex(hn_heap *heap, const char *text, size_t bytes, const hn_grammar_limits *limits, hn_grammar **out);
hn_status hn_grammar_from_gbnf(hn_heap *heap, const char *text, size_t bytes, const hn_grammar_limits *limits, hn_grammar **out);
/* Whether nothing but its rule's end comes after a node: a call that goes on there goes on where its caller does. */
static inline bool hn_grammar_is_last(const hn_grammar *g, uint32_t node)
{
    enum { FAR = 64 };
    for (int i = 0; i < FAR; i++) {
        const uint32_t first = g->first[node], n = g->first[node + 1] - first;
        if (n != 1 || g->ends[node] || g->edges[first].kind != HN_EDGE_EMPTY)
            return !n && g->ends[node];
        node = g->edges[first].to;
    }
    return false;
}

void hn_grammar_free(hn_grammar *grammar); /* takes NULL */

#endif
