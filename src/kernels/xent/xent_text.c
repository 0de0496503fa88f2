/* What cross-entropy does to a tile of logits, at one level. */
#include "kernels/simd/math_f32.h"
#include "kernels/xent/xent.h"

#include <string.h>

HN_INLINE f32x16 exp_below_zero(f32x16 x) { return f_exp_below(f_max(f_set1(-110.0f), x)); }

HN_INLINE f32x16 load_upto(const float *p, int64_t left)
{
    return left >= 16 ? f_load(p) : f_load_n(p, left);
}

/* z of s; *tanh is tanh(z / cap) before the cap. */
HN_INLINE f32x16 logit(f32x16 s, float scale, float cap, f32x16 *tanh)
{
    const f32x16 z = f_mul(s, f_set1(scale));
    if (!(cap > 0))
        return z;
    *tanh = f_tanh(f_div(z, f_set1(cap)));
    return f_mul(f_set1(cap), *tanh);
}

static void stats(HN_PARAMS_xent_stats)
{
    const f32x16 low = f_set1(-__builtin_inff());
    for (int64_t r = 0; r < rows; r++, s += stride) {
        f32x16 best = low, sum = f_zero(), t = low;
        float z[HN_XENT_TILE];
        for (int64_t i = 0; i < cols; i += 16) {
            f32x16 y = logit(load_upto(s + i, cols - i), scale, cap, &t);
            if (cols - i < 16)
                y = f_select(m_first(cols - i), y, low);
            f_store(z + i, y);
            best = f_max(y, best);
        }
        m[r] = f_largest(best);
        const f32x16 top = f_set1(m[r]);
        for (int64_t i = 0; i < cols; i += 16) /* beyond the end exp gives +0 */
            sum = f_add(sum, exp_below_zero(f_sub(f_load(z + i), top)));
        l[r] = f_sum(sum);
        if (label[r] >= from && label[r] - from < cols)
            picked[r] = z[label[r] - from];
    }
}

static void fold(HN_PARAMS_xent_fold)
{
    for (int64_t i = 0; i < n; i += 16) {
        const int64_t left = n - i < 16 ? n - i : 16;
        const f32x16 a = f_load_n(m + i, left), b = f_load_n(m2 + i, left), top = f_max(b, a);
        const f32x16 la = f_mul(f_load_n(l + i, left), exp_below_zero(f_sub(a, top)));
        const f32x16 lb = f_mul(f_load_n(l2 + i, left), exp_below_zero(f_sub(b, top)));
        f_store_n(m + i, top, left);
        f_store_n(l + i, f_add(la, lb), left);
    }
}

static void loss(HN_PARAMS_xent_loss)
{
    for (int64_t i = 0; i < n; i += 16) {
        const int64_t left = n - i < 16 ? n - i : 16;
        float y[16];
        const f32x16 all = f_add(f_load_n(m + i, left), f_log(f_load_n(l + i, left)));
        f_store_n(lse + i, all, left);
        f_store(y, all);
        for (int64_t j = 0; j < left; j++)
            nll[i + j] = label[i + j] < 0
                             ? 0.0f
                             : (weight ? weight[i + j] : 1.0f) * (y[j] - picked[i + j]);
    }
}

static void grad_of_tile(HN_PARAMS_xent_grad)
{
    for (int64_t r = 0; r < rows; r++, s += stride) {
        if (label[r] < 0) {
            memset(s, 0, (size_t)cols * sizeof *s);
            continue;
        }
        const float g = (grad ? grad[r] : 1.0f) * (weight ? weight[r] : 1.0f);
        const int64_t hit = (int64_t)label[r] - from;
        for (int64_t i = 0; i < cols; i += 16) {
            f32x16 t = f_zero();
            f32x16 p =
                f_exp(f_sub(logit(load_upto(s + i, cols - i), scale, cap, &t), f_set1(lse[r])));
            if (narrow)
                p = f_select(f_lt(p, f_set1(0x1p-60f)), f_zero(), p);
            if (hit >= i && hit < i + 16) {
                float lanes[16];
                f_store(lanes, p);
                lanes[hit - i] -= 1.0f;
                p = f_load(lanes);
            }
            f32x16 d = f_mul(p, f_set1(g));
            if (cap > 0)
                d = f_mul(d, f_sub(f_set1(1.0f), f_mul(t, t)));
            d = f_mul(d, f_set1(scale));
            if (narrow)
                d = f_round_bf16(d);
            f_store_n(s + i, d, cols - i < 16 ? cols - i : 16);
        }
    }
}

HN_KERNEL_TABLE(xent) = {
    .stats = stats,
    .fold = fold,
    .loss = loss,
    .grad = grad_of_tile,
};
