/* mathfn.h: our own elementary functions in double, because libm's differ by version and
 * processor.
 *
 * Plain IEEE arithmetic, rounding to nearest: the same bits everywhere. Error below 1 ULP for
 * exp, log, sin, cos, pow and erf; 1.5 for expm1, 2 for log1p, 2.5 for tanh
 * (tests/unit/mathfn.c). Infinities, NaN, zeros and denormals behave as C says. No flags are
 * promised, errno is not set. For f32: (float)hn_math_x((double)x) is within 0.51 ULP. */
#ifndef HN_BASE_MATHFN_H
#define HN_BASE_MATHFN_H

double hn_math_exp(double x);
double hn_math_expm1(double x);
double hn_math_log(double x);
double hn_math_log1p(double x);
double hn_math_tanh(double x);
double hn_math_erf(double x);
double hn_math_pow(double x, double y);
double hn_math_sin(double x);
double hn_math_cos(double x);

/* exp(x + low), |low| far below |x|: for products that carry their rounding error. */
double hn_math_exp_sum(double x, double low);

#endif
