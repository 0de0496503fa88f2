/* random_model.h: a model of any architecture and size with random weights, written straight to
 * its file: it may be larger than memory. The same seed gives the same bytes on any number of
 * threads. */
#ifndef HN_CONVERT_RANDOM_MODEL_H
#define HN_CONVERT_RANDOM_MODEL_H

#include "convert/encode_rows.h"
#include "convert/recipe.h"
#include "models/model.h"

typedef enum hn_first_values {
    HN_FIRST_CLASS,  /* as Transformers' class begins: matrices normal, of deviation 0.02; gains one,
                      * biases zero: training begins well from there */
    HN_FIRST_SPREAD, /* gains near one and biases near zero, all different; matrices keep the size of
                      * what they multiply: nothing of the arithmetic is hidden */
    HN_N_FIRST_VALUES
} hn_first_values;

typedef struct hn_random_options {
    const hn_arch *arch;
    const hn_recipe *recipe;
    const hn_hparams *hp; /* complete: see hn_arch.defaults */
    uint64_t seed;
    hn_first_values first;
    const char *name; /* general.name */
    int n_keep;
    const hn_keep *keep;
    const hn_meta *tokenizer; /* keys to take over; NULL: see below */
    /* attn_output begins as the transpose of attn_v: heads then begin by copying what they look
     * at, and learning where to look pays from the first step. For f32. */
    bool copies;
} hn_random_options;

/* Without `tokenizer`, it has a token for every byte, three that begin and end turns, and unused
 * ones. */
hn_status hn_random_model(hn_heap *heap, hn_pool *pool, hn_sink out,
                          const hn_random_options *options, hn_watch *watch);

/* The same model without a file and without a tokenizer, so that its vocabulary may be of any size. */
hn_status hn_random_model_in_memory(hn_heap *heap, const hn_random_options *options, hn_model **out);

#endif
