/* rope_table.h: the angles of rotary positions, for the op that makes them and for its kernel.
 *
 * Inverse frequencies are computed in f32, in the order of operations of the reference
 * (Transformers), because models were trained with those roundings. The angle of a position is
 * exact in double; its cosine and sine are rounded to f32 once, so far positions stay accurate.
 * A mode that follows the reference to the last bit rounds the angle too: narrow_angle.
 */
#ifndef HN_OPS_ROPE_TABLE_H
#define HN_OPS_ROPE_TABLE_H

#include "ops/ops.h"

/* f: the inverse frequency base^(-2i/width) of pair i; L: `original`.
 *   linear        f / factor
 *   llama3        f where a turn is shorter than L/high_freq, f / factor where longer than
 *                 L/low_freq, a mixture between
 *   yarn          f for pairs that turn more than beta_fast times in L, f / factor for those that
 *                 turn less than beta_slow times, a ramp between; magnitude 1 + 0.1 ln factor
 *   longrope      f / factors[i]; magnitude sqrt(1 + ln factor / ln L)
 *   proportional  f / factor, and the pairs from n_rot / 2 on do not turn (Gemma 4) */
typedef enum hn_rope_scaling {
    HN_ROPE_NONE,
    HN_ROPE_LINEAR,
    HN_ROPE_LLAMA3,
    HN_ROPE_YARN,
    HN_ROPE_LONGROPE,
    HN_ROPE_PROPORTIONAL
} hn_rope_scaling;

/* Zeros mean the defaults in brackets. */
struct hn_rope_spec {
    int64_t width;              /* columns of a head that are pairs */
    float base;                 /* [10000] */
    int scaling;
    int64_t n_rot;              /* proportional: columns that turn [all] */
    float factor;               /* [1] */
    int64_t original;           /* context length that the model was first trained with */
    float low_freq, high_freq;  /* llama3 [1, 4] */
    float beta_fast, beta_slow; /* yarn [32, 1] */
    float attn_factor;          /* multiplies cosines and sines [what the scaling says] */
    bool fractional;            /* yarn: the ramp's ends are not rounded to whole pairs */
    bool narrow_angle;          /* position times frequency is rounded to f32 */
};

enum { HN_ROPE_MAX_PAIRS = 512 };

/* The spec with its defaults filled in: so it must be, here and below. */
hn_rope_spec hn_rope_filled(const hn_rope_spec *spec);

/* width / 2 inverse frequencies, divided by `factors` where they are given. */
void hn_rope_frequencies(const hn_rope_spec *spec, const hn_tensor *factors, float *inv_freq);

/* What cosines and sines are multiplied by. */
double hn_rope_magnitude(const hn_rope_spec *spec);

/* width / 2 cosines of one position, then its sines, times the magnitude. */
void hn_rope_row(const hn_rope_spec *spec, const float *inv_freq, int64_t position, float *row);

#endif
