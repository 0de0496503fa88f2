/* batch.h: many sequences on a model, run together: for who serves.
 *
 *     const size_t size = sizeof(hn_lm_batch_piece);
 *     hn_lm_batch_piece pieces[2] = { { size, a, 1, ids, 300 }, { size, b, 1, &next, 1 } };
 *     hn_lm_batch_step(batch, pieces, 2);
 *     hn_lm_batch_logits(batch, 1);
 *
 * A step takes a piece of any length of each of many sequences: prompts, single tokens, drafts. Every row of
 * logits has the bits that its sequence would have alone, in a session, with its adapter: however it was cut,
 * whatever ran beside it, forked or taken from a file. Weights are there once for all of them.
 *
 * Keys lie in blocks of 64, counted from each sequence's own start, which forks share. A sequence may have an
 * adapter of its own; adapters come and go while sequences are open. What cannot be done to single rows of a product
 * (magnitudes, whole tensors, the embedding, what there is no room for) is run apart: a step runs the sequences that have
 * such an adapter after the others, with keys of their own, and shares with them the weights that it leaves as they are. A
 * sequence's number is never that of one that was closed, until 2^31 have been. After hn_lm_batch_new only adapters and
 * files allocate. */
#ifndef HONE_BATCH_H
#define HONE_BATCH_H

#include "hone/adapter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller frees it, after the scheduler that drives it; it holds its model. Used by one thread at a time, and while a
 * scheduler drives it, by the scheduler's. */
typedef struct hn_lm_batch hn_lm_batch;

typedef struct hn_lm_batch_options {
    size_t size;
    int64_t sequences; /* open at a time; 0: 8 */
    int64_t context;   /* longest sequence; 0: 4096, or the model's if that is less */
    int64_t tokens;    /* a step at most; 0: 512 */
    int64_t rows;      /* of logits a step; 0: one for each sequence */
    int64_t blocks;    /* of 64 keys; 0: what all sequences take at their longest */
    const char *cache; /* of keys and values, as hn_lm_session_options */
    int32_t keeps_all; /* keys beyond their windows too: going back is always possible */
    int32_t mapped;    /* reads weights where they are mapped: starts sooner, runs slower; the same bits */
    int32_t adapters;  /* room for so many adapters of single sequences */
    int32_t max_rank;  /* of these; 0: 16 */
    int32_t adapts_experts, adapts_head; /* there is room for experts, and for a head of its own, too */
    int64_t apart;     /* sequences open at a time with one adapter that is run apart; 0: none, and it is refused */
} hn_lm_batch_options;

/* Weights that nobody has packed yet are packed here: ended by hn_engine_cancel, told of by hn_engine_on_work. */
HN_API hn_status hn_lm_batch_new(hn_lm_batch **out, hn_lm *lm, const hn_lm_batch_options *options_or_null);
HN_API void hn_lm_batch_free(hn_lm_batch *batch); /* takes NULL */

/* ---- adapters of single sequences ---- */

/* Opened and tried as hn_lm_add_adapter does it, after the adapters of the model; *adapter stands for it.
 * What is run apart takes memory for `apart` sequences here: magnitudes (DoRA), whole tensors, the embedding, a larger
 * rank or other matrices than there is room for; HN_ERR_UNSUPPORTED, naming the tensor, without `apart`. HN_ERR_BUSY: all
 * room is taken, or 32 are run apart. HN_ERR_ARGUMENT: it replaces what an adapter of the model replaces. Ended and told of as
 * hn_lm_add_adapter. */
HN_API hn_status hn_lm_batch_add_adapter(hn_lm_batch *batch, const char *path,
                                         const hn_lm_adapter_options *options_or_null, int32_t *adapter);
/* The same, and what was found; zero unless it was tried. */
HN_API hn_status hn_lm_batch_apply_adapter(hn_lm_batch *batch, const char *path, const hn_lm_adapter_options *options_or_null,
                                           int32_t *adapter, hn_lm_adapter_trial *trial, size_t size);
/* HN_ERR_BUSY: a sequence that is open has it, or a scheduler's beginnings (hn_lm_scheduler_forget). */
HN_API hn_status hn_lm_batch_remove_adapter(hn_lm_batch *batch, int32_t adapter);

/* ---- sequences ---- */

/* One without ids. `adapter`: -1, none. HN_ERR_BUSY: as many are open as there may be, in all or with an adapter apart. */
HN_API hn_status hn_lm_batch_open(hn_lm_batch *batch, int32_t adapter, int32_t *sequence);
/* HN_ERR_ARGUMENT: it is not open. */
HN_API hn_status hn_lm_batch_close(hn_lm_batch *batch, int32_t sequence);
/* One more, of the first `length` ids and with the same adapter: nothing is copied or computed. */
HN_API hn_status hn_lm_batch_fork(hn_lm_batch *batch, int32_t sequence, size_t length, int32_t *out);
/* Cuts it back to its first `length` ids. */
HN_API hn_status hn_lm_batch_trim(hn_lm_batch *batch, int32_t sequence, size_t length);
/* How many of the first `length` ids a fork or a trim can keep: all, or none, where layers with a window have
 * given up the keys before them. 0: it is not open. */
HN_API size_t hn_lm_batch_usable(const hn_lm_batch *batch, int32_t sequence, size_t length);
/* Its ids; they live until it is changed. NULL: it is not open. */
HN_API const int32_t *hn_lm_batch_ids(const hn_lm_batch *batch, int32_t sequence, size_t *n);
HN_API int64_t hn_lm_batch_context(const hn_lm_batch *batch);

/* ---- steps ---- */

/* What comes next in a sequence, and of how many of its ids the logits are wanted: of the last, but in hn_lm_batch_step_rows. */
typedef struct hn_lm_batch_piece {
    size_t size; /* the same in all of a list */
    int32_t sequence;
    int32_t wanted;
    const int32_t *ids;
    size_t n;
} hn_lm_batch_piece;

/* Runs all pieces, or none: after a failure every sequence is as it was. HN_ERR_ARGUMENT: an empty piece, a
 * sequence twice, one that is not open, more than a step or the context takes, an id beyond the vocabulary;
 * HN_ERR_MEMORY: too few blocks are free: close or trim a sequence. Cancelled by hn_engine_cancel, told of by
 * hn_engine_on_progress. */
HN_API hn_status hn_lm_batch_step(hn_lm_batch *batch, const hn_lm_batch_piece *pieces, size_t n);
/* The same, and the logits are of any ids: `rows` has `wanted` numbers of each piece, one piece after the other, counted from
 * the piece's first id. HN_ERR_ARGUMENT: those of a piece do not ascend within it. */
HN_API hn_status hn_lm_batch_step_rows(hn_lm_batch *batch, const hn_lm_batch_piece *pieces, size_t n, const int32_t *rows);
/* Of wanted row `row` of the last step, counted over its pieces: hn_lm_vocabulary numbers, until the next step.
 * NULL: there is none. */
HN_API const float *hn_lm_batch_logits(const hn_lm_batch *batch, size_t row);

/* Blocks that are free, and (may be NULL) that there are; and what a step of these pieces takes at most. Sequences whose
 * adapter is run apart have enough blocks of their own, which are not counted, and take none of these. INT64_MAX: a size that
 * hn_lm_batch_step refuses. */
HN_API int64_t hn_lm_batch_blocks(const hn_lm_batch *batch, int64_t *of);
HN_API int64_t hn_lm_batch_needs(const hn_lm_batch *batch, const hn_lm_batch_piece *pieces, size_t n);

/* ---- files ---- */

/* A sequence with its keys and values, as hn_lm_session_save writes it: sessions and batches take each other's.
 * Loaded in the place of what the sequence has; refused unless model, adapters, numerics and type of cache are
 * those that it was saved with, and then the sequence is as before. Ended by hn_engine_cancel, told of by
 * hn_engine_on_work. */
HN_API hn_status hn_lm_batch_save(const hn_lm_batch *batch, int32_t sequence, const char *path);
HN_API hn_status hn_lm_batch_load(hn_lm_batch *batch, int32_t sequence, const char *path);

#ifdef __cplusplus
}
#endif
#endif
