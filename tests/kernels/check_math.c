/* The vector functions against double, in units in the last place: each level through its
 * elementwise kernel, over one f32 in 1,021. */
#include "base/half.h"
#include "base/mathfn.h"
#include "kernels/elemwise/elemwise.h"
#include "tests/harness/check.h"
#include "tests/kernels/at_level.h"

#include <math.h>

enum { STRIDE = 1021, BATCH = 1024 };

static double logistic(double x) { return 1 / (1 + hn_math_exp(-x)); }

static double soft_plus(double x)
{
    return x > 0 ? x + hn_math_log1p(hn_math_exp(-x)) : hn_math_log1p(hn_math_exp(x));
}

static double ulps(float got, double want)
{
    if (isnan(want))
        return isnan(got) ? 0 : HUGE_VAL;
    if (fabs(want) >= 0x1.ffffffp127) /* rounds to infinity */
        return isinf(got) && (got > 0) == (want > 0) ? 0 : HUGE_VAL;
    int exponent;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static void check(const char *level, const char *name, void (*kernel)(HN_SHARED_map),
                  double (*exact)(double), double bound)
{
    double worst = 0;
    float at = 0;
    uint32_t bits = 0;
    for (uint64_t done = 0; done < (UINT64_C(1) << 32); done += (uint64_t)STRIDE * BATCH) {
        float x[BATCH], y[BATCH];
        for (int i = 0; i < BATCH; i++, bits += STRIDE)
            x[i] = hn_f32_from_bits(bits);
        kernel(BATCH, x, y, NULL);
        for (int i = 0; i < BATCH; i++) {
            const double off = ulps(y[i], exact((double)x[i]));
            if (off > worst)
                worst = off, at = x[i];
        }
    }
    CHECK_THAT(worst <= bound, "%s at %s: %.3f ULP at %a, bound %g", name, level, worst,
               (double)at, bound);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_isa isa = HN_ISA_ref;
    CHECK_OK(hn_isa_available(&isa));
    hn_elemwise_kernels k;
    k = at_level(isa)->elemwise;
    hn_isa_text text;
    const char *level = hn_isa_name(isa, &text);
    check(level, "exp", k.exp_f32, hn_math_exp, 1.1);
    check(level, "expm1", k.expm1_f32, hn_math_expm1, 1.5);
    check(level, "log", k.log_f32, hn_math_log, 1);
    check(level, "log1p", k.log1p_f32, hn_math_log1p, 1.5);
    check(level, "tanh", k.tanh_f32, hn_math_tanh, 2.5);
    check(level, "erf", k.erf_f32, hn_math_erf, 1.1);
    check(level, "sigmoid", k.sigmoid_f32, logistic, 2.4);
    check(level, "softplus", k.softplus_f32, soft_plus, 2);
    check(level, "sin", k.sin_f32, hn_math_sin, 0.51);
    check(level, "cos", k.cos_f32, hn_math_cos, 0.51);
    return check_close();
}
