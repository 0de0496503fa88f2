/* embed.h: texts to vectors, by a model that embeds: its tokenizer, how far it reads, its pooling. */
#ifndef HN_INFER_EMBED_H
#define HN_INFER_EMBED_H

#include "infer/forward.h"
#include "models/sentence.h"
#include "text/tokenizer/tokenizer.h"

typedef struct hn_embedder hn_embedder;

typedef struct hn_embedder_options {
    const char *pooling;  /* sentence-transformers' word; NULL: as the model says, or the mean */
    bool normalizes;      /* to length 1, also where the model does not say so */
    bool refuses_long;    /* texts beyond the longest, instead of cutting them */
} hn_embedder_options;

/* Model, tokenizer and device must outlive it. HN_ERR_UNSUPPORTED: a model that generates. */
hn_status hn_embedder_new(hn_embedder **out, hn_heap *heap, const hn_model *model, const hn_tokenizer *tok,
                          hn_run_spec run, const hn_embedder_options *options);
void hn_embedder_free(hn_embedder *embedder); /* takes NULL */

int64_t hn_embedder_width(const hn_embedder *embedder);   /* numbers of a vector */
int64_t hn_embedder_longest(const hn_embedder *embedder); /* tokens, those around the text too */

/* Special tokens written in a text are meant, as Transformers' tokenizers have it. *n_tokens is what the
 * text has: more than the longest where it was cut, by its end, as with sentence-transformers. */
hn_status hn_embedder_run(hn_embedder *embedder, const char *text, size_t bytes, const hn_run_options *options,
                          float *vector, int64_t *n_tokens);
/* Of ids as they stand, at most as many as the longest: nothing is put around them, and nothing is cut. */
hn_status hn_embedder_run_ids(hn_embedder *embedder, const int32_t *ids, size_t n, const hn_run_options *options, float *vector);

#endif
