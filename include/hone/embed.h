/* embed.h: texts to vectors, by any model: what `hone embed` gives.
 *
 * A vector is pooled of the states of a text's tokens after the model's last norm. In a model that generates a state sees what
 * comes before it alone, as ever, and the head is neither computed nor read; hn_lm_session_state gives the same state of a sequence
 * that runs. The model's adapters (hn_lm_add_adapter) apply; one of the head changes no state. The bits depend on neither threads
 * nor instructions, nor on what was embedded before. */
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
    int32_t normalize;     /* to length 1; 0: as the model says, and where it does not, as they are */
    int32_t refuses_long;  /* texts beyond the model's longest, instead of cutting their end */
    int64_t context;       /* the longest text, in tokens; 0: the model's longest, of one that generates 4096 at most */
} hn_lm_embed_options;

/* The model's own pooling stands in modules.json and its files, as sentence-transformers has them, or under ARCH.pooling_type or
 * hone.pooling of GGUF. HN_ERR_ARGUMENT, which lists the poolings: it stands nowhere, and none is asked for; of a model that only
 * embeds it is the mean then. Ended by hn_engine_cancel, as what follows; told of by hn_engine_on_work. */
HN_API hn_status hn_lm_embedder_new(hn_lm_embedder **out, hn_lm *lm,
                                    const hn_lm_embed_options *options_or_null);
HN_API void hn_lm_embedder_free(hn_lm_embedder *embedder); /* takes NULL */

HN_API int64_t hn_lm_embedder_width(const hn_lm_embedder *embedder);   /* numbers of a vector */
HN_API int64_t hn_lm_embedder_longest(const hn_lm_embedder *embedder); /* tokens that it reads */

/* `vector` has room for hn_lm_embedder_width numbers. *n_tokens (may be NULL) is what the text has: more than
 * the longest where it was cut. HN_ERR_UNSUPPORTED on a model without its words. */
HN_API hn_status hn_lm_embedder_run(hn_lm_embedder *embedder, const char *text, size_t bytes, float *vector,
                                    int64_t *n_tokens);
/* Of ids as they stand: nothing is put around them as around a text, and more than the longest are HN_ERR_ARGUMENT, for
 * what stands behind the text is not known. */
HN_API hn_status hn_lm_embedder_run_ids(hn_lm_embedder *embedder, const int32_t *ids, size_t n, float *vector);

#ifdef __cplusplus
}
#endif
#endif
