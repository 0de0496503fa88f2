/* embed.h: texts to vectors: a model, its tokenizer, how far it reads, its pooling. Of a model that generates they are made of
 * the states after its final norm, which see what comes before them alone, and its head is neither computed nor read. */
#ifndef HN_INFER_EMBED_H
#define HN_INFER_EMBED_H

#include "infer/forward.h"
#include "models/sentence.h"
#include "text/tokenizer/tokenizer.h"

typedef struct hn_embedder hn_embedder;

typedef struct hn_embedder_options {
    const char *pooling;  /* sentence-transformers' word; NULL: as the model says */
    bool normalizes;      /* to length 1, also where the model does not say so */
    bool refuses_long;    /* texts beyond the longest, instead of cutting them */
    int64_t context;      /* the longest; 0: as the model says, of one that generates 4096 at most */
    const hn_adapters *adapters; /* NULL: none; they must outlive it */
} hn_embedder_options;

/* Model, tokenizer (NULL: texts are not run, ids are) and device must outlive it. HN_ERR_ARGUMENT: no pooling is asked for, and the
 * model says none. */
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
