/* rope.h: rotates pairs of each head of one token by angles whose cosines and sines are given.
 *
 * x, y: [n_heads, head_dim]; y may be x, exactly. Elements first .. first + n_rot - 1 of a head
 * are rotated, the others copied; n_rot is even. cos, sin: [n_rot / 2]. `direction` is 1, or -1
 * for the inverse, which is also the gradient.
 *
 *     a' = f(a, cos, -(b sin))      b' = f(b, cos, a sin)
 *
 *   rope_halves   a = x[first + i], b = x[first + n_rot / 2 + i]
 *   rope_pairs    a = x[first + 2i], b = x[first + 2i + 1] */
#ifndef HN_KERNELS_ROPE_ROPE_H
#define HN_KERNELS_ROPE_ROPE_H

#include "kernels/kernel.h"

#define HN_SHARED_rope                                                                         \
    int64_t n_heads, int64_t head_dim, int64_t first, int64_t n_rot, const float *cos,         \
        const float *sin, float direction, const float *x, float *y

#define HN_PARAMS_rope_halves_f32 HN_SHARED_rope
#define HN_PARAMS_rope_pairs_f32  HN_SHARED_rope

typedef struct hn_rope_kernels {
#define HN_KERNEL(slot) HN_KERNEL_MEMBER(slot)
#include "kernels/rope/rope.def"
#undef HN_KERNEL
} hn_rope_kernels;

#if defined(HN_LEVEL)
#define HN_KERNEL(slot) HN_KERNEL_DECLARE(slot)
#include "kernels/rope/rope.def"
#undef HN_KERNEL
#endif

#endif
