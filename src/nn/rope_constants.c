/* Computed as the converters do, in the precision in which they do, so that the same bytes come out. */
#include "nn/rope_constants.h"

#include "base/mathfn.h"

#include <string.h>

/* llama3: long waves are slowed by `factor`, short ones kept, with a ramp between. In f32, as
 * the converter computes it from f32 frequencies. */
static void llama3(const hn_hparams *hp, int64_t n, double *out)
{
    const double pi = 3.14159265358979323846;
    const double context = hp->rope_orig_ctx ? (double)hp->rope_orig_ctx : 8192;
    const double longest = context / hp->rope_low_freq, shortest = context / hp->rope_high_freq;
    for (int64_t i = 0; i < n; i++) {
        const float power = (float)(2 * i) / (float)(2 * n);
        const float base = (float)hn_math_pow(hp->rope_base, (double)power);
        const float frequency = 1.0f / base;
        const float wave = (float)(2 * pi) / frequency;
        if ((double)wave > longest) {
            out[i] = hp->rope_factor;
        } else if ((double)wave < shortest) {
            out[i] = 1;
        } else {
            const float smooth = ((float)context / wave - (float)hp->rope_low_freq) /
                                 (float)(hp->rope_high_freq - hp->rope_low_freq);
            out[i] = (double)(1.0f / ((1.0f - smooth) / (float)hp->rope_factor + smooth));
        }
    }
}

/* gemma4: the first part of each half turns; the rest, divided by 1e30, stands still. */
static void proportional(const hn_hparams *hp, int64_t n, double *out)
{
    const int64_t turning = (int64_t)((double)(2 * n) * hp->rope_partial / 2);
    for (int64_t i = 0; i < n; i++)
        out[i] = i < turning ? hp->rope_factor > 0 ? hp->rope_factor : 1.0 : 1e30;
}

hn_status hn_rope_constant(const hn_hparams *hp, const char *gguf_name, int64_t n, double *out)
{
    if (!strcmp(gguf_name, "rope_freqs.weight")) {
        if (hp->rope_scaling == HN_ROPE_LLAMA3)
            llama3(hp, n, out);
        else if (hp->rope_scaling == HN_ROPE_PROPORTIONAL)
            proportional(hp, n, out);
        for (int64_t i = 0; hp->rope_scaling != HN_ROPE_LLAMA3 &&
                            hp->rope_scaling != HN_ROPE_PROPORTIONAL && i < n; i++)
            out[i] = 1;
        return HN_OK;
    }
    const double *factors = strstr(gguf_name, "long") ? hp->rope_long : hp->rope_short;
    HN_REQUIRE(n == hp->n_rope_factors, HN_ERR_FORMAT, "%s: %d factors: expected %lld",
               gguf_name, hp->n_rope_factors, (long long)n);
    memcpy(out, factors, (size_t)n * sizeof *out);
    return HN_OK;
}
