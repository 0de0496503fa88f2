/* Float arithmetic here is the reference's own, step by step: torch divides a number by a
 * tensor as number * (1 / tensor). */
#include "ops/rope_table.h"

static const double two_pi = 6.283185307179586477;

hn_rope_spec hn_rope_filled(const hn_rope_spec *spec)
{
    hn_rope_spec s = *spec;
    s.base = s.base != 0 ? s.base : 10000;
    s.factor = s.factor != 0 ? s.factor : 1;
    s.low_freq = s.low_freq != 0 ? s.low_freq : 1;
    s.high_freq = s.high_freq != 0 ? s.high_freq : 4;
    s.beta_fast = s.beta_fast != 0 ? s.beta_fast : 32;
    s.beta_slow = s.beta_slow != 0 ? s.beta_slow : 1;
    return s;
}

/* base^(2i/width), times the factor of a pair. */
static float period(const hn_rope_spec *s, int64_t i, int64_t width, const hn_tensor *factors)
{
    const float exponent = (float)(2 * i) / (float)width;
    const float p = (float)hn_math_pow((double)s->base, (double)exponent);
    return factors ? (float)hn_get(factors, i) * p : p;
}

static float llama3(const hn_rope_spec *s, float f)
{
    const float length = (float)s->original, wave = 1 / f * (float)two_pi;
    if (wave > length / s->low_freq)
        return f / s->factor;
    if (wave < length / s->high_freq)
        return f;
    const float kept = (1 / wave * length - s->low_freq) / (s->high_freq - s->low_freq);
    return (1 - kept) * f / s->factor + kept * f;
}

/* The pair that turns `turns` times in the original context. */
static double pair_of(const hn_rope_spec *s, int64_t width, float turns)
{
    return (double)width * hn_math_log((double)s->original / ((double)turns * two_pi)) /
           (2 * hn_math_log((double)s->base));
}

static float yarn(const hn_rope_spec *s, float p, int64_t i, int64_t width)
{
    double low = pair_of(s, width, s->beta_fast), high = pair_of(s, width, s->beta_slow);
    if (!s->fractional) {
        low = floor(low);
        high = ceil(high);
    }
    low = low < 0 ? 0 : low;
    high = high > (double)(width - 1) ? (double)(width - 1) : high;
    high += low == high ? 0.001 : 0;
    float ramp = ((float)i - (float)low) / (float)(high - low);
    ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    const float kept = 1 - ramp;
    return 1 / (s->factor * p) * (1 - kept) + 1 / p * kept;
}

void hn_rope_frequencies(const hn_rope_spec *s, const hn_tensor *factors, float *inv_freq)
{
    const int64_t width = s->width;
    const int64_t n_turning = (s->n_rot ? s->n_rot : width) / 2;
    for (int64_t i = 0; i < width / 2; i++) {
        const float p = period(s, i, width, factors), f = 1 / p;
        switch ((hn_rope_scaling)s->scaling) {
        case HN_ROPE_NONE:
        case HN_ROPE_LONGROPE:
            inv_freq[i] = f;
            break;
        case HN_ROPE_LINEAR:
            inv_freq[i] = f / s->factor;
            break;
        case HN_ROPE_LLAMA3:
            inv_freq[i] = llama3(s, f);
            break;
        case HN_ROPE_YARN:
            inv_freq[i] = yarn(s, p, i, width);
            break;
        case HN_ROPE_PROPORTIONAL:
            inv_freq[i] = i < n_turning ? f / s->factor : 0;
            break;
        }
    }
}

double hn_rope_magnitude(const hn_rope_spec *s)
{
    if (s->attn_factor != 0)
        return (double)s->attn_factor;
    if (s->factor <= 1)
        return 1;
    if (s->scaling == HN_ROPE_YARN)
        return 1 + 0.1 * hn_math_log((double)s->factor);
    if (s->scaling == HN_ROPE_LONGROPE)
        return sqrt(1 + hn_math_log((double)s->factor) / hn_math_log((double)s->original));
    return 1;
}

void hn_rope_row(const hn_rope_spec *s, const float *inv_freq, int64_t position, float *row)
{
    const double size = hn_rope_magnitude(s);
    const int64_t n_pairs = s->width / 2;
    for (int64_t i = 0; i < n_pairs; i++) {
        const double exact = (double)position * (double)inv_freq[i];
        const double angle = s->narrow_angle ? (double)((float)position * inv_freq[i]) : exact;
        row[i] = (float)(hn_math_cos(angle) * size);
        row[n_pairs + i] = (float)(hn_math_sin(angle) * size);
    }
}
