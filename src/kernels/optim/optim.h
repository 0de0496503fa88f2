/* optim.h: one step of an optimiser over a contiguous range of one parameter, in place.
 *
 * `first` is the index of the range's first element in the parameter: random bits are keyed by
 * element, so a cut into ranges changes no bit.
 *
 *     g' = g scale, then clamped to -clip .. clip where clip > 0
 *
 *   adamw   m = f(1 - beta1, g' - m, m)         v = f(1 - beta2, g' g' - v, v)
 *           w = f(-rate, m / f(sqrt(v), root, eps), kept)
 *           rate = lr / (1 - beta1^t), root = 1 / sqrt(1 - beta2^t), keep = 1 - lr decay
 *   sgd     u = f(momentum, u, g')              (u = g' where `velocity` is NULL)
 *           w = f(-rate, u, kept)               nesterov: f(momentum, u, g') in place of u
 *   lion    w = f(-rate, sign(f(1 - beta1, g' - m, m)), kept), then m = f(1 - beta2, g' - m, m);
 *           the sign of 0 is 0, and of NaN NaN
 *   kept    w keep, or f(keep, w - toward, toward) where toward is not 0
 *
 * adamw_<moments>_<weights>: where f32, all is as written, and `working`, if it is not NULL,
 * gets w in bf16 to nearest even. Where bf16, the stored value is widened, and the new one
 * rounded stochastically: up with the probability of the part that is cut off. Of the
 * element's word in the stream `key`, the low half rounds w, the high half m, and the high half
 * of the word times 0x9e3779b1 rounds v. Moments or weights that are not finite stay so. */
#ifndef HN_KERNELS_OPTIM_OPTIM_H
#define HN_KERNELS_OPTIM_OPTIM_H

#include "base/rng.h"
#include "kernels/kernel.h"

typedef struct hn_adamw_step {
    float scale; /* of the gradient: global clipping, loss scaling */
    float clip;  /* 0: none */
    float one_minus_beta1, one_minus_beta2;
    float eps;
    float rate, root, keep, toward; /* above */
    hn_rng_key key;         /* folded with step and parameter */
} hn_adamw_step;

typedef struct hn_sgd_step {
    float scale;
    float clip;
    float momentum;
    float rate, keep, toward;
    int32_t is_nesterov;
} hn_sgd_step;

typedef struct hn_lion_step {
    float scale;
    float clip;
    float one_minus_beta1, one_minus_beta2;
    float rate, keep, toward;
} hn_lion_step;

#define HN_PARAMS_adamw_f32_f32                                                                \
    int64_t n, uint64_t first, const hn_adamw_step *s, const float *g, float *m, float *v,     \
        float *w, uint16_t *working
#define HN_PARAMS_adamw_bf16_f32                                                               \
    int64_t n, uint64_t first, const hn_adamw_step *s, const float *g, uint16_t *m,            \
        uint16_t *v, float *w, uint16_t *working
#define HN_PARAMS_adamw_f32_bf16                                                               \
    int64_t n, uint64_t first, const hn_adamw_step *s, const float *g, float *m, float *v,     \
        uint16_t *w
#define HN_PARAMS_adamw_bf16_bf16                                                              \
    int64_t n, uint64_t first, const hn_adamw_step *s, const float *g, uint16_t *m,            \
        uint16_t *v, uint16_t *w
#define HN_PARAMS_sgd_f32                                                                      \
    int64_t n, const hn_sgd_step *s, const float *g, float *velocity, float *w,                \
        uint16_t *working

#define HN_PARAMS_lion_f32                                                                     \
    int64_t n, const hn_lion_step *s, const float *g, float *m, float *w, uint16_t *working

typedef struct hn_optim_kernels {
#define HN_KERNEL(slot) HN_KERNEL_MEMBER(slot)
#include "kernels/optim/optim.def"
#undef HN_KERNEL
} hn_optim_kernels;

#if defined(HN_LEVEL)
#define HN_KERNEL(slot) HN_KERNEL_DECLARE(slot)
#include "kernels/optim/optim.def"
#undef HN_KERNEL
#endif

#endif
