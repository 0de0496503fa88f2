/* quantize.h: a GGUF file with its weights in other types. Everything else is as it was. */
#ifndef HN_CONVERT_QUANTIZE_H
#define HN_CONVERT_QUANTIZE_H

#include "convert/encode_rows.h"
#include "convert/importance.h"
#include "convert/recipe.h"

typedef struct hn_quantize_options {
    const hn_recipe *recipe;
    const hn_importance *importance; /* or NULL */
    int n_keep;
    const hn_keep *keep;
    const struct hn_ignored *ignored; /* keys to pass over, recorded in the result; or NULL */
    bool may_requantize; /* from block formats, which lose twice; else refused by name */
} hn_quantize_options;

hn_status hn_quantize(hn_heap *heap, hn_pool *pool, const char *in, hn_sink out,
                      const hn_quantize_options *options, hn_watch *watch);

#endif
