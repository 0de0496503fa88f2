/* pair.h: a number as the unevaluated sum of two doubles. Needs rounding to nearest and no
 * fusion. */
#ifndef HN_BASE_PAIR_H
#define HN_BASE_PAIR_H

typedef struct hn_pair {
    double high, low; /* |low| is at most half an ulp of high */
} hn_pair;

/* a + b, exactly. */
static inline hn_pair hn_two_sum(double a, double b)
{
    const double s = a + b, t = s - a;
    return (hn_pair){ s, (a - (s - t)) + (b - t) };
}

/* a * b, exactly, for factors below 2^996. */
static inline hn_pair hn_two_product(double a, double b)
{
    const double split = 0x1.0000002p27; /* 2^27 + 1 cuts 53 bits in two halves */
    const double ca = split * a, cb = split * b;
    const double ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
    const double p = a * b;
    return (hn_pair){ p, ((ah * bh - p) + ah * bl + al * bh) + al * bl };
}

#endif
