/* rng.h: random numbers that are a function of where they are used, not of when.
 *
 * Philox4x32 of ten rounds, of seven for masses (Salmon et al., 2011): a key and a 128-bit counter
 * give four words. A key is made from a seed, then narrowed by the words that name a stream:
 *
 *     hn_rng_key key = hn_rng_seed(seed);
 *     key = hn_rng_fold(key, step);
 *     key = hn_rng_fold(key, hn_hash_text("blk.3.attn.dropout"));
 *     float u = hn_rng_uniform(key, element);
 *
 * Any element can be had alone, in any order, on any thread. */
#ifndef HN_BASE_RNG_H
#define HN_BASE_RNG_H

#include <stdint.h>

typedef struct hn_rng_key {
    uint32_t word[2];
} hn_rng_key;

enum { HN_RNG_ROUNDS = 10, HN_RNG_MASS_ROUNDS = 7 };

static inline void hn_rng_after(int rounds, hn_rng_key key, uint64_t low, uint64_t high, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32);
    uint32_t c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
    uint32_t k0 = key.word[0], k1 = key.word[1];
    for (int round = 0; round < rounds; round++) {
        const uint64_t a = (uint64_t)c0 * 0xd2511f53u, b = (uint64_t)c2 * 0xcd9e8d57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Four words of the stream at counter (high, low). The counters whose `high` is at least 2^63
 * belong to hn_rng_fold. */
static inline void hn_rng_words(hn_rng_key key, uint64_t low, uint64_t high, uint32_t out[4])
{
    hn_rng_after(HN_RNG_ROUNDS, key, low, high, out);
}

static inline hn_rng_key hn_rng_seed(uint64_t seed)
{
    return (hn_rng_key){ { (uint32_t)seed, (uint32_t)(seed >> 32) } };
}

/* The key of the sub-stream named `word`; folding a, then b, is not folding b, then a. */
static inline hn_rng_key hn_rng_fold(hn_rng_key key, uint64_t word)
{
    uint32_t out[4];
    hn_rng_words(key, word, UINT64_C(1) << 63, out);
    return (hn_rng_key){ { out[0], out[1] } };
}

/* Element `index` of the stream. */
static inline uint32_t hn_rng_u32(hn_rng_key key, uint64_t index)
{
    uint32_t out[4];
    hn_rng_words(key, index >> 2, 0, out);
    return out[index & 3];
}

/* In [0, 1): a multiple of 2^-24, exact in f32. */
static inline float hn_rng_uniform(hn_rng_key key, uint64_t index)
{
    return (float)(hn_rng_u32(key, index) >> 8) * 0x1p-24f;
}

/* What every element of an activation or a parameter needs one of: dropout and stochastic rounding. Seven
 * rounds, the fewest with which Philox4x32 passes all of BigCrush; ten are its authors' margin. */
static inline uint32_t hn_rng_mass_u32(hn_rng_key key, uint64_t index)
{
    uint32_t out[4];
    hn_rng_after(HN_RNG_MASS_ROUNDS, key, index >> 2, 0, out);
    return out[index & 3];
}

static inline float hn_rng_mass_uniform(hn_rng_key key, uint64_t index)
{
    return (float)(hn_rng_mass_u32(key, index) >> 8) * 0x1p-24f;
}

/* A whole number in [0, n), n > 0; biased by less than n / 2^32. */
static inline uint32_t hn_rng_below(hn_rng_key key, uint64_t index, uint32_t n)
{
    return (uint32_t)((uint64_t)hn_rng_u32(key, index) * n >> 32);
}

/* FNV-1a, 64 bits: a stable number for a name. */
static inline uint64_t hn_hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
