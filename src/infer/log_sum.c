/* Less the largest, so no exponential overflows; in double and in one order, so that whoever adds gets the same. */
#include "infer/log_sum.h"

#include "base/mathfn.h"

double hn_log_sum(const float *logits, int64_t n, int64_t *best)
{
    *best = 0;
    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[*best])
            *best = i;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += hn_math_exp((double)logits[i] - (double)logits[*best]);
    return (double)logits[*best] + hn_math_log(sum);
}
