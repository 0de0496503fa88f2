/* teller.h: tells stories of a grammar, and reads them back.
 *
 * Story i of a seed is a function of the two. Every choice is uniform among a known number, so
 * the probability of a derivation is known: 1 / the product of those numbers, down to the bias
 * of hn_rng_below, below 2^-22 of it. Reading follows every derivation that could have led to a
 * text; if it is always one, -log p of a story is the sum that telling it gave. */
#ifndef HN_CLI_STORY_TELLER_H
#define HN_CLI_STORY_TELLER_H

#include "base/str.h"
#include "cli/story/grammar.h"

typedef struct hn_teller hn_teller;

/* For one thread. The grammar must outlive it. */
hn_status hn_teller_new(hn_heap *heap, const hn_grammar *grammar, hn_teller **out);
void hn_teller_free(hn_teller *teller); /* takes NULL */

typedef struct hn_told {
    const char *text; /* the teller's, until it tells again */
    size_t bytes;
    double nats;      /* -log of the probability of its choices */
    uint32_t n_choices;
    const char *plot;
} hn_told;

hn_status hn_teller_tell(hn_teller *teller, uint64_t seed, uint64_t story, hn_told *out);

typedef struct hn_readings {
    uint64_t n;  /* derivations of the text; 0: no story of the grammar */
    double nats; /* -log of the sum of their probabilities */
} hn_readings;

hn_status hn_teller_read(hn_teller *teller, const char *text, size_t bytes, hn_readings *out);

uint32_t hn_teller_words(const hn_teller *teller); /* in all classes together */

#endif
