/* sin and cos: reduce by quarter turns to |r| <= pi/4, held as a sum of two doubles; below 2^20
 * by subtracting pieces of pi/2 whose products with the turn count are exact, above by
 * multiplying with as many bits of 2/pi as the argument needs. */
#include "base/mathfn.h"
#include "base/pair.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* 2 / pi: the bits after the point, most significant word first. Enough for 2^1023. */
/* clang-format off */
static const uint64_t two_over_pi[19] = {
    UINT64_C(0xa2f9836e4e441529), UINT64_C(0xfc2757d1f534ddc0), UINT64_C(0xdb6295993c439041),
    UINT64_C(0xfe5163abdebbc561), UINT64_C(0xb7246e3a424dd2e0), UINT64_C(0x06492eea09d1921c),
    UINT64_C(0xfe1deb1cb129a73e), UINT64_C(0xe88235f52ebb4484), UINT64_C(0xe99c7026b45f7e41),
    UINT64_C(0x3991d639835339f4), UINT64_C(0x9c845f8bbdf9283b), UINT64_C(0x1ff897ffde05980f),
    UINT64_C(0xef2f118b5a0a6d1f), UINT64_C(0x6d367ecf27cb09b7), UINT64_C(0x4f463f669e5fea2d),
    UINT64_C(0x7527bac7ebe5f17b), UINT64_C(0x3d0739f78a5292ea), UINT64_C(0x6bfb5fb11f8d5d08),
    UINT64_C(0x56033046fc7b6bab),
};
/* clang-format on */

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 wide_u;

/* 64 bits of 2/pi from bit `at` after the point; there are zeros before it. */
static uint64_t bits_at(int at)
{
    if (at < 0)
        return at <= -64 ? 0 : two_over_pi[0] >> -at;
    const int word = at / 64, shift = at % 64;
    if (!shift)
        return two_over_pi[word];
    return two_over_pi[word] << shift | two_over_pi[word + 1] >> (64 - shift);
}

/* x = m 2^e. Bits of 2/pi that make multiples of four turns are left out, so that
 * m * (192 bits) mod 2^192 is the turn count (2 bits) and the fraction (190 bits). */
static hn_pair reduce_large(double x, int *quadrant)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    const int at = (int)(bits >> 52 & 0x7ff) - 1075 - 2;
    const wide_u low = (wide_u)m * bits_at(at + 128);
    const wide_u middle = (wide_u)m * bits_at(at + 64) + (low >> 64);
    const uint64_t high = m * bits_at(at) + (uint64_t)(middle >> 64);
    wide_u fraction = (wide_u)high << 64 | (uint64_t)middle;
    *quadrant = (int)(fraction >> 126);
    fraction = fraction << 2 | (uint64_t)low >> 62;
    const wide turn = (wide)fraction; /* at least a half is the next quadrant, less one turn */
    *quadrant += turn < 0;
    const double h = (double)turn;
    const double l = (double)(turn - (wide)h);
    hn_pair r = hn_two_product(h * 0x1p-128, 0x1.921fb54442d18p+0);
    r.low += h * 0x1p-128 * 0x1.1a62633145c07p-54 + l * 0x1p-128 * 0x1.921fb54442d18p+0;
    return hn_two_sum(r.high, r.low);
}

static hn_pair reduce(double x, int *quadrant)
{
    if (!(x >= 0x1p20 || x <= -0x1p20)) {
        const double shifter = 0x1.8p52, n = (x * 0x1.45f306dc9c883p-1 + shifter) - shifter;
        *quadrant = (int)n;
        const hn_pair a = hn_two_sum(x - n * 0x1.921fb544p+0, -n * 0x1.0b4611a6p-34);
        const hn_pair b = hn_two_sum(a.high, -n * 0x1.3198a2ep-69);
        return hn_two_sum(b.high, (a.low + b.low) - n * 0x1.b839a252049c1p-104);
    }
    const hn_pair r = reduce_large(fabs(x), quadrant);
    if (x > 0)
        return r;
    *quadrant = -*quadrant;
    return (hn_pair){ -r.high, -r.low };
}

static double sin_part(hn_pair r)
{
    const double z = r.high * r.high;
    const double p =
        -0x1.5555555555555p-3 +
        z * (0x1.1111111111089p-7 +
             z * (-0x1.a01a01a0067b5p-13 +
                  z * (0x1.71de3a3fbcbep-19 +
                       z * (-0x1.ae643cfa66fcfp-26 +
                            z * (0x1.611495a373a0bp-33 + z * -0x1.a562e0f3eb8c2p-41)))));
    return r.high + (r.high * z * p + r.low * (1 - z * 0.5));
}

static double cos_part(hn_pair r)
{
    const double z = r.high * r.high, half = 0.5 * z, w = 1 - half;
    const double p =
        0x1.5555555555555p-5 +
        z * (-0x1.6c16c16c16b4ap-10 +
             z * (0x1.a01a01a002487p-16 +
                  z * (-0x1.27e4fb6157642p-22 +
                       z * (0x1.1eed7873f6d75p-29 +
                            z * (-0x1.937f085f9bb5fp-37 + z * 0x1.a2a6b83a4b152p-45)))));
    return w + (((1 - w) - half) + (z * z * p - r.high * r.low));
}

static double turn(double x, int quadrants)
{
    int q;
    const hn_pair r = reduce(x, &q);
    q += quadrants;
    const double y = q & 1 ? cos_part(r) : sin_part(r);
    return q & 2 ? -y : y;
}

double hn_math_sin(double x)
{
    if (!(fabs(x) < HUGE_VAL))
        return x - x;
    if (fabs(x) < 0x1p-27)
        return x;
    return turn(x, 0);
}

double hn_math_cos(double x)
{
    if (!(fabs(x) < HUGE_VAL))
        return x - x;
    return turn(x, 1);
}
