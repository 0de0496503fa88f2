/* sampler.h: which token comes next, given the logits.
 *
 * In this order: bias, penalties on what was said before, the k most likely, those that make up
 * top_p, those of at least min_p of the likeliest, temperature, and a draw that is a function of
 * the seed and of the token's number among those that are generated. Nothing is remembered from draw to draw: what is
 * taken back, forked, known already or guessed ahead changes no later one. */
#ifndef HN_INFER_SAMPLER_H
#define HN_INFER_SAMPLER_H

#include "base/heap.h"

typedef struct hn_logit_bias {
    int32_t token;
    float bias; /* added to its logit; -INFINITY: never */
} hn_logit_bias;

typedef struct hn_sampler_options {
    float temperature;       /* 0: the likeliest, always */
    int32_t top_k;           /* 0: all */
    float top_p, min_p;      /* 0: off; top_p 1: off */
    float repetition;        /* divides logits of tokens said before, multiplies negative ones;
                                0 or 1: off */
    float frequency, presence; /* subtracted for each time, or once, a token was said */
    int32_t last_n;          /* how far back penalties look; 0: everything */
    uint64_t seed;
    int32_t n_bias;
    const hn_logit_bias *bias; /* must outlive the sampler */
} hn_sampler_options;

/* What everybody gets who says nothing, for any struct with these names; `real` is the type of its
 * fractions. */
#define HN_SAMPLER_DEFAULTS(real)                                                              \
    {                                                                                          \
        .temperature = (real)0.8, .top_k = 40, .top_p = (real)0.95, .min_p = (real)0.05,       \
        .repetition = 1, .last_n = 64                                                          \
    }

/* With a top_k of at most so many a draw is among few: odds are exp((logit - best) / temperature) in double, added up in the order
 * of the candidates, and it is the first at which they come to more than u of their sum, u a multiple of 2^-24 in [0, 1). Without it,
 * or with more, weights are whole numbers (kernels/draw/draw.h), and the same is done with them, exactly. */
enum { HN_SAMPLER_FEW = 1024 };

typedef struct hn_sampler hn_sampler;

/* HN_ERR_ARGUMENT names an option out of its range. */
hn_status hn_sampler_new(hn_sampler **out, hn_heap *heap, int32_t n_vocab,
                         const hn_sampler_options *options);
void hn_sampler_free(hn_sampler *sampler); /* takes NULL */

/* The token after these n, which is generated token `number`, from 0. HN_ERR_NUMERIC if no logit is a number, or none is
 * left. */
hn_status hn_sampler_next(hn_sampler *sampler, uint64_t number, const float *logits, const int32_t *tokens,
                          int64_t n, int32_t *out);
/* The same among those that have a bit: token i is bit i % 64 of word i / 64. */
hn_status hn_sampler_next_of(hn_sampler *sampler, uint64_t number, const float *logits, const uint64_t *allowed,
                             const int32_t *tokens, int64_t n, int32_t *out);

/* What may be drawn there: how many of the likeliest `most` of it, in order, of equals the lower number. `allowed` may be NULL. */
hn_status hn_sampler_spread(hn_sampler *sampler, const float *logits, const uint64_t *allowed, const int32_t *tokens, int64_t n,
                            int32_t most, int32_t *n_choices);
/* Of those, until the sampler's next call: which, and the logarithm of its probability. */
int32_t hn_sampler_choice(const hn_sampler *sampler, int32_t i, double *log_probability);
/* Then, too, that of any token: -INFINITY for what is never drawn. */
double hn_sampler_chance(const hn_sampler *sampler, int32_t token);

/* The definition by which such a draw is made: "draw.1" of few, "draw.2" of all. */
const char *hn_sampler_definition(const hn_sampler_options *options);

#endif
