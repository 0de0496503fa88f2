/* Doubles are cut by exponent or by multiples of ln 2 whose products are exact, then a
 * polynomial of tools/fit-math.py does the rest. No fused operation: the same bits on every
 * processor. */
#include "base/mathfn.h"

#include "base/mathfn_tables.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^n, -1022 <= n <= 1023. */
static double power_of_two(int n) { return from_bits((uint64_t)(n + 1023) << 52); }

/* q(r) in e^r = 1 + r + r^2 q(r), |r| <= ln(2) / 2. */
static double exp_tail(double r)
{
    return 0x1p-1 +
           r * (0x1.5555555555555p-3 +
                r * (0x1.5555555555557p-5 +
                     r * (0x1.11111111112fdp-7 +
                          r * (0x1.6c16c16c15715p-10 +
                               r * (0x1.a01a019f20fccp-13 +
                                    r * (0x1.a01a01ab56218p-16 +
                                         r * (0x1.71de3ded817e9p-19 +
                                              r * (0x1.27e4d0705d316p-22 +
                                                   r * (0x1.ae57e87938588p-26 +
                                                        r * (0x1.1f858ef6d9725p-29 +
                                                             r * 0x1.71afc702d6dc3p-33))))))))));
}

/* x + low = n ln 2 + (result + *rest), |result| <= ln(2) / 2. */
static double cut_exp(double x, double low, int *n, double *rest)
{
    const double shifter = 0x1.8p52, t = (x * 0x1.71547652b82fep0 + shifter) - shifter;
    const double high = x - t * 0x1.62e42feep-1, part = t * 0x1.a39ef35793c76p-33 - low;
    const double r = high - part;
    *n = (int)t;
    *rest = (high - r) - part;
    return r;
}

double hn_math_exp_sum(double x, double low)
{
    if (x != x)
        return x;
    if (x > 710)
        return HUGE_VAL;
    if (x < -746)
        return 0;
    int n;
    double rest;
    const double r = cut_exp(x, low, &n, &rest);
    const double y = 1 + (r + (r * r * exp_tail(r) + (rest + rest * r)));
    return y * power_of_two(n / 2) * power_of_two(n - n / 2);
}

double hn_math_exp(double x) { return hn_math_exp_sum(x, 0); }

double hn_math_expm1(double x)
{
    if (x != x || fabs(x) < 0x1p-54)
        return x;
    if (x > 710)
        return HUGE_VAL;
    if (x < -40)
        return -1;
    int n;
    double rest;
    const double r = cut_exp(x, 0, &n, &rest);
    const double p = r + (r * r * exp_tail(r) + (rest + rest * r));
    if (n == 0)
        return p;
    const double half = power_of_two(n - 1); /* 2^1024 would not be finite */
    return n > 60 ? 2 * (p * half + half) : 2 * (p * half + (half - 0.5));
}

/* x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for normal x > 0. */
static double cut_log(double x, int *k)
{
    const uint64_t from = UINT64_C(0x3fe6a09e667f3bcd); /* sqrt(1/2) */
    const int64_t steps = (int64_t)(bits_of(x) - from) >> 52;
    *k = (int)steps;
    return from_bits(bits_of(x) - ((uint64_t)steps << 52)) - 1;
}

/* log(1 + f) + k ln 2 + rest. With s = f / (2 + f): log(1+f) = f - (f^2/2 - s (f^2/2 +
 * R(s^2))). */
static double join_log(double f, int k, double rest)
{
    const double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    const double r =
        z *
        (0x1.5555555555555p-1 +
         z * (0x1.9999999999cf7p-2 +
              z * (0x1.249249243c36ap-2 +
                   z * (0x1.c71c7247f300cp-3 +
                        z * (0x1.745ce2e027afcp-3 +
                             z * (0x1.3b1ff58c7c88cp-3 +
                                  z * (0x1.0f6b4921bd7f5p-3 + z * 0x1.0eea82b6c5967p-3)))))));
    const double low = k * 0x1.a39ef35793c76p-33 + rest;
    return k * 0x1.62e42feep-1 - ((half - (s * (half + r) + low)) - f);
}

double hn_math_log(double x)
{
    if (!(x > 0))
        return x == 0 ? -HUGE_VAL : (x - x) / 0.0;
    if (x > 0x1.fffffffffffffp1023)
        return x;
    int k, lift = 0;
    if (x < 0x1p-1022)
        x *= 0x1p54, lift = 54;
    const double f = cut_log(x, &k);
    return join_log(f, k - lift, 0);
}

double hn_math_log1p(double x)
{
    if (x != x || fabs(x) < 0x1p-54 || x > 0x1.fffffffffffffp1023)
        return x;
    if (x <= -1)
        return x == -1 ? -HUGE_VAL : (x - x) / 0.0;
    const double u = 1 + x;
    int k;
    const double f = cut_log(u, &k);
    if (k == 0)
        return join_log(x, 0, 0);
    const double lost = k > 0 ? 1 - (u - x) : x - (u - 1); /* what 1 + x rounded away */
    return join_log(f, k, lost / u);
}

double hn_math_tanh(double x)
{
    const double a = fabs(x);
    if (!(a >= 0x1p-27))
        return x;
    if (a > 22)
        return x > 0 ? 1 : -1;
    const double t = hn_math_expm1(2 * a), y = a < 1 ? t / (t + 2) : 1 - 2 / (t + 2);
    return x > 0 ? y : -y;
}

static double erf_small(double x)
{
    const double z = x * x;
    const double p =
        0x1.06eba8214db69p-3 +
        z * (-0x1.812746b037a0ep-2 +
             z * (0x1.ce2f21a0449cbp-4 +
                  z * (-0x1.b82ce3132d44p-6 +
                       z * (0x1.565bcd2d7c6e6p-8 +
                            z * (-0x1.c02dbb1e44aecp-11 +
                                 z * (0x1.f9a431a503b0ap-14 +
                                      z * (-0x1.f4ebd4e537c64p-17 +
                                           z * (0x1.bb7ae00f7dad6p-20 +
                                                z * (-0x1.6f0ee650860acp-23 +
                                                     z * (0x1.54ca0f37c5533p-26 +
                                                          z * -0x1.69dc849b392dep-29))))))))));
    return x + x * p;
}

double hn_math_erf(double x)
{
    const double a = fabs(x);
    if (!(a >= 0.75))
        return erf_small(x);
    if (a > 6)
        return x > 0 ? 1 : -1;
    int i = (int)(2 * a - 1.5);
    i = i < ERF_CENTERS ? i : ERF_CENTERS - 1;
    const double h = a - (1 + 0.5 * i), *c = erf_around[i];
    double y = c[ERF_TERMS - 1];
    for (int term = ERF_TERMS - 2; term >= 0; term--)
        y = y * h + c[term];
    return x > 0 ? y : -y;
}
