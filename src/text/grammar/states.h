/* states.h: where a text may be in a grammar: the set of all places, with the calls that each returns to.
 *
 * States are made as they are met, kept, and the same number stands for the same set. A call is made once for all who make it at
 * a place in the text: what it returns to is a set, so that a text that may be read in many ways does not have many stacks.
 * A state may be thrown away at hn_states_clear alone; whoever keeps numbers looks at `cleared`. Used by one thread at a time. */
#ifndef HN_TEXT_GRAMMAR_STATES_H
#define HN_TEXT_GRAMMAR_STATES_H

#include "text/grammar/grammar.h"

enum { HN_STATE_UNKNOWN = 0, HN_STATE_DEAD = 1 };

/* A node that has edges, and the calls that it is in; of a stack: where one of its calls goes on. */
typedef struct hn_place {
    uint32_t node, stack; /* stack 0: in none */
} hn_place;

typedef struct hn_place_set {
    uint32_t first, n; /* of the pool */
    uint32_t depth;    /* of a stack: calls */
    bool may_end, reads_tokens;
} hn_place_set;

/* Sets by what they hold. */
typedef struct hn_set_table {
    hn_place_set *at;
    uint32_t n, *slots;
    size_t room, slot_room; /* slots: a power of two */
} hn_set_table;

/* The bytes of ASCII that most lead to one state, and how many of them in a row do not leave what is allowed; is_wide: and so do
 * all other characters. ends: and after so many none of them is allowed. */
typedef struct hn_state_loop {
    uint64_t bytes[2];
    uint32_t to;
    uint8_t is_known, length; /* UINT8_MAX: any number */
    bool is_wide, ends;
} hn_state_loop;

typedef struct hn_states {
    hn_heap *heap;
    const hn_grammar *g;
    const int32_t *token_ids; /* [g->n_tokens] */
    hn_place *pool;
    size_t n_pool, pool_room;
    hn_set_table states, stacks;
    uint32_t *rows;           /* [states, g->n_classes]: the state after a byte of a class */
    hn_state_loop *loops;     /* [states] */
    size_t row_room, loop_room;
    uint32_t begin;
    uint64_t cleared;
    uint8_t *reads; /* [g->n_nodes]: 1: bytes, 2: tokens */
    struct hn_closure *closure;
} hn_states;

/* `token_ids`: of the tokens that the grammar names, and -2 for those that there are none of; lives as long. */
hn_status hn_states_new(hn_states **out, hn_heap *heap, const hn_grammar *g, const int32_t *token_ids);
void hn_states_free(hn_states *states); /* takes NULL */
void hn_states_clear(hn_states *states);
size_t hn_states_bytes(const hn_states *states);

/* The first state; made anew after hn_states_clear. */
hn_status hn_states_begin(hn_states *states, uint32_t *out);
hn_status hn_states_byte(hn_states *states, uint32_t from, uint8_t byte, uint32_t *out);
/* After a token as such, not as its text. */
typedef enum hn_token_as {
    HN_TOKEN_BY_NAME, /* where it is named alone */
    HN_TOKEN_OR_OTHER, /* and where it is any but another */
    HN_TOKEN_OR_CONTROL /* and where it is one without text */
} hn_token_as;
hn_status hn_states_token(hn_states *states, uint32_t from, int32_t id, hn_token_as as, uint32_t *out);
/* Both: what either allows. */
hn_status hn_states_either(hn_states *states, uint32_t a, uint32_t b, uint32_t *out);
hn_status hn_states_loop(hn_states *states, uint32_t state, const hn_state_loop **out);

static inline bool hn_states_may_end(const hn_states *s, uint32_t state)
{
    return s->states.at[state].may_end;
}

/* The state after a byte, if it was met before; HN_STATE_UNKNOWN: not yet. */
static inline uint32_t hn_states_known(const hn_states *s, uint32_t from, uint8_t byte)
{
    return s->rows[(size_t)from * s->g->n_classes + s->g->classes[byte]];
}

#endif
