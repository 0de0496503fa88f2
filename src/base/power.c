/* pow: log(x) as a sum of two doubles good to 2^-66, times y, then exp. */
#include "base/mathfn.h"
#include "base/pair.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static hn_pair quick_sum(double a, double b) /* |a| >= |b| or a == 0 */
{
    const double s = a + b;
    return (hn_pair){ s, b - (s - a) };
}

static hn_pair add_pairs(hn_pair a, hn_pair b)
{
    const hn_pair s = hn_two_sum(a.high, b.high);
    return quick_sum(s.high, s.low + (a.low + b.low));
}

static hn_pair multiply(hn_pair a, hn_pair b)
{
    const hn_pair p = hn_two_product(a.high, b.high);
    return quick_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

/* 2 atanh(s), s = f / (2 + f), is log(1 + f); the terms after s^3 fit in one double. */
static hn_pair log_pair(double x)
{
    int lift = 0;
    if (x < 0x1p-1022)
        x *= 0x1p54, lift = 54;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int64_t k = (int64_t)(bits - UINT64_C(0x3fe6a09e667f3bcd)) >> 52;
    bits -= (uint64_t)k << 52;
    memcpy(&x, &bits, sizeof x);

    const double f = x - 1;
    const hn_pair d = hn_two_sum(2, f);
    const double q = f / d.high;
    const hn_pair back = hn_two_product(q, d.high);
    const hn_pair s = quick_sum(q, (((f - back.high) - back.low) - q * d.low) / d.high);
    const hn_pair z = multiply(s, s);
    const double w = z.high;
    const double r =
        w * w *
        (0x1.9999999999996p-3 +
         w * (0x1.2492492492f3ap-3 +
              w * (0x1.c71c71c59a9dap-4 +
                   w * (0x1.745d182714ebbp-4 +
                        w * (0x1.3b13656d27a2p-4 +
                             w * (0x1.112055ff07fa6p-4 +
                                  w * (0x1.de4170176e81bp-5 + w * 0x1.eaa4d01ab0bb7p-5)))))));
    const hn_pair third = multiply(z, (hn_pair){ 0x1.5555555555555p-2, 0x1.5555555555555p-56 });
    hn_pair a = add_pairs(third, (hn_pair){ r, 0 });
    a = multiply(s, add_pairs((hn_pair){ 1, 0 }, a));
    a = (hn_pair){ 2 * a.high, 2 * a.low };

    const double n = (double)(k - lift); /* ln 2 in 40 + 40 + 53 bits: two exact products */
    const hn_pair turns = quick_sum(n * 0x1.62e42fefa2p-1, n * 0x1.9ef35793c6p-41);
    return add_pairs((hn_pair){ turns.high, turns.low + n * 0x1.673007e5ed5e8p-81 }, a);
}

static bool is_odd(double y) { return fabs(y) < 0x1p53 && y == floor(y) && fmod(y, 2) != 0; }

/* C's table of pow for zeros, infinities and negative bases. */
static double special_pow(double x, double y)
{
    const bool odd = is_odd(y);
    const double a = fabs(x);
    if (a == 1 && fabs(y) == HUGE_VAL)
        return 1;
    double r;
    if (fabs(y) == HUGE_VAL)
        return (a > 1) == (y > 0) ? HUGE_VAL : 0;
    r = (a == 0) == (y > 0) ? 0 : HUGE_VAL; /* x is 0 or infinite */
    return odd && copysign(1, x) < 0 ? -r : r;
}

double hn_math_pow(double x, double y)
{
    if (x == 1 || y == 0)
        return 1;
    if (x != x || y != y)
        return x + y;
    if (x == 0 || fabs(x) == HUGE_VAL || fabs(y) == HUGE_VAL)
        return special_pow(x, y);
    if (x < 0 && y != floor(y))
        return (x - x) / 0.0;
    const double sign = x < 0 && is_odd(y) ? -1 : 1;
    const hn_pair l = log_pair(fabs(x));
    const double rough = l.high * y;
    if (!(fabs(rough) < 800)) /* the products below would not be finite */
        return sign * (rough > 0 ? HUGE_VAL : 0);
    if (fabs(y) < 0x1p-70 || l.high == 0)
        return sign;
    const hn_pair p = hn_two_product(l.high, y);
    return sign * hn_math_exp_sum(p.high, p.low + l.low * y);
}
