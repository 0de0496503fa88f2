/* imatrix.h: how much each input of each matrix matters, measured on a text: the sum of the
 * squares of what goes into it, over all tokens; of experts, each for itself. */
#ifndef HN_INFER_IMATRIX_H
#define HN_INFER_IMATRIX_H

#include "infer/forward.h"

typedef struct hn_imatrix_options {
    int64_t chunk;     /* tokens that are run together; each chunk begins anew */
    int64_t max_chunks; /* 0: all that are full */
    int32_t bos;       /* begins each chunk in place of its first token; -1: none */
    const char *dataset; /* its name, for the file */
    bool (*progress)(void *context, double done, const char *what); /* or NULL */
    void *progress_context;
} hn_imatrix_options;

/* Runs the tokens and writes llama.cpp's GGUF form. HN_ERR_NUMERIC if an activation is not
 * finite; HN_ERR_ARGUMENT if the text is shorter than a chunk. */
hn_status hn_imatrix_write(hn_heap *heap, const hn_model *model, hn_run_spec run,
                           const int32_t *tokens, size_t n, hn_sink out,
                           const hn_imatrix_options *options);

#endif
