/* surplus.h: a tensor that a file has and no row of the table takes: refused by name, whoever reads
 * (a directory that is run, one that is converted, GGUF), unless it is known to change nothing. */
#ifndef HN_NN_SURPLUS_H
#define HN_NN_SURPLUS_H

#include "nn/arch.h"

typedef struct hn_taken {
    const hn_weights *all;
    bool *is_taken; /* by entry */
} hn_taken;

hn_status hn_taken_begin(hn_taken *taken, hn_heap *heap, const hn_weights *all);
void hn_taken_free(hn_taken *taken, hn_heap *heap); /* takes a zeroed one */
void hn_taken_mark(hn_taken *taken, const hn_weight_entry *entry);

/* `prefix`: of names in safetensors; NULL: GGUF's. HN_ERR_UNSUPPORTED names the first that is left. */
hn_status hn_taken_check(const hn_taken *taken, const hn_arch *arch, const hn_hparams *hp,
                         const char *prefix, const char *path);

#endif
