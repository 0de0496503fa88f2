/* order.h: a permutation that is computed where it is asked for, never stored: a Feistel
 * network over the smallest power of four that holds n, walked until it stays below n. */
#ifndef HN_DATA_ORDER_H
#define HN_DATA_ORDER_H

#include "base/rng.h"

typedef struct hn_order {
    hn_rng_key key;
    uint64_t n;
    int half_bits;
} hn_order;

/* Another key, another permutation of 0 to n-1; n >= 1. */
hn_order hn_order_of(hn_rng_key key, uint64_t n);
/* position < n. */
uint64_t hn_order_at(const hn_order *order, uint64_t position);

#endif
