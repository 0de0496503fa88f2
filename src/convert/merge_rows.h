/* merge_rows.h: one tensor of a model with an adapter's change in it, encoded strip by strip, and how
 * much of the change survives that.
 *
 * W is the tensor as it is decoded, D the change, Q what a type makes of values: encoded and decoded.
 *
 *     kept    <Q(W + D) - Q(W), D> / <D, D>      1: all of it, 0: it was rounded away
 *     error   |Q(W + D) - (W + D)| / |D|
 *
 * Where the type is the one that W is stored in, Q(W) is W: its bytes are the encoding. */
#ifndef HN_CONVERT_MERGE_ROWS_H
#define HN_CONVERT_MERGE_ROWS_H

#include "convert/encode_rows.h"
#include "infer/adapter.h"

/* What happens to a tensor of the file: neither, one, or a whole new one. */
typedef struct hn_merge_change {
    const nn_weight *base;
    const hn_adapter_pair *pair; /* or NULL */
    const nn_weight *whole;      /* f32, rows in canonical order; or NULL */
    int64_t pairs;               /* rows of the file lie by head of this size in pairs; 0: in order */
} hn_merge_change;

typedef struct hn_merge_sums {
    double base, change;        /* squared norms of W and D */
    double along, error;        /* <Q(W + D) - Q(W), D>, squared norm of Q(W + D) - (W + D) */
} hn_merge_sums;

/* HN_ERR_NUMERIC names the row that the type cannot hold. */
hn_status hn_merge_rows(hn_heap *heap, hn_pool *pool, const hn_merge_change *change, hn_dtype dtype,
                        hn_weights_writer *writer, size_t tensor, hn_watch *watch,
                        hn_merge_sums *out);

#endif
