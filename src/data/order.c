/* A Feistel network is a bijection whatever its round function is, so the walk through values beyond n comes back,
 * and nothing is drawn twice. */
#include "data/order.h"

enum { ROUNDS = 6 };

hn_order hn_order_of(hn_rng_key key, uint64_t n)
{
    hn_order order = { key, n, 1 };
    while (order.half_bits < 32 && (UINT64_C(1) << (2 * order.half_bits)) < n)
        order.half_bits++;
    return order;
}

/* A bijection whatever the round function is. */
static uint64_t shuffle(const hn_order *order, uint64_t x)
{
    const uint64_t mask = (UINT64_C(1) << order->half_bits) - 1;
    uint64_t left = x >> order->half_bits, right = x & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint32_t words[4];
        hn_rng_words(order->key, right, round, words);
        const uint64_t next = left ^ (words[0] & mask);
        left = right;
        right = next;
    }
    return left << order->half_bits | right;
}

/* The domain is less than 4 n, so four steps are expected at most. */
uint64_t hn_order_at(const hn_order *order, uint64_t position)
{
    uint64_t x = shuffle(order, position);
    while (x >= order->n)
        x = shuffle(order, x);
    return x;
}
