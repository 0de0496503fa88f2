/* sequences.h: many sequences on one model, run together.
 *
 * A step takes a piece of any length from each of many sequences, whose keys it adds to: prompts, single
 * tokens, drafts. The logits of every row have the bits that running its sequence alone would give, however
 * it was cut, whatever ran beside it and wherever its keys lie.
 *
 *     sequence 0  | block 0 | block 4 |          tokens, and a table of blocks of 64 keys
 *     sequence 1  | block 0 | block 2 | block 7 |    forked from it: what they share is there once
 *
 * Keys lie in blocks counted from each sequence's own start (key_blocks.h). A fork holds its origin's
 * blocks; who writes to a block that another holds too gets a copy first. Layers that see a window have
 * blocks of their own, and of those a sequence keeps a window and one step. After hn_sequences_new nothing is
 * allocated. */
#ifndef HN_INFER_SEQUENCES_H
#define HN_INFER_SEQUENCES_H

#include "backend/program.h"
#include "base/str.h"
#include "base/word_list.h"
#include "infer/adapter.h"
#include "infer/compiled.h"
#include "models/model.h"

typedef struct hn_sequences hn_sequences;

/* Types that a cache of keys and values may have. */
enum { HN_CACHE_TYPES = 5 };
extern const hn_dtype hn_cache_types[HN_CACHE_TYPES];
const char *hn_cache_words(hn_word_text *text); /* "f32, f16 or ..." */

typedef struct hn_sequences_options {
    int64_t n_sequences; /* open at a time, */
    int64_t n_open;      /* or only so many of them; 0: all */
    int64_t n_ctx;       /* longest sequence; 0: 4096, or the model's context if that is less */
    int64_t max_tokens;  /* a step; 0: 512 */
    int64_t max_rows;    /* of logits a step; 0: one for each sequence */
    int64_t n_blocks;    /* of 64 keys; 0: as many as all that are open take at their longest */
    hn_dtype cache;      /* of keys and values: HN_F32 (0; in bf16, HN_BF16, which holds as much there), f16,
                          * bf16, q8_0, q4_0 */
    bool packs;          /* weights are copied into panels, which are read faster; the same bits. Their mapped
                          * pages leave memory */
    bool keeps_all;      /* layers with a window keep everything too */
    bool keeps_states;   /* hn_sequences_state */
    const hn_adapters *adapters; /* of all sequences; NULL: none; they must outlive it */
    const nn_build_options *changed; /* weights and adapters of these alone, in the place of `adapters`, for who trains them; NULL: none.
                                      * They have no identity: what was run with them is not saved */
    int64_t n_adapters;  /* room for adapters of single sequences, which come and go */
    int64_t max_rank;    /* of these; 0: 16 */
    bool adapts_experts, adapts_head; /* these may change experts, and a head of its own */
} hn_sequences_options;

/* The model must outlive it. HN_ERR_UNSUPPORTED: a type that caches have not; HN_ERR_SHAPE: keys that its
 * blocks do not divide. */
hn_status hn_sequences_new(hn_sequences **out, hn_heap *heap, const hn_model *model, hn_run_spec run,
                       const hn_sequences_options *options);
/* The same without its memory: it can be looked at, and not be run. */
hn_status hn_sequences_plan(hn_sequences **out, hn_heap *heap, const hn_model *model, hn_run_spec run,
                        const hn_sequences_options *options);
void hn_sequences_free(hn_sequences *all); /* takes NULL */

/* An adapter that sequences may be opened with: *slot stands for it. Its low-rank changes of the layers
 * matrices are copied, and it must be there as long. HN_ERR_UNSUPPORTED, naming the tensor: magnitudes, whole tensors, the embedding,
 * and what there is no room for, need sequences of their own; HN_ERR_BUSY: all room is taken. */
hn_status hn_sequences_add_adapter(hn_sequences *all, const hn_adapter *adapter, int32_t *slot);
/* HN_ERR_BUSY: a sequence that is open has it, or keys that are lent. */
hn_status hn_sequences_remove_adapter(hn_sequences *all, int32_t slot);

/* The name of what is opened next in the place of one that had this name, of n places. */
static inline int32_t hn_name_after(int32_t name, int32_t n)
{
    return name > INT32_MAX - n ? name % n : name + n;
}

/* A sequence without tokens, whose adapter is that of `slot`, or -1 for none; its name is never that of one which was closed. HN_ERR_BUSY: all are open. */
hn_status hn_sequences_open(hn_sequences *all, int32_t slot, int32_t *sequence);
/* The same by a name of the caller's, for whoever has several of these with one row of names: name % n_sequences is its
 * place, which is free. */
hn_status hn_sequences_open_as(hn_sequences *all, int32_t slot, int32_t name);
hn_status hn_sequences_check_slot(const hn_sequences *all, int32_t slot);
void hn_sequences_close(hn_sequences *all, int32_t sequence); /* takes one that is not open */
/* Another with the first `length` tokens of this one, their keys, and its adapter. */
hn_status hn_sequences_fork(hn_sequences *all, int32_t sequence, int64_t length, int32_t *out);
hn_status hn_sequences_fork_as(hn_sequences *all, int32_t sequence, int64_t length, int32_t name);
/* Cuts a sequence back. */
hn_status hn_sequences_trim(hn_sequences *all, int32_t sequence, int64_t length);
/* How much of the first `length` tokens can be kept by a fork or a trim: all of them, or nothing where the
 * window before what would follow is gone. */
int64_t hn_sequences_usable(const hn_sequences *all, int32_t sequence, int64_t length);

/* What comes next in one sequence, and of how many of its tokens the logits are wanted: of `wanted`, which ascend and are
 * counted from the piece's first, or, without them, of the last. */
typedef struct hn_piece {
    int32_t sequence;
    const int32_t *tokens;
    int64_t n, n_wanted;
    const int32_t *wanted;
} hn_piece;

/* Of a piece alone: what hn_sequences_step refuses it for. */
hn_status hn_sequences_check(const hn_sequences *all, const hn_piece *piece);
/* Runs all pieces, or none: on failure every sequence has the tokens that it had. HN_ERR_ARGUMENT: an empty
 * piece, a sequence twice, more than fits into a step or a context, a token that the vocabulary has not;
 * HN_ERR_MEMORY: fewer blocks are free than the step needs. */
hn_status hn_sequences_step(hn_sequences *all, const hn_piece *pieces, int64_t n, const hn_run_options *options);
/* [vocabulary] f32 of wanted row number `row` of the last step, counted over its pieces; until the next. */
const float *hn_sequences_logits(const hn_sequences *all, int64_t row);
/* [width] of its state after the final norm, which the head takes; NULL where states are not kept. */
const float *hn_sequences_state(const hn_sequences *all, int64_t row);

int64_t hn_sequences_length(const hn_sequences *all, int32_t sequence); /* tokens whose keys are held; -1: not open */
const int32_t *hn_sequences_tokens(const hn_sequences *all, int32_t sequence); /* those; NULL: not open */
int64_t hn_sequences_context(const hn_sequences *all);
int64_t hn_sequences_max_tokens(const hn_sequences *all);
int64_t hn_sequences_max_rows(const hn_sequences *all);
int64_t hn_sequences_free_blocks(const hn_sequences *all, int64_t *of_or_null);
/* Blocks that a step of these pieces takes. */
int64_t hn_sequences_needs(const hn_sequences *all, const hn_piece *pieces, int64_t n);

/* What it takes. */
size_t hn_sequences_cache_bytes(const hn_sequences *all);
size_t hn_sequences_workspace(const hn_sequences *all);
size_t hn_sequences_packed_bytes(const hn_sequences *all); /* of weights copied into panels; 0 once made */
size_t hn_sequences_program_bytes(const hn_sequences *all);
const hn_plan *hn_sequences_look(const hn_sequences *all);
const hn_compiled *hn_sequences_compiled(const hn_sequences *all);

/* ---- blocks that are lent ---- */

/* The keys of 64 tokens that a sequence ran, which outlive it. */
typedef struct hn_lent_keys {
    int32_t all, window; /* blocks of layers that see everything, and of those with a window; -1: not held */
    int32_t slot;        /* of the adapter that they were computed with; -1: none */
} hn_lent_keys;

#define HN_NO_KEYS ((hn_lent_keys){ -1, -1, -1 })

/* Those of tokens [64 i, 64 i + 64) of an open sequence, all of which it has: what is not held yet is held from now on. Its adapter stays
 * as long as any are. */
void hn_sequences_lend(hn_sequences *all, int32_t sequence, int64_t i, hn_lent_keys *keys);
void hn_sequences_take_back(hn_sequences *all, hn_lent_keys *keys);
void hn_sequences_take_back_window(hn_sequences *all, hn_lent_keys *keys); /* of layers with a window alone */
/* Whether taking them back frees a block: nobody else holds it. */
bool hn_sequences_frees(const hn_sequences *all, const hn_lent_keys *keys);
bool hn_sequences_frees_window(const hn_sequences *all, const hn_lent_keys *keys);

int64_t hn_sequences_lent(const hn_sequences *all); /* blocks, in all */

/* How many of the first n lent blocks of a text a sequence can begin with: those before which the window is there too. */
int64_t hn_sequences_can_begin(const hn_sequences *all, const hn_lent_keys *const *keys, int64_t n);
/* An open sequence without tokens begins with n of them, whose tokens these are; it has their adapter. Nothing is copied. */
void hn_sequences_begin(hn_sequences *all, int32_t sequence, const int32_t *tokens, const hn_lent_keys *const *keys, int64_t n);
/* Keys of a lent block as bytes: of all layers, or of those that have no window of their own. */
size_t hn_sequences_lent_bytes(const hn_sequences *all, bool with_window);
hn_status hn_sequences_read_lent(const hn_sequences *all, const hn_lent_keys *keys, void *to);
/* A block that is free takes them, lent; those of a window too, if they are there and have room. HN_ERR_FORMAT: another number of bytes. */
hn_status hn_sequences_take_lent(hn_sequences *all, int32_t slot, const void *data, size_t bytes, hn_lent_keys *keys);
/* Lines of what keys were computed with: whatever has the same lines has the same keys for the same tokens. */
hn_status hn_sequences_describe(hn_sequences *all, int32_t slot, hn_str *out);
/* Blocks that a step of these pieces takes beyond those that are free. Where none are lent, layers with a window lack none. */
int64_t hn_sequences_lacks(const hn_sequences *all, const hn_piece *pieces, int64_t n, bool of_windows);

/* Writes a sequence, keys and values to a GGUF file: whole, or not at all. */
hn_status hn_sequences_save(const hn_sequences *all, int32_t sequence, const char *path);
/* Takes them back instead of what the sequence has, among sequences of any size that holds them. HN_ERR_FORMAT if
 * the file is damaged or was made with another model, adapter, numerics or type of cache; then, as with too
 * few free blocks (HN_ERR_MEMORY), the sequence is as before. */
hn_status hn_sequences_restore(hn_sequences *all, int32_t sequence, const char *path);

#endif
