/* batch_groups.h: the sequences of a public batch, those whose adapter is run apart among them.
 *
 *     number % n     0        1        2        3        one row of numbers, whatever group they are in
 *     group          first    first    DoRA's   -
 *     a step of 2, 0, 1:  first | rows of 0 and 1 |, then DoRA's | rows of 2 |, or none of them
 *
 * The first group has the bank of adapters that single rows may have. Another has one adapter in its graph; it packs the
 * weights that nobody changes where the first has them (backend/packed.h). */
#ifndef HN_ENGINE_BATCH_GROUPS_H
#define HN_ENGINE_BATCH_GROUPS_H

#include "engine/lm.h"
#include "infer/sequences.h"

enum { HN_MOST_APART = 32 };

typedef struct hn_batch_group {
    hn_sequences *inner;
    hn_adapters adapters; /* the model's, and the one that it is for */
    hn_adapter *own;
} hn_batch_group;

typedef struct hn_batch_place {
    int32_t name;  /* the number of the sequence that was opened here last; -1: none was */
    int32_t group; /* that it is in, while it is open */
} hn_batch_place;

typedef struct hn_batch_row {
    int32_t group;
    int64_t row; /* of it */
} hn_batch_row;

typedef struct hn_batch_groups {
    hn_lm *lm;
    hn_sequences_options options; /* of the first */
    int64_t apart;                /* sequences of another */
    hn_batch_group *at[1 + HN_MOST_APART]; /* NULL: none */
    hn_batch_place *places;       /* [n_sequences] */
    hn_piece *pieces;             /* the same, of a step, by group */
    hn_batch_row *rows;           /* [max_rows] of the last step, as its pieces had them */
    int64_t n_rows;
} hn_batch_groups;

hn_status hn_batch_groups_new(hn_batch_groups *g, hn_lm *lm, const hn_sequences_options *options, int64_t apart);
void hn_batch_groups_free(hn_batch_groups *g); /* takes a zeroed one */

/* A group of its own for an adapter, which it takes if it succeeds. */
hn_status hn_batch_group_add(hn_batch_groups *g, hn_adapter *adapter, int32_t *group);
/* HN_ERR_BUSY: a sequence that is open is in it, or keys of it are lent. */
hn_status hn_batch_group_remove(hn_batch_groups *g, int32_t group);
bool hn_batch_group_has(const hn_batch_groups *g, int32_t group);

hn_status hn_batch_groups_open(hn_batch_groups *g, int32_t group, int32_t slot, int32_t *sequence);
hn_status hn_batch_groups_fork(hn_batch_groups *g, int32_t sequence, int64_t length, int32_t *out);
/* The group that has a sequence; NULL: it is not open. */
hn_sequences *hn_batch_groups_of(const hn_batch_groups *g, int32_t sequence);
hn_status hn_batch_groups_find(const hn_batch_groups *g, int32_t sequence, hn_sequences **out);

/* All pieces, or none; `rows` as hn_lm_batch_step_rows, or NULL. */
hn_status hn_batch_groups_step(hn_batch_groups *g, const hn_lm_batch_piece *pieces, size_t n, const int32_t *rows);
const float *hn_batch_groups_logits(const hn_batch_groups *g, size_t row);

#endif
