/* draw.h: passes over the logits of all words, for a draw that sorts next to none of them (infer/crowd.h). No logit is a NaN, but
 * for draw_look; -inf is a word that is out; `best` is the largest.
 *
 * A weight is a whole number, 2^40 for the best, so that sums of weights are exact in whatever order they are added up:
 *
 *     weight(x) = exp(z) 2^40 to the nearest even, z = (x - best) heat, each step rounded to f32; 0 where z < -40
 *
 * exp is kernels/simd/math_f32.h's; 0 <= heat < inf. With a heat of 0 every word that is not out weighs 2^40, and one that is, nothing.
 * A bin is a stretch of logits, the likelier ones first, for 0 < step < inf:
 *
 *     bin(x) = min((best - x) step, HN_DRAW_BINS - 1) to the nearest even
 *
 *   draw_look   y = x where `allowed` (NULL: everywhere) has a bit, -inf elsewhere; y may be x. peaks[16 j + l] = the largest
 *               y[i] with i / 256 == j and i mod 16 == l, -inf for none. *found: of y; NaN is looked for in x, everywhere
 *   draw_weigh  w = weight(x), as f32, which holds it exactly; w may be x
 *   draw_tally  sums[b] = the weights of bin b added up, for from <= b < to, and *others those of all other bins; `sums` has room for
 *               HN_DRAW_SUMS, of which the first HN_DRAW_BINS are these. A bin that few words are in costs little: others are added
 *               up sixteen at a time
 *   draw_bin    at[0, *count) = where x is in the bin and not out, ascending
 *   draw_above  the same, where x >= least > -inf
 *   draw_keep   x = -inf where x < least, or x == least behind `last`
 */
#ifndef HN_KERNELS_DRAW_DRAW_H
#define HN_KERNELS_DRAW_DRAW_H

#include "kernels/kernel.h"

enum { HN_DRAW_BINS = 1024, HN_DRAW_SUMS = 4 * HN_DRAW_BINS, HN_DRAW_CHUNK = 256 };

typedef struct hn_draw_found {
    float most, least; /* of those that are not out; -inf and inf: none */
    bool has_nan;
} hn_draw_found;

#define HN_PARAMS_draw_look_f32                                                                \
    int64_t n, const float *x, const uint64_t *allowed, float *y, float *peaks, hn_draw_found *found
#define HN_PARAMS_draw_weigh_f32 int64_t n, const float *x, float best, float heat, float *w
#define HN_PARAMS_draw_tally_f32                                                               \
    int64_t n, const float *x, float best, float heat, float step, int32_t from, int32_t to, uint64_t *sums, uint64_t *others
#define HN_PARAMS_draw_bin_f32                                                                 \
    int64_t n, const float *x, float best, float step, int32_t bin, int32_t *at, int32_t *count
#define HN_PARAMS_draw_above_f32 int64_t n, const float *x, float least, int32_t *at, int32_t *count
#define HN_PARAMS_draw_keep_f32  int64_t n, float *x, float least, int32_t last

typedef struct hn_draw_kernels {
#define HN_KERNEL(slot) HN_KERNEL_MEMBER(slot)
#include "kernels/draw/draw.def"
#undef HN_KERNEL
} hn_draw_kernels;

#if defined(HN_LEVEL)
#define HN_KERNEL(slot) HN_KERNEL_DECLARE(slot)
#include "kernels/draw/draw.def"
#undef HN_KERNEL
#endif

#endif
