/* perplexity.h: how well a model foretells a text, and how near it is to another run of it.
 *
 * The text is cut into chunks that are run apart; of each the tokens of the second half are
 * judged, 128 of 256, which have at least half a chunk before them. */
#ifndef HN_INFER_PERPLEXITY_H
#define HN_INFER_PERPLEXITY_H

#include "infer/forward.h"

typedef struct hn_perplexity_options {
    int64_t chunk;
    int64_t max_chunks;  /* 0: all that are full */
    int32_t bos;         /* begins each chunk in place of its first token; -1: none */
    hn_dtype cache;      /* of keys and values, as a session's; HN_F32 */
    const hn_adapters *adapters; /* NULL: none */
    hn_sink save;    /* writes the logits there: safetensors; or NULL */
    const char *against; /* compares with logits so saved; or NULL */
    bool (*progress)(void *context, double done, const char *what); /* or NULL */
    void *progress_context;
} hn_perplexity_options;

typedef struct hn_estimate {
    int64_t n;
    double mean, error; /* the mean's standard error */
} hn_estimate;

typedef struct hn_perplexity {
    hn_estimate loss;       /* nats a token; the perplexity is its exponential */
    hn_estimate divergence; /* KL(saved || this), nats a token; n is 0 without `against` */
    hn_estimate agreement;  /* share of tokens whose likeliest is the same */
} hn_perplexity;

/* HN_ERR_ARGUMENT if the text is shorter than a chunk; HN_ERR_FORMAT if the saved logits are of
 * another text, cut or vocabulary; HN_ERR_NUMERIC. */
hn_status hn_perplexity_run(hn_heap *heap, const hn_model *model, hn_run_spec run,
                            const int32_t *tokens, size_t n,
                            const hn_perplexity_options *options, hn_perplexity *out);

#endif
