/* A power of two is taken from the exponent's bits, so that multiplying by it and by its inverse rounds nothing. */
#include "quant/samples.h"

#include "base/half.h"

#include <stddef.h>

/* 2^k with k as floor(log2(x)), within what is no denormal and has an inverse that is none. */
static float power_below(float x)
{
    const uint32_t exponent = hn_f32_bits(x) >> 23 & 255;
    return hn_f32_from_bits((exponent < 1 ? 1 : exponent > 253 ? 253 : exponent) << 23);
}

static float largest_of(int n, const float *x)
{
    float low, high;
    hn_range(n, x, &low, &high);
    return -low > high ? -low : high;
}

void hn_samples_take(hn_samples *out, int n, const float *x, const float *weight)
{
    out->unit = power_below(largest_of(n, x));
    const float inverse = 1 / out->unit;
    const float heaviest = weight ? largest_of(n, weight) : 0;
    const float share = heaviest > 0 ? 1 / power_below(heaviest) : 0;
    for (int i = 0; i < n; i++)
        out->x[i] = x[i] * inverse;
    if (heaviest > 0)
        for (int i = 0; i < n; i++)
            out->weight[i] = weight[i] * share;
    else
        for (int i = 0; i < n; i++)
            out->weight[i] = 1;
    for (int i = 0; i < n; i++)
        out->wx[i] = out->weight[i] * out->x[i];
}
