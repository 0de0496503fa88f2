/* embed.h: texts to vectors, by a model that embeds (hn_lm_embeds): what `hone embed` gives. */
#ifndef HONE_EMBED_H
#define HONE_EMBED_H

#include "hone/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller frees it; it holds its model. Used by one thread at a time. */
typedef struct hn_lm_embedder hn_lm_embedder;

/* What becomes of the vectors of a text's tokens, by number. */
typedef enum hn_lm_pooling {
    HN_LM_POOLING_CLS,  /* "cls": the first */
    HN_LM_POOLING_MAX,  /* "max" */
    HN_LM_POOLING_MEAN, /* "mean" */
    HN_LM_POOLING_MEAN_SQRT,     /* "mean_sqrt_len_tokens": the sum over the root of how many there are */
    HN_LM_POOLING_WEIGHTED_MEAN, /* "weightedmean": token i counts i + 1 times */
    HN_LM_POOLING_LAST           /* "lasttoken" */
} hn_lm_pooling;
HN_API hn_status hn_lm_pooling_named(const char *word, hn_lm_pooling *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_lm_pooling_name(hn_lm_pooling pooling); /* "" of a number that is none */

typedef struct hn_lm_embed_options {
    size_t size;
    const char *pooling;   /* as hn_lm_pooling_name gives it; NULL: the model's */
    int32_t normalize;     /* to length 1; 0: as the model says */
    int32_t refuses_long;  /* texts beyond the model's longest, instead of cutting their end */
} hn_lm_embed_options;

HN_API hn_status hn_lm_embedder_new(hn_lm_embedder **out, hn_lm *lm,
                                    const hn_lm_embed_options *options_or_null);
HN_API void hn_lm_embedder_free(hn_lm_embedder *embedder); /* takes NULL */

HN_API int64_t hn_lm_embedder_width(const hn_lm_embedder *embedder);   /* numbers of a vector */
HN_API int64_t hn_lm_embedder_longest(const hn_lm_embedder *embedder); /* tokens that it reads */

/* `vector` has room for hn_lm_embedder_width numbers. *n_tokens (may be NULL) is what the text has: more than
 * the longest where it was cut. */
HN_API hn_status hn_lm_embedder_run(hn_lm_embedder *embedder, const char *text, size_t bytes, float *vector,
                                    int64_t *n_tokens);
/* Of ids as they stand: nothing is put around them as around a text, and more than the longest are HN_ERR_ARGUMENT, for
 * what stands behind the text is not known. */
HN_API hn_status hn_lm_embedder_run_ids(hn_lm_embedder *embedder, const int32_t *ids, size_t n, float *vector);

#ifdef __cplusplus
}
#endif
#endif
