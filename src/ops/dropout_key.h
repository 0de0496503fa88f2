/* dropout_key.h: the random stream of a dropout: one for a whole tensor, or one a token, whose
 * element is the channel. A kernel does one token at a time from element 0 of its stream. */
#ifndef HN_OPS_DROPOUT_KEY_H
#define HN_OPS_DROPOUT_KEY_H

#include "base/rng.h"

typedef struct hn_dropout_attrs {
    float p;
    int64_t seed, key;
} hn_dropout_attrs;

static inline hn_rng_key hn_dropout_key(const hn_dropout_attrs *at, int64_t step)
{
    const hn_rng_key key = hn_rng_fold(hn_rng_seed((uint64_t)at->seed), (uint64_t)step);
    return hn_rng_fold(key, (uint64_t)at->key);
}

static inline hn_rng_key hn_dropout_token_key(hn_rng_key key, int64_t sequence,
                                              int64_t position)
{
    return hn_rng_fold(hn_rng_fold(key, (uint64_t)sequence), (uint64_t)position);
}

#endif
