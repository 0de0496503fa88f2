/* quantize.h: a GGUF file with its weights in other types. Everything else is as it was. */
#ifndef HN_CONVERT_QUANTIZE_H
#define HN_CONVERT_QUANTIZE_H

#include "convert/encode_rows.h"
#include "convert/importance.h"
#include "convert/recipe.h"

/* What became of one tensor. */
typedef struct hn_quantized {
    const char *name;
    const hn_type *was, *is;
    hn_dtype meant; /* by the recipe, where the rows could be cut into its blocks */
    bool is_kept;   /* nothing was asked of it: a norm, a router, integers */
} hn_quantized;

typedef struct hn_quantize_options {
    const hn_recipe *recipe;
    const hn_importance *importance; /* or NULL */
    int n_keep;
    const hn_keep *keep;
    const struct hn_ignored *ignored; /* keys to pass over, recorded in the result; or NULL */
    /* Told of every tensor, in the file's order, before the first is written; or NULL. */
    void (*told)(void *context, const hn_quantized *tensor);
    void *context;
    bool may_requantize; /* from block formats, which lose twice; else refused by name */
} hn_quantize_options;

/* HN_ERR_UNSUPPORTED too where no tensor has the type that was asked for and none changes. */
hn_status hn_quantize(hn_heap *heap, hn_pool *pool, const char *in, hn_sink out,
                      const hn_quantize_options *options, hn_watch *watch);

#endif
