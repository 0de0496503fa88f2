/* sequences_state.h: what many sequences hold; for sequences.c, sequences_keys.c and sequences_file.c. */
#ifndef HN_INFER_SEQUENCES_STATE_H
#define HN_INFER_SEQUENCES_STATE_H

#include "infer/sequences.h"
#include "infer/compiled.h"
#include "infer/key_blocks.h"

#include "ops/attention_span.h"

typedef struct hn_sequence {
    int32_t name; /* of the sequence that is open here; -1: none is */
    int32_t next; /* the name of the next one */
    int64_t length;
    int64_t first;   /* layers with a window hold keys [first, length), from a block's beginning */
    int32_t *tokens; /* [n_ctx] */
    int32_t slot;    /* of its adapter, or -1 */
} hn_sequence;

/* Blocks of the layers that see everything, and of those with a window if they have blocks of their own. */
typedef struct hn_key_room {
    hn_key_blocks blocks;
    int32_t *table; /* [n_sequences, each]; -1: no block */
    bool is_window;
} hn_key_room;

/* What must be the same of whoever takes keys that were kept; of the adapters, those of a slot too. */
typedef struct hn_sequences_identity {
    char model[65], adapters[65];
    const char *numerics, *cache; /* numerics NULL: not known yet */
} hn_sequences_identity;

/* Adapters that sequences may have, and for each matrix with room, in the graph's order, their ranks and scales. */
typedef struct hn_bank {
    int32_t n;                /* slots */
    const hn_adapter **at;    /* [n]; NULL: free */
    int32_t *ranks;           /* [n_banked, n] */
    float *scales;            /* the same */
    int64_t *n_lent;          /* [n] blocks that were computed with each */
    hn_sequences_identity *identities; /* [n] */
} hn_bank;

enum { HN_ROOM_ALL, HN_ROOM_WINDOW, HN_KEY_ROOMS };

struct hn_sequences {
    hn_heap *heap;
    const hn_model *model;
    const hn_adapters *adapters; /* or NULL */
    const nn_build_options *changed; /* or NULL */
    hn_run_spec run;
    bool packs;
    hn_dtype cache;
    hn_compiled c;
    int64_t n_ctx, n_sequences, n_open, max_tokens, max_rows;
    int64_t each;   /* blocks of a sequence at most */
    int64_t keeps;  /* keys that layers with a window keep; 0: they keep everything */
    hn_sequence *sequences;
    hn_key_room rooms[HN_KEY_ROOMS];
    int n_rooms;
    int64_t n_lent; /* blocks */
    hn_sequences_identity own_identity; /* without a slot */
    hn_bank bank;
    /* Inputs of a step. */
    int32_t *tokens, *positions, *slots, *window_slots, *spans, *rows, *adapter_ids, *row_adapters;
    bool keeps_states;
    const float *logits, *states; /* states: NULL where they are not kept */
    int64_t n_wanted;
};

/* ---- sequences_bank.c: adapters of single sequences ---- */

hn_status hn_bank_new(hn_sequences *all, int64_t n);
/* Its lists are inputs of the graph. */
hn_status hn_bank_bind(hn_sequences *all);
void hn_bank_free(hn_sequences *all);
bool hn_bank_has(const hn_sequences *all, int32_t slot);

/* NULL: not open. */
hn_sequence *hn_sequences_find(const hn_sequences *all, int32_t sequence);

static inline int64_t hn_sequences_slot(const hn_sequences *all, const hn_sequence *s)
{
    return s - all->sequences;
}

static inline int64_t hn_blocks_of(int64_t keys)
{
    return (keys + HN_KEY_BLOCK - 1) / HN_KEY_BLOCK;
}

static inline int32_t *hn_sequences_row(const hn_sequences *all, const hn_sequence *s, int room)
{
    return all->rooms[room].table + hn_sequences_slot(all, s) * all->each;
}

/* ---- sequences_file.c ---- */

hn_status hn_sequences_identify(const hn_sequences *all, int32_t slot, int64_t version, hn_sequences_identity *out);

/* ---- sequences_keys.c: blocks of sequences ---- */

hn_status hn_sequences_keys_new(hn_sequences *all, int64_t n_blocks);
/* No layer has a window: its blocks go. */
void hn_sequences_keys_join(hn_sequences *all);
void hn_sequences_keys_free(hn_sequences *all);
/* Blocks that `more` tokens after `s` take beside those that it has, in this room. */
int64_t hn_sequences_keys_need(const hn_sequences *all, const hn_sequence *s, int room, int64_t more);
/* Blocks that an empty sequence takes for n tokens, of which those before `first` are not held. */
int64_t hn_sequences_keys_need_anew(const hn_sequences *all, int room, int64_t n, int64_t first);
/* Makes room for `more` tokens. HN_ERR_MEMORY: too few blocks are free, which with a window is so only where some are lent. */
hn_status hn_sequences_keys_grow(hn_sequences *all, hn_sequence *s, int room, int64_t more);
/* Gives back what lies behind the first `length` keys. */
void hn_sequences_keys_cut(hn_sequences *all, hn_sequence *s, int64_t length);
void hn_sequences_keys_share(hn_sequences *all, const hn_sequence *from, hn_sequence *to, int64_t length);

/* Whether a leaf of its graph is part of the cache; and the room of one that is. */
static inline bool hn_sequences_caches(const hn_leaf *leaf)
{
    return leaf->kind == HN_LEAF_STATE;
}
int hn_sequences_room(const hn_sequences *all, const hn_leaf *leaf);

#endif
