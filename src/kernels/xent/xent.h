/* xent.h: cross-entropy fused with the output projection, so that [T,V] logits never exist.
 *
 *     s = x w^T  [T,V],  x [T,C] f32,  w [V,C] of any element type
 *     z = s * scale;  cap * tanh(z / cap) with a cap
 *     nll[t] = weight[t] * (lse[t] - z[t, label[t]]);  0 where label < 0
 *
 * The vocabulary is cut into tiles of 512 columns. Of each tile and token: m = max z, l = sum
 * of exp(z - m) by sixteen lanes; tiles fold in ascending order, m' = max(m, m_i), l =
 * l exp(m - m') + l_i exp(m_i - m'); lse = m + log l. A token's numbers depend on its row and
 * w alone.
 *
 * Gradient, with g[t] = grad[t] * weight[t]: dz = (exp(z - lse) - [v = label]) * g, with a cap
 * dz *= 1 - (z / cap)^2, ds = dz * scale, exactly 0 where label < 0. dx is one chain over
 * ascending v; dw one chain over ascending tokens, from +0 or from what it holds. One tile of
 * ds, [T,512], is all that is stored. Narrow: both products by w are in blocks (blocks.h), of dx over the
 * vocabulary; ds is rounded to bf16, and a probability below 2^-60 is none: next to rounding it is nothing, and
 * instructions for bf16 (dots.h) want no number so small.
 *
 * Forward with dx: both at once, a block of rows after the other, whose logits are then kept as a
 * whole, so that no product is made twice, where that takes little beside the weights. The same bits.
 *
 * Phases follow one another with a barrier between; units of a phase run in any order. */
#ifndef HN_KERNELS_XENT_XENT_H
#define HN_KERNELS_XENT_XENT_H

#include "kernels/gemm/gemm.h"

enum { HN_XENT_TILE = 512, HN_XENT_ROWS = 256 };

/* Over a tile s[rows, cols] with rows `stride` apart; labels count from the tile's first
 * column, and are outside [0, cols) where the label lies elsewhere. */
#define HN_PARAMS_xent_stats                                                                   \
    int64_t rows, int64_t cols, const float *s, int64_t stride, float scale, float cap,        \
        const int32_t *label, int32_t from, float *m, float *l, float *picked
#define HN_PARAMS_xent_fold int64_t n, const float *m2, const float *l2, float *m, float *l
#define HN_PARAMS_xent_loss                                                                    \
    int64_t n, const float *m, const float *l, const float *picked, const int32_t *label,      \
        const float *weight, float *lse, float *nll
#define HN_PARAMS_xent_grad                                                                    \
    int64_t rows, int64_t cols, float *s, int64_t stride, float scale, float cap, bool narrow, \
        const int32_t *label, int32_t from, const float *lse, const float *weight,             \
        const float *grad

typedef struct hn_xent_kernels {
    void (*stats)(HN_PARAMS_xent_stats);
    void (*fold)(HN_PARAMS_xent_fold); /* m, l take in m2, l2 */
    void (*loss)(HN_PARAMS_xent_loss);
    void (*grad)(HN_PARAMS_xent_grad); /* s becomes its gradient */
} hn_xent_kernels;

typedef struct hn_xent_args {
    int64_t n, c, v; /* tokens, channels, vocabulary */
    const float *x;  /* [n, c], rows x_stride bytes apart */
    int64_t x_stride;
    hn_gemm_operand w; /* outer is v, k is c */
    const int32_t *label;
    const float *weight; /* [n] or NULL: 1 */
    float scale, cap;    /* cap 0: none */
    bool narrow;
    float *nll, *lse;    /* [n]; backward reads lse */
    const float *grad;   /* [n] of nll, or NULL: 1 */
    float *dx;           /* [n, c] or NULL; of forward too */
    int64_t dx_stride;
    float *dw; /* [v, c] or NULL */
    int64_t dw_stride;
    bool accumulate; /* dw goes on from what it holds */
} hn_xent_args;

typedef struct hn_xent_plan {
    hn_xent_args args;
    const hn_xent_kernels *kernels;
    const hn_gemm_kernels *gemm;
    int threads;
    bool is_backward;
    bool keeps, goes_back; /* how forward with dx is done: see xent.c */
    int64_t rows; /* of a block */
    int64_t n_tiles, n_blocks, n_phases;
} hn_xent_plan;

void hn_xent_plan_make(hn_xent_plan *plan, const hn_xent_kernels *kernels,
                       const hn_gemm_kernels *gemm, const hn_xent_args *args, bool backward,
                       int threads);
int64_t hn_xent_units(const hn_xent_plan *plan, int64_t phase);
void hn_xent_run(const hn_xent_plan *plan, int64_t phase, int64_t first, int64_t end,
                 void *scratch, void *shared);

/* Of each thread; and of all threads: of this plan, or one of fewer tokens. Aligned to 64. */
size_t hn_xent_scratch_bytes(const hn_xent_plan *plan);
size_t hn_xent_shared_bytes(const hn_xent_plan *plan);

#endif
