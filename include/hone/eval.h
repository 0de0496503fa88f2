/* eval.h: how good a model is: perplexity, the logits of whole sequences, what its inputs weigh, and how near it is to
 * another program's numbers.
 *
 * All run the model on ids (hn_lm_encode) with its adapters and numerics; hn_engine_on_work tells of them, and
 * hn_engine_cancel ends them with HN_ERR_CANCELLED. */
#ifndef HONE_EVAL_H
#define HONE_EVAL_H

#include "hone/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hn_lm_estimate {
    int64_t n;
    double mean, error; /* the mean's standard error */
} hn_lm_estimate;

typedef struct hn_lm_perplexity_options {
    size_t size;
    int64_t chunk;       /* tokens that are run together; of each chunk the second half is judged; 0: 512, or the
                          * model's context where that is less; more is HN_ERR_ARGUMENT */
    int64_t max_chunks;  /* 0: all that are full */
    const char *cache;   /* as hn_lm_session_options */
    const char *save;    /* writes the logits there: safetensors; or NULL */
    const char *against; /* compares with logits so saved; or NULL */
    int32_t overwrite;   /* what `save` names */
} hn_lm_perplexity_options;

typedef struct hn_lm_perplexity {
    hn_lm_estimate loss;       /* nats a token; the perplexity is its exponential */
    hn_lm_estimate divergence; /* KL(saved || this), nats a token; n is 0 without `against` */
    hn_lm_estimate agreement;  /* share of tokens whose likeliest is the same */
} hn_lm_perplexity;

/* Of a text's ids without a BOS: where the model has one, it begins each chunk. HN_ERR_ARGUMENT: the text is shorter
 * than a chunk. *out is zero unless it returns HN_OK. */
HN_API hn_status hn_lm_perplexity_of(hn_lm *lm, const int32_t *ids, size_t n,
                                     const hn_lm_perplexity_options *options_or_null, hn_lm_perplexity *out,
                                     size_t size);

typedef struct hn_lm_logits_options {
    size_t size;
    const char *cache; /* as hn_lm_session_options */
    const char *plan;  /* of memory, as hn_exec_plan_name gives it; NULL: "inplace" */
} hn_lm_logits_options;

/* What the model gives after each id of a sequence, which is no longer than its context: n times hn_lm_vocabulary numbers, `room` of
 * them at least. */
HN_API hn_status hn_lm_logits_of(hn_lm *lm, const int32_t *ids, size_t n, const hn_lm_logits_options *options_or_null,
                                 float *logits, size_t room);

typedef struct hn_lm_imatrix_options {
    size_t size;
    int64_t chunk;       /* tokens that are run together; 0: as above */
    int64_t max_chunks;  /* 0: all that are full */
    const char *dataset; /* its name, for the file; NULL: "" */
    int32_t overwrite;
} hn_lm_imatrix_options;

/* How much each input of each matrix matters on a text's ids, without a BOS, in llama.cpp's GGUF form: for
 * hn_lm_quantize. */
HN_API hn_status hn_lm_write_imatrix(hn_lm *lm, const int32_t *ids, size_t n, const char *out,
                                     const hn_lm_imatrix_options *options_or_null);

/* ---- beside another program ---- */

/* What Transformers computed of a model, layer by layer (docs/parity.md), and how near hone is to it. The caller frees it,
 * before the engine; it needs no model any more. Nothing changes it: any number of threads may read one. */
typedef struct hn_lm_parity hn_lm_parity;

typedef struct hn_lm_distance {
    double nmse, largest; /* of differences */
    double kl;            /* nats a token */
    double agreement;     /* share of tokens whose likeliest is the same */
} hn_lm_distance;

typedef struct hn_lm_parity_sum {
    hn_lm_numerics numerics;
    const char *about;      /* the reference's class and versions */
    int64_t n_tokens;
    size_t n_parts;         /* the embedding, the layers, the head */
    hn_lm_distance logits;  /* from tokens to logits */
    const char *other_name; /* the library whose products the reference was run with once more; NULL: it was not */
    hn_lm_distance other;   /* of its own logits from those */
} hn_lm_parity_sum;

typedef struct hn_lm_parity_part {
    const char *name;       /* "embedding", "layer 3", "head" */
    double nmse, largest, bound;
    double rounded;         /* bf16: the NMSE of the same part in f32, rounded at its end */
    int32_t has_own;
    double own;             /* bf16: of the reference from itself with other products */
    int64_t n_close;        /* bf16: tokens left out, between whose experts a rounding decides */
    int64_t n_other;        /* tokens with other experts than the reference's */
    int32_t is_beyond;      /* its bound */
} hn_lm_parity_part;

/* Run in the reference's numerics, whatever the model was opened with; where some are expected, another's reference
 * is HN_ERR_ARGUMENT. Being beyond a bound is no failure of this: hn_lm_parity_judge. */
HN_API hn_status hn_lm_parity_run(hn_lm_parity **out, hn_lm *lm, const char *reference,
                                  const hn_lm_numerics *expected_or_null);
HN_API void hn_lm_parity_free(hn_lm_parity *parity); /* takes NULL */
/* They live as long as it does; NULL: there is no such part. */
HN_API const hn_lm_parity_sum *hn_lm_parity_get_sum(const hn_lm_parity *parity);
HN_API const hn_lm_parity_part *hn_lm_parity_get_part(const hn_lm_parity *parity, size_t i);
/* HN_ERR_PROOF names the first part beyond its bound. */
HN_API hn_status hn_lm_parity_judge(const hn_lm_parity *parity);

#ifdef __cplusplus
}
#endif
#endif
