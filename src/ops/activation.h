/* activation.h: activations and their slopes in double, as maps and gated pairs share them. */
#ifndef HN_OPS_ACTIVATION_H
#define HN_OPS_ACTIVATION_H

#include "ops/attrs.h"
#include "ops/ops.h"

#define SQRT_HALF      0.70710678118654752440
#define SQRT_2_OVER_PI 0.79788456080286535588
#define GELU_CUBIC     0.044715

static inline double sigmoid_of(double x) { return 1 / (1 + hn_math_exp(-x)); }

static inline double silu_of(double x) { return x * sigmoid_of(x); }

static inline double silu_slope(double x) { return sigmoid_of(x) * (1 + x * sigmoid_of(-x)); }

/* (1 + tanh u) / 2 is sigmoid(2u). */
static inline double gelu_of(gelu_form form, double x)
{
    if (form == GELU_ERF)
        return x / 2 * (1 + hn_math_erf(x * SQRT_HALF));
    return x * sigmoid_of(2 * SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x));
}

static inline double gelu_slope(gelu_form form, double x)
{
    if (form == GELU_ERF)
        return 0.5 * (1 + hn_math_erf(x * SQRT_HALF)) +
               x * hn_math_exp(-x * x / 2) * (SQRT_2_OVER_PI / 2);
    const double u = 2 * SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), s = sigmoid_of(u);
    const double inner = 2 * SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * x * x);
    return s == 0 || s == 1 ? s : s + x * s * sigmoid_of(-u) * inner;
}

#endif
