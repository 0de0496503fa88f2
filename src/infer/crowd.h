/* crowd.h: all words that may come next, each with its logit; in the order of the likelier first, of equals the lower number, and
 * yet not sorted.
 *
 * A draw is the word at which the weights of the words, added up in that order, first come to what is asked. Here they are whole
 * numbers (kernels/draw/draw.h), so a sum does not depend on the order in which it was made, and that word is found from outside
 * in:
 *
 *   1. One pass adds up the weights of stretches of logits, bins. A word of a likelier bin has a larger logit than one of a later
 *      bin, because each step from the logit to its bin keeps the order; so the bins before one hold what a sorted walk passes
 *      before it comes to a word of that bin, and no other word.
 *   2. In the bin in which the sum comes to what is asked, the same is done with stretches of that bin's own logits, from its
 *      largest to its least, until some dozens of words or equal logits are left. The largest and the least of different logits lie in
 *      different bins, so every round leaves fewer.
 *   3. What is left is sorted, or, of equals, walked by number.
 *
 * Nothing is rounded between the weights and the word: it is the one that sorting everything would give. The k likeliest are a
 * walk in which every word weighs the same, those that make up a share of the probability one by the weights as the model has
 * them, a draw one by the heated weights. */
#ifndef HN_INFER_CROWD_H
#define HN_INFER_CROWD_H

#include "base/heap.h"
#include "kernels/draw/draw.h"

typedef struct hn_candidate {
    float logit;
    int32_t token;
} hn_candidate;

/* A word, and the weights up to it and with it. */
typedef struct hn_reached {
    hn_candidate at;
    uint64_t sum;
} hn_reached;

enum { HN_CROWD_MOST = 1 << 23, HN_CROWD_ONE = 40 }; /* the best weighs 1 << 40, and all of them make a number of 64 bits */

typedef struct hn_crowd {
    hn_heap *heap;
    hn_draw_kernels kernels;
    int32_t n;
    float *logits;   /* the owner may change some, and then looks again; -INFINITY: out */
    float *peaks;    /* of them, as draw_look gives them */
    float *weights;  /* of the words at `places`; or other numbers for a while */
    int32_t *places;
    uint64_t *sums;  /* of the first n_bins bins, with `heat`; behind all of them room for bins of a bin */
    int32_t n_bins;
    float best, least; /* of those that are in: no one is likelier, few or none less likely; -inf: nobody is in */
    float heat, step;
} hn_crowd;

/* Of at most HN_CROWD_MOST words. */
hn_status hn_crowd_open(hn_crowd *c, hn_heap *heap, int32_t n);
void hn_crowd_close(hn_crowd *c); /* takes one that is all zeros */

/* The logits, which may be the crowd's own; without a bit in `allowed` (NULL: everybody has one) a word is out. HN_ERR_NUMERIC names one
 * that is not a number. */
hn_status hn_crowd_look(hn_crowd *c, const float *logits, const uint64_t *allowed);

/* The weights of all added up: exp(heat (logit - best)) each. `best` is finite. */
uint64_t hn_crowd_tally(hn_crowd *c, float heat);
/* The first word with which they come to `need`, 1 to their sum, by the last tally. */
hn_reached hn_crowd_reach(hn_crowd *c, uint64_t need);
/* Who comes behind that one is out. A tally stands for what is in still. */
void hn_crowd_keep(hn_crowd *c, hn_candidate last);

/* By the heat of the last tally. */
uint64_t hn_crowd_weight(const hn_crowd *c, int32_t token);
/* Who is first of all. */
hn_candidate hn_crowd_first(const hn_crowd *c);
/* The k first in `to`, in order; fewer where fewer are in. */
int32_t hn_crowd_likeliest(hn_crowd *c, int32_t k, hn_candidate *to);

#endif
