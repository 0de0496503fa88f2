/* low_rank.h: which adapter a row of low_rank goes by. */
#ifndef HN_OPS_LOW_RANK_H
#define HN_OPS_LOW_RANK_H

#include "graph/op.h"

enum {
    HN_LOW_RANK_Y,
    HN_LOW_RANK_X,
    HN_LOW_RANK_IDS,
    HN_LOW_RANK_RANKS,
    HN_LOW_RANK_SCALES,
    HN_LOW_RANK_A,
    HN_LOW_RANK_B,
    HN_LOW_RANK_EXPERTS
};

typedef struct hn_low_rank_of {
    int64_t adapter, rank;
    int64_t matrix; /* of a and b, counted over adapters and their experts */
    int64_t x;      /* the row of x */
} hn_low_rank_of;

/* Row `row` of y; false: it has no adapter. */
bool hn_low_rank_row(const hn_call *call, int64_t row, hn_low_rank_of *out);

#endif
