/* Our elementary functions against long double, in units in the last place, and at the edges.
 */
#include "base/mathfn.h"
#include "base/rng.h"
#include "tests/harness/check.h"

#include <float.h>
#include <math.h>
#include <string.h>

static hn_rng_key key;
static uint64_t drawn;

static double in(double low, double high)
{
    const uint64_t high_word = hn_rng_u32(key, drawn++), low_word = hn_rng_u32(key, drawn++);
    return low + (high - low) * (double)((high_word << 32 | low_word) >> 11) * 0x1p-53;
}

static double any(void)
{
    uint32_t words[2];
    words[0] = hn_rng_u32(key, drawn++);
    words[1] = hn_rng_u32(key, drawn++);
    double x;
    memcpy(&x, words, sizeof x);
    return x;
}

static double ulps(double got, long double want)
{
    const double near = (double)want;
    if (isnan(near) || isinf(near))
        return (isnan(near) && isnan(got)) || near == got ? 0 : HUGE_VAL;
    int exponent;
    frexp(near, &exponent);
    const double ulp = ldexp(1, (exponent < -1021 ? -1021 : exponent) - 53);
    return (double)(fabsl((long double)got - want) / (long double)ulp);
}

typedef struct function {
    const char *name;
    double (*ours)(double);
    long double (*theirs)(long double);
    double low, high, bound;
} function;

static const function functions[] = {
    { "exp", hn_math_exp, expl, -747, 711, 1 },
    { "exp near 0", hn_math_exp, expl, -1, 1, 1 },
    { "expm1", hn_math_expm1, expm1l, -45, 711, 1.5 },
    { "expm1 near 0", hn_math_expm1, expm1l, -1, 1, 1.5 },
    { "log", hn_math_log, logl, 0, 2, 1 },
    { "log1p", hn_math_log1p, log1pl, -1, 2, 2 },
    { "log1p near 0", hn_math_log1p, log1pl, -1e-3, 1e-3, 2 },
    { "tanh", hn_math_tanh, tanhl, -25, 25, 2.5 },
    { "tanh near 0", hn_math_tanh, tanhl, -1, 1, 2.5 },
    { "erf", hn_math_erf, erfl, -7, 7, 1 },
    { "erf near 0", hn_math_erf, erfl, -1, 1, 1 },
    { "sin", hn_math_sin, sinl, -1e3, 1e3, 1 },
    { "sin far", hn_math_sin, sinl, -4e6, 4e6, 1 },
    { "cos", hn_math_cos, cosl, -1e3, 1e3, 1 },
    { "cos far", hn_math_cos, cosl, -4e6, 4e6, 1 },
};

static void check_bounds(void)
{
    if (LDBL_MANT_DIG < 64) {
        check_skip("bounds", "long double is no wider than double here");
        return;
    }
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        const function *fn = &functions[f];
        double worst = 0, at = 0;
        for (int i = 0; i < 100000; i++) {
            const double x = i % 8 ? in(fn->low, fn->high) : any();
            const double off = ulps(fn->ours(x), fn->theirs((long double)x));
            if (off > worst)
                worst = off, at = x;
        }
        CHECK_THAT(worst < fn->bound, "%s: %.3f ULP at %a, bound %g", fn->name, worst, at,
                   fn->bound);
    }
    double worst = 0, at = 0, to = 0;
    for (int i = 0; i < 200000; i++) {
        const double x = i % 4 ? in(0, i % 4 == 1 ? 2 : 1e4) : any();
        const double y = i % 8 ? in(-70, 70) : i % 16 ? (double)(int)in(-9, 9) : any();
        const double off = ulps(hn_math_pow(x, y), powl((long double)x, (long double)y));
        if (off > worst)
            worst = off, at = x, to = y;
    }
    CHECK_THAT(worst < 1, "pow: %.3f ULP at %a, %a", worst, at, to);
}

/* Within a rounding, and the same sign of zero, as C's own functions. */
static bool agrees(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return (a == b && signbit(a) == signbit(b)) || fabs(a - b) <= 4e-16 * fabs(b);
}

static void check_edges(void)
{
    const double edge[] = { 0,         -0.0,    1,       -1,       2,    -2,
                            0.5,       -0.5,    3,       HUGE_VAL, (double)NAN,  -HUGE_VAL,
                            0x1p-1074, DBL_MAX, DBL_MIN, 710,      -746, 0x1p53 };
    enum { N = sizeof edge / sizeof *edge };
    double (*const ours[])(double) = { hn_math_exp,  hn_math_expm1, hn_math_log, hn_math_log1p,
                                       hn_math_tanh, hn_math_erf,   hn_math_sin, hn_math_cos };
    double (*const theirs[])(double) = { exp, expm1, log, log1p, tanh, erf, sin, cos };
    const char *const names[] = { "exp", "expm1", "log", "log1p", "tanh", "erf", "sin", "cos" };
    for (int f = 0; f < 8; f++)
        for (int i = 0; i < N; i++)
            CHECK_THAT(agrees(ours[f](edge[i]), theirs[f](edge[i])), "%s(%a) = %a, not %a",
                       names[f], edge[i], ours[f](edge[i]), theirs[f](edge[i]));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            CHECK_THAT(agrees(hn_math_pow(edge[i], edge[j]), pow(edge[i], edge[j])),
                       "pow(%a, %a) = %a, not %a", edge[i], edge[j],
                       hn_math_pow(edge[i], edge[j]), pow(edge[i], edge[j]));
    /* The double that lies closest to a multiple of pi / 2. */
    CHECK(hn_math_cos(0x1.6ac5b262ca1ffp849) == -0x1.14ae72e6ba22fp-61);
}

/* The same bits on every machine: a digest of results, written once. */
static void check_digest(void)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    key = hn_rng_seed(1), drawn = 0;
    for (int i = 0; i < 20000; i++) {
        const function *fn = &functions[i % (int)(sizeof functions / sizeof *functions)];
        const double x = in(fn->low, fn->high), base = in(0, 9);
        double y = i % 5 ? fn->ours(x) : hn_math_pow(base, x);
        if (isnan(y))
            y = 0;
        uint64_t bits;
        memcpy(&bits, &y, sizeof bits);
        digest = (digest ^ bits) * UINT64_C(0x100000001b3);
    }
    CHECK_THAT(digest == UINT64_C(0xd14d3b4e4db915a0), "digest %016llx",
               (unsigned long long)digest);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    key = hn_rng_seed(check_seed());
    check_bounds();
    check_edges();
    check_digest();
    return check_close();
}
