/* Quantiles by bisection of the distribution function: slow, and as exact as erf is. */
#include "base/normal.h"

#include "base/mathfn.h"

double hn_normal_quantile(double p)
{
    double low = -9, high = 9;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (0.5 * (1 + hn_math_erf(middle * 0.70710678118654752)) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

void hn_normal_make(hn_normal *n)
{
    const double end = 1.0 / (32 * HN_NORMAL_CELLS);
    for (int i = 0; i <= HN_NORMAL_CELLS / 2; i++) { /* exactly odd */
        const double x = hn_normal_quantile(i ? (double)i / HN_NORMAL_CELLS : end);
        n->at[i] = (float)x;
        n->at[HN_NORMAL_CELLS - i] = (float)-x;
    }
    n->at[HN_NORMAL_CELLS / 2] = 0;
}
