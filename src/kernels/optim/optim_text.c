/* Four forms of adamw share one step; how moments and weights are loaded and stored differs. */
#include "kernels/optim/optim.h"

#include "kernels/simd/philox.h"

/* Sixteen elements, or `left` of them. */
typedef struct span {
    int64_t at, left;
} span;

HN_INLINE f32x16 load(const float *p, span e)
{
    return e.left < 16 ? f_load_n(p + e.at, e.left) : f_load(p + e.at);
}

HN_INLINE void store(float *p, f32x16 x, span e)
{
    if (e.left < 16)
        f_store_n(p + e.at, x, e.left);
    else
        f_store(p + e.at, x);
}

HN_INLINE f32x16 load_brain(const uint16_t *p, span e)
{
    return f_from_bf16(e.left < 16 ? h_load_n(p + e.at, e.left) : h_load(p + e.at));
}

HN_INLINE void store_brain(uint16_t *p, h16 x, span e)
{
    if (e.left < 16)
        h_store_n(p + e.at, x, e.left);
    else
        h_store(p + e.at, x);
}

/* Adds sixteen random bits below the kept ones, then cuts: up with the probability of the cut
 * part. Infinity and NaN are cut only; the cut cannot make one of the other, for both are
 * quiet. */
HN_INLINE h16 round_stochastic(f32x16 x, i32x16 random)
{
    const i32x16 bits = f_bits(x), exponent = i_set1(0x7f800000);
    const m16 special = i_eq(i_and(bits, exponent), exponent);
    if (!m_any(special))
        return h_narrow(i_shr(i_add(bits, random), 16));
    const i32x16 moved = i_add(bits, i_select(special, i_set1(0), random));
    const i32x16 quiet = i_or(bits, i_set1(0x400000));
    return h_narrow(i_shr(i_select(f_eq(x, x), moved, quiet), 16));
}

HN_INLINE f32x16 prepared(f32x16 g, float scale, float clip)
{
    g = f_mul(g, f_set1(scale));
    if (clip > 0.0f)
        g = f_min(f_set1(clip), f_max(f_set1(-clip), g));
    return g;
}

HN_INLINE f32x16 decayed(f32x16 w, float keep, float toward)
{
    if (toward > 0.0f || toward < 0.0f)
        return f_fma(f_set1(keep), f_sub(w, f_set1(toward)), f_set1(toward));
    return f_mul(w, f_set1(keep));
}

typedef struct adam_state {
    f32x16 m, v, w;
} adam_state;

HN_INLINE adam_state adamw(const hn_adamw_step *s, f32x16 g, adam_state old)
{
    adam_state now;
    g = prepared(g, s->scale, s->clip);
    now.m = f_fma(f_set1(s->one_minus_beta1), f_sub(g, old.m), old.m);
    now.v = f_fma(f_set1(s->one_minus_beta2), f_sub(f_mul(g, g), old.v), old.v);
    const f32x16 root = f_fma(f_sqrt(now.v), f_set1(s->root), f_set1(s->eps));
    const f32x16 move = f_div(now.m, root);
    now.w = f_fma(f_set1(-s->rate), move, decayed(old.w, s->keep, s->toward));
    return now;
}

HN_KERNEL_FN(adamw_f32_f32)
{
    (void)first; /* nothing here is random */
    const hn_adamw_step step = *s;
    for (int64_t i = 0; i < n; i += 16) {
        const span e = { i, n - i };
        const adam_state old = { load(m, e), load(v, e), load(w, e) };
        const adam_state now = adamw(&step, load(g, e), old);
        store(m, now.m, e);
        store(v, now.v, e);
        store(w, now.w, e);
        if (working)
            store_brain(working, f_to_bf16(now.w), e);
    }
}

HN_INLINE i32x16 low_half(f32x16 random) { return i_and(f_bits(random), i_set1(0xffff)); }

HN_INLINE i32x16 high_half(f32x16 random) { return i_shr(f_bits(random), 16); }

/* An odd factor permutes the words, so that these sixteen bits are uniform too. */
HN_INLINE i32x16 stirred(f32x16 random)
{
    return i_shr(i_mul(f_bits(random), i_set1((int32_t)0x9e3779b1u)), 16);
}

HN_KERNEL_FN(adamw_bf16_f32)
{
    const hn_adamw_step step = *s;
    for (int64_t i = 0; i < n; i += 128) {
        f32x16 word[8];
        words128(step.key, first + (uint64_t)i, word);
        for (int q = 0; q < 8 && i + 16 * q < n; q++) {
            const span e = { i + 16 * q, n - (i + 16 * q) };
            const adam_state old = { load_brain(m, e), load_brain(v, e), load(w, e) };
            const adam_state now = adamw(&step, load(g, e), old);
            store_brain(m, round_stochastic(now.m, high_half(word[q])), e);
            store_brain(v, round_stochastic(now.v, stirred(word[q])), e);
            store(w, now.w, e);
            if (working)
                store_brain(working, f_to_bf16(now.w), e);
        }
    }
}

HN_KERNEL_FN(adamw_f32_bf16)
{
    const hn_adamw_step step = *s;
    for (int64_t i = 0; i < n; i += 128) {
        f32x16 word[8];
        words128(step.key, first + (uint64_t)i, word);
        for (int q = 0; q < 8 && i + 16 * q < n; q++) {
            const span e = { i + 16 * q, n - (i + 16 * q) };
            const adam_state old = { load(m, e), load(v, e), load_brain(w, e) };
            const adam_state now = adamw(&step, load(g, e), old);
            store(m, now.m, e);
            store(v, now.v, e);
            store_brain(w, round_stochastic(now.w, low_half(word[q])), e);
        }
    }
}

HN_KERNEL_FN(adamw_bf16_bf16)
{
    const hn_adamw_step step = *s;
    for (int64_t i = 0; i < n; i += 128) {
        f32x16 word[8];
        words128(step.key, first + (uint64_t)i, word);
        for (int q = 0; q < 8 && i + 16 * q < n; q++) {
            const span e = { i + 16 * q, n - (i + 16 * q) };
            const adam_state old = { load_brain(m, e), load_brain(v, e), load_brain(w, e) };
            const adam_state now = adamw(&step, load(g, e), old);
            store_brain(m, round_stochastic(now.m, high_half(word[q])), e);
            store_brain(v, round_stochastic(now.v, stirred(word[q])), e);
            store_brain(w, round_stochastic(now.w, low_half(word[q])), e);
        }
    }
}

HN_KERNEL_FN(sgd_f32)
{
    const hn_sgd_step step = *s;
    const f32x16 momentum = f_set1(step.momentum);
    for (int64_t i = 0; i < n; i += 16) {
        const span e = { i, n - i };
        const f32x16 grad = prepared(load(g, e), step.scale, step.clip);
        f32x16 move = grad;
        if (velocity) {
            move = f_fma(momentum, load(velocity, e), grad);
            store(velocity, move, e);
            if (step.is_nesterov)
                move = f_fma(momentum, move, grad);
        }
        const f32x16 kept = decayed(load(w, e), step.keep, step.toward);
        const f32x16 now = f_fma(f_set1(-step.rate), move, kept);
        store(w, now, e);
        if (working)
            store_brain(working, f_to_bf16(now), e);
    }
}

HN_KERNEL_FN(lion_f32)
{
    const hn_lion_step step = *s;
    const f32x16 none = f_set1(0.0f), one = f_set1(1.0f);
    for (int64_t i = 0; i < n; i += 16) {
        const span e = { i, n - i };
        const f32x16 old = load(m, e);
        const f32x16 off = f_sub(prepared(load(g, e), step.scale, step.clip), old);
        const f32x16 mixed = f_fma(f_set1(step.one_minus_beta1), off, old);
        const f32x16 sign = f_select(f_lt(none, f_abs(mixed)), f_copysign(one, mixed), mixed);
        const f32x16 kept = decayed(load(w, e), step.keep, step.toward);
        const f32x16 now = f_fma(f_set1(-step.rate), sign, kept);
        store(m, f_fma(f_set1(step.one_minus_beta2), off, old), e);
        store(w, now, e);
        if (working)
            store_brain(working, f_to_bf16(now), e);
    }
}

HN_KERNEL_TABLE(optim) = {
#define HN_KERNEL(slot) HN_KERNEL_ENTRY(slot)
#include "kernels/optim/optim.def"
#undef HN_KERNEL
};
