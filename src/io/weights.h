/* weights.h: the named tensors of a model on disk, whatever the format of its files.
 *
 * Data is mapped, read-only, and of any alignment. A tensor whose element type hone cannot
 * compute with can still be listed; its dtype is HN_N_DTYPES and `encoding` says what it is. */
#ifndef HN_IO_WEIGHTS_H
#define HN_IO_WEIGHTS_H

#include "base/heap.h"
#include "graph/type.h"

typedef struct hn_weight_entry {
    const char *name;     /* ends in NUL */
    const char *encoding; /* the type as the file's format calls it: "Q4_K", "BF16" */
    hn_type type;         /* contiguous; dimensions outermost first */
    const uint8_t *data;
    uint64_t bytes;
    int part; /* which of the files, from 0 */
} hn_weight_entry;

typedef struct hn_weights {
    const char *name; /* of the file or directory: begins messages */
    hn_weight_entry *entries;
    size_t n;
    uint32_t *index; /* by hash of the name: entry + 1, or 0; a power of two of them */
    size_t index_size;
} hn_weights;

/* NULL if there is none; sets no message. */
const hn_weight_entry *hn_weights_find(const hn_weights *weights, const char *name);

/* HN_ERR_FORMAT if it is missing, HN_ERR_UNSUPPORTED if its encoding is. */
hn_status hn_weights_want(const hn_weights *weights, const char *name,
                          const hn_weight_entry **out);

/* For readers: builds the index. HN_ERR_FORMAT if two have the same name. */
hn_status hn_weights_index(hn_heap *heap, hn_weights *weights);

#endif
