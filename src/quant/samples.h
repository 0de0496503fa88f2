/* samples.h: the numbers of a block, ready for a search of its scales: multiplied by a power of
 * two so that the largest is in [1, 2), with a weight each, the largest of them in [1, 2) too
 * (save at the ends of what an f32 can be). Both are exact, so sums of squares neither overflow
 * nor vanish wherever the block lies. */
#ifndef HN_QUANT_SAMPLES_H
#define HN_QUANT_SAMPLES_H

#include <stdint.h>
#include <string.h>

enum { HN_SAMPLES = 256, HN_LANES = 8 /* sums are eight chains, folded in halves */ };

/* Four numbers side by side, of either half of the eight. Compilers make vectors of them
 * wherever there are any, and the same sums everywhere. */
typedef float hn_four __attribute__((vector_size(16)));

static inline hn_four hn_four_at(const float *x)
{
    hn_four four;
    memcpy(&four, x, sizeof four);
    return four;
}

/* Each times `inverse`, kept within [low, high]. */
static inline hn_four hn_four_within(hn_four v, float inverse, float low, float high)
{
    v *= inverse;
    for (int l = 0; l < 4; l++) {
        const float above = v[l] > low ? v[l] : low;
        v[l] = above < high ? above : high;
    }
    return v;
}

/* Each to the nearest whole number, as hn_nearest in grid.h. */
static inline hn_four hn_four_nearest(hn_four v)
{
    const hn_four shifted = v + 12582912.0f;
    return shifted - 12582912.0f;
}

static inline double hn_fold(hn_four a, hn_four b)
{
    a += b;
    return (double)((a[0] + a[2]) + (a[1] + a[3]));
}

/* The least and the largest of n numbers, n a multiple of HN_LANES. */
static inline void hn_range(int n, const float *x, float *low, float *high)
{
    float least[HN_LANES], most[HN_LANES];
    memcpy(least, x, sizeof least);
    memcpy(most, x, sizeof most);
    for (int i = HN_LANES; i < n; i += HN_LANES)
        for (int l = 0; l < HN_LANES; l++) {
            least[l] = x[i + l] < least[l] ? x[i + l] : least[l];
            most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
        }
    *low = least[0];
    *high = most[0];
    for (int l = 1; l < HN_LANES; l++) {
        *low = least[l] < *low ? least[l] : *low;
        *high = most[l] > *high ? most[l] : *high;
    }
}

typedef struct hn_samples {
    _Alignas(16) float x[HN_SAMPLES];
    _Alignas(16) float weight[HN_SAMPLES];
    _Alignas(16) float wx[HN_SAMPLES]; /* weight * x */
    float unit;                        /* the block's numbers are unit * x */
} hn_samples;

/* n is a multiple of HN_LANES; weight may be NULL: ones. Weights that are all zero count as
 * ones. */
void hn_samples_take(hn_samples *out, int n, const float *x, const float *weight);

#endif
