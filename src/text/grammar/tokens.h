/* tokens.h: the texts of a vocabulary as a tree of their bytes: what begins alike is walked once. Made once, then only read. */
#ifndef HN_TEXT_GRAMMAR_TOKENS_H
#define HN_TEXT_GRAMMAR_TOKENS_H

#include "base/str.h"

typedef struct hn_token_node {
    uint32_t next;  /* the node after all that begin with this one */
    uint32_t first; /* of `ids`: its own, and after them those of the nodes below */
    uint8_t byte, depth; /* from 1 */
    uint8_t below;  /* characters of the longest that begins with it, beyond its own */
    uint8_t whole;  /* bit s: what is below is UTF-8 that goes on in hn_utf8_state s, perhaps cut off */
    bool is_ascii;  /* all below it */
} hn_token_node;

/* What a character that has begun still wants. */
typedef enum hn_utf8_state {
    HN_UTF8_BEGIN,
    HN_UTF8_ONE, /* bytes that continue it */
    HN_UTF8_TWO,
    HN_UTF8_THREE,
    HN_UTF8_E0, /* after these, some of them */
    HN_UTF8_ED,
    HN_UTF8_F0,
    HN_UTF8_F4,
    HN_N_UTF8_STATES
} hn_utf8_state;
hn_utf8_state hn_utf8_after(hn_utf8_state state, uint8_t byte); /* HN_N_UTF8_STATES: the byte does not go on with it */

typedef enum hn_token_class {
    HN_TOKEN_IS_NOTHING, /* of a vocabulary that is longer than its tokenizer, or too long: never */
    HN_TOKEN_IS_TEXT,
    HN_TOKEN_IS_CONTROL, /* has no text */
    HN_TOKEN_IS_END      /* by which a model says that it is done */
} hn_token_class;

enum { HN_TOKEN_MAX_BYTES = 250 };

typedef struct hn_tokens {
    hn_heap *heap;
    hn_token_node *nodes; /* in the order of their texts; after them one more, which ends them */
    uint64_t (*bytes)[2]; /* of ASCII that are below each node */
    int32_t *ids;         /* of text, in that order */
    uint8_t *chars;       /* [n_ids]: characters that begin in each */
    uint8_t *class;       /* [n_vocab] */
    uint32_t *at;         /* [n_vocab + 1]: of `text` */
    hn_str text;
    uint32_t n_nodes, n_ids;
    int32_t n_vocab;
} hn_tokens;

typedef struct hn_token_source {
    const void *context;
    int32_t n_vocab;
    /* Adds a token's text to `to`. */
    hn_status (*text)(const void *context, int32_t id, hn_str *to, hn_token_class *out);
} hn_token_source;

hn_status hn_tokens_new(hn_tokens **out, hn_heap *heap, const hn_token_source *source);
void hn_tokens_free(hn_tokens *tokens); /* takes NULL */

static inline const uint8_t *hn_tokens_text(const hn_tokens *t, int32_t id, size_t *bytes)
{
    *bytes = t->at[id + 1] - t->at[id];
    return (const uint8_t *)t->text.text + t->at[id];
}

#endif
