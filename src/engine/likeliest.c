/* Kept in order: of equals the first stays first. */
#include "engine/likeliest.h"

int32_t hn_likeliest(const float *logits, int64_t vocab, double sum, int32_t most, hn_lm_likely *to)
{
    int32_t n = 0;
    for (int64_t v = 0; v < vocab; v++) {
        int32_t at = n;
        const double here = (double)logits[v] - sum;
        if (at == most && (!at || !(here > to[at - 1].log_probability)))
            continue;
        at -= at == most;
        for (; at > 0 && here > to[at - 1].log_probability; at--)
            to[at] = to[at - 1];
        to[at] = (hn_lm_likely){ (int32_t)v, here };
        n += n < most;
    }
    return n;
}
