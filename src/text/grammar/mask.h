/* mask.h: which tokens a grammar allows next: a grammar and a vocabulary, with the states and masks that were met so far.
 *
 * A mask is a function of the state alone; those that were made are kept as long as there is room, and so nothing that anybody
 * is told depends on who asked before. Used by one thread at a time. */
#ifndef HN_TEXT_GRAMMAR_MASK_H
#define HN_TEXT_GRAMMAR_MASK_H

#include "text/grammar/states.h"
#include "text/grammar/tokens.h"

typedef struct hn_masks {
    hn_heap *heap;
    const hn_grammar *g;
    const hn_tokens *tokens;
    hn_states *states;
    int32_t *token_ids; /* of those that the grammar names */
    size_t words;       /* of a mask */
    struct hn_kept_mask *kept; /* by state, as a hash */
    size_t n_kept, most_kept;
    uint64_t cleared; /* of the states, when masks were kept last */
    uint64_t *memory;
} hn_masks;

/* Both live as long. HN_ERR_ARGUMENT: the grammar names a token that there is not. */
hn_status hn_masks_new(hn_masks **out, hn_heap *heap, const hn_grammar *g, const hn_tokens *tokens);
void hn_masks_free(hn_masks *masks); /* takes NULL */

/* The state after a token; HN_STATE_DEAD: it is not allowed. A token that ends the text leads nowhere. */
hn_status hn_masks_token(hn_masks *m, uint32_t state, int32_t id, uint32_t *out);

/* A bit for each id, 64 a word; they live until the next call. HN_ERR_UNSUPPORTED: it took too many steps. */
typedef struct hn_mask {
    const uint64_t *bits;
    int32_t n_allowed, first; /* the lowest of them; -1: none */
} hn_mask;
hn_status hn_masks_of(hn_masks *m, uint32_t state, hn_mask *out);

/* What was kept is thrown away when it is too much; numbers of states are not what they were. True: it was. */
bool hn_masks_tidy(hn_masks *m);

#endif
