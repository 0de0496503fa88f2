/* source.h: a tensor of GGUF, row by row, out of the tensors of a Hugging Face directory.
 *
 * Every way in which the two differ (rows permuted, halves, stacked experts, transposed, padded)
 * comes down to where a row begins in which file tensor and how far apart its elements lie, so
 * that nothing is copied or held. */
#ifndef HN_NN_SOURCE_H
#define HN_NN_SOURCE_H

#include "nn/arch.h"

typedef struct hn_source {
    hn_heap *heap;
    const hn_hparams *hp;
    hn_arch_tensor want;
    unsigned how; /* of want.spec, less what is not for this order */
    const hn_weight_entry **parts; /* one, or one an expert; MXFP4: blocks and scales */
    int n_parts;
    int64_t rows, row_elements; /* of the result */
    double *constant;           /* HN_W_CONSTANT: all of it */
} hn_source;

/* Where to look. */
typedef struct hn_source_dir {
    const hn_arch *arch;
    const hn_hparams *hp;
    const hn_weights *weights;
    const char *prefix;    /* of names: hn_arch_find_prefix */
    bool is_for_gguf;      /* rows in GGUF's order; else in hone's, which is Hugging Face's */
} hn_source_dir;

/* The prefix with which the directory has the embedding. */
hn_status hn_arch_find_prefix(const hn_arch *arch, const hn_weights *weights,
                              const char **prefix);

/* A head of its own beside a word that the embedding is the head: refused where the two differ. */
hn_status hn_arch_check_head(const hn_arch *arch, const hn_hparams *hp, const hn_weights *weights,
                             const char *prefix);

/* *is_found: whether the directory has what the tensor is made of; then shapes have been checked.
 * Nothing to close if it has not. */
hn_status hn_source_open(hn_heap *heap, const hn_source_dir *dir, const hn_arch_tensor *want,
                         hn_source *out, bool *is_found);
void hn_source_close(hn_source *source);

/* What the values are in the file: f32, bf16 or f16; HN_TYPE_mxfp4 of MXFP4 pairs. */
hn_dtype hn_source_dtype(const hn_source *source);

/* Row `row` as f32. Any thread. */
void hn_source_row(const hn_source *source, int64_t row, float *out);

/* The row's bytes as they lie in the file, if they can be taken as they are; else NULL. */
const uint8_t *hn_source_bytes(const hn_source *source, int64_t row);

/* An MXFP4 row in GGUF's order of nibbles. */
void hn_source_mxfp4(const hn_source *source, int64_t row, uint8_t *blocks);

#endif
