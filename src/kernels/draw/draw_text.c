/* Logits are read in order, sixteen at a time, and what is written beside them is small: each pass is as long as memory takes, but for
 * draw_tally, whose additions go word by word to four tables in turn, because words that follow each other may share a bin. */
#include "kernels/draw/draw.h"

#include "kernels/simd/math_f32.h"

#include <math.h>

enum { WAYS = HN_DRAW_SUMS / HN_DRAW_BINS };

HN_INLINE f32x16 load_some(const float *x, int64_t left, f32x16 else_all)
{
    return left < 16 ? f_select(m_first(left), f_load_n(x, left), else_all) : f_load(x);
}

HN_INLINE void store_some(float *y, f32x16 v, int64_t left) { left < 16 ? f_store_n(y, v, left) : f_store(y, v); }

/* Lane l is true where bit i % 64 + l of word i / 64 is set. */
HN_INLINE m16 bits_at(const uint64_t *allowed, int64_t i)
{
    static const int32_t bit[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768 };
    const int32_t sixteen = (int32_t)(allowed[i / 64] >> i % 64 & 0xffff);
    return i_gt(i_and(i_set1(sixteen), i_load(bit)), i_set1(0));
}

HN_KERNEL_FN(draw_look_f32)
{
    const f32x16 lowest = f_set1(-HUGE_VALF), highest = f_set1(HUGE_VALF);
    f32x16 most = lowest, least = highest;
    m16 nan = m_first(0);
    for (int64_t at = 0; at < n; at += HN_DRAW_CHUNK) {
        const int64_t end = at + HN_DRAW_CHUNK < n ? at + HN_DRAW_CHUNK : n;
        f32x16 peak = lowest;
        for (int64_t i = at; i < end; i += 16) {
            f32x16 v = load_some(x + i, end - i, lowest);
            nan = m_or(nan, m_not(f_eq(v, v)));
            if (allowed)
                v = f_select(bits_at(allowed, i), v, lowest);
            store_some(y + i, v, end - i);
            peak = f_max(v, peak);
            least = f_min(f_select(f_eq(v, lowest), highest, v), least);
        }
        f_store(peaks + at / 16, peak);
        most = f_max(peak, most);
    }
    *found = (hn_draw_found){ f_largest(most), -f_largest(f_neg(least)), m_any(nan) };
}

/* exp is f_exp_below's to the bit, 2^40 times: nothing here is so small that its scale takes two steps. Below 2^23 adding that leaves no
 * room for a fraction; above there is none. */
HN_INLINE f32x16 weight(f32x16 x, f32x16 best, f32x16 heat)
{
    f32x16 n;
    const f32x16 r = f_cut_exp(f_max(f_mul(f_sub(x, best), heat), f_set1(-40.0f)), &n);
    const f32x16 e = f_add(f_set1(1.0f), f_expm1_small(r)), shifter = f_set1(0x1p23f);
    const f32x16 w = f_mul(e, f_power_of_two(f_add(n, f_set1(40.0f))));
    return f_select(f_lt(w, shifter), f_sub(f_add(w, shifter), shifter), w);
}

/* Without heat, where a difference that is infinite would make no number. */
HN_INLINE f32x16 one_if_in(f32x16 x)
{
    return f_select(f_lt(f_set1(-HUGE_VALF), x), f_set1(0x1p40f), f_zero());
}

HN_INLINE i32x16 bin_of(f32x16 x, f32x16 best, f32x16 step)
{
    return f_to_i(f_min(f_mul(f_sub(best, x), step), f_set1(HN_DRAW_BINS - 1)));
}

HN_KERNEL_FN(draw_weigh_f32)
{
    const f32x16 best_all = f_set1(best), heat_all = f_set1(heat);
    for (int64_t i = 0; i < n; i += 16) {
        const f32x16 v = load_some(x + i, n - i, best_all);
        store_some(w + i, heat == 0 ? one_if_in(v) : weight(v, best_all, heat_all), n - i);
    }
}

/* Lanes that hold whole numbers below 2^53. */
static uint64_t whole_sum(f64x16 x)
{
    double each[16];
    uint64_t sum = 0;
    d_store(each, x);
    for (int l = 0; l < 16; l++)
        sum += (uint64_t)each[l];
    return sum;
}

/* Of words that are in and all weigh the same: one each. */
HN_INLINE void add_ones(f32x16 w, const int32_t bin[16], uint64_t *sums)
{
    int32_t one[16];
    i_store(one, i_select(f_lt(f_zero(), w), i_set1(1), i_set1(0)));
    HN_UNROLL
    for (int l = 0; l < 16; l++)
        sums[l % WAYS * HN_DRAW_BINS + bin[l]] += (uint32_t)one[l];
}

HN_INLINE void add_sixteen(const int32_t bin[16], uint64_t *sums)
{
    HN_UNROLL
    for (int l = 0; l < 16; l++)
        sums[l % WAYS * HN_DRAW_BINS + bin[l]]++;
}

HN_INLINE void add_weights(f32x16 w, const int32_t bin[16], uint64_t *sums)
{
    float each[16];
    f_store(each, w);
    HN_UNROLL
    for (int l = 0; l < 16; l++)
        sums[l % WAYS * HN_DRAW_BINS + bin[l]] += (uint64_t)(int64_t)each[l];
}

/* A lane takes at most 256 weights of 2^40 before its double is emptied. */
HN_INLINE uint64_t tally(int64_t n, const float *x, float best, float heat, float step, int32_t from, int32_t to, uint64_t *sums,
                         const bool is_count)
{
    enum { BLOCK = 4096 };
    const f32x16 best_all = f_set1(best), heat_all = f_set1(heat), step_all = f_set1(step), lowest = f_set1(-HUGE_VALF);
    const i32x16 before = i_set1(from - 1), end = i_set1(to);
    uint64_t others = 0;
    for (int64_t at = 0; at < n; at += BLOCK) {
        f64x16 sum = d_set1(0);
        for (int64_t i = at; i < n && i < at + BLOCK; i += 16) {
            const f32x16 v = load_some(x + i, n - i, lowest);
            const i32x16 in_bin = bin_of(v, best_all, step_all);
            const f32x16 all = is_count ? one_if_in(v) : weight(v, best_all, heat_all);
            const m16 is_here = m_and(m_and(i_gt(in_bin, before), i_gt(end, in_bin)), f_lt(f_zero(), all));
            if (!m_any(is_here)) {
                sum = d_add(sum, d_from_f(all));
                continue;
            }
            const bool is_whole = !m_any(m_not(is_here));
            const f32x16 w = is_whole ? all : f_select(is_here, all, f_zero());
            if (!is_whole)
                sum = d_add(sum, d_from_f(f_sub(all, w)));
            int32_t bin[16];
            i_store(bin, in_bin);
            if (!is_count)
                add_weights(w, bin, sums);
            else if (is_whole)
                add_sixteen(bin, sums);
            else
                add_ones(w, bin, sums);
        }
        others += whole_sum(sum);
    }
    return others;
}

HN_KERNEL_FN(draw_tally_f32)
{
    const int shift = heat == 0 ? 40 : 0;
    for (int way = 0; way < WAYS; way++)
        for (int32_t b = from; b < to; b++)
            sums[way * HN_DRAW_BINS + b] = 0;
    *others = heat == 0 ? tally(n, x, best, heat, step, from, to, sums, true) : tally(n, x, best, heat, step, from, to, sums, false);
    for (int32_t b = from; b < to; b++) {
        uint64_t sum = 0;
        for (int way = 0; way < WAYS; way++)
            sum += sums[way * HN_DRAW_BINS + b];
        sums[b] = sum << shift;
    }
}

/* Behind `count` places those of lanes in which `is` is true. As many are looked at before, so there is room for one more. */
HN_INLINE int32_t append(int32_t *at, int32_t count, m16 is, int64_t i, int64_t left)
{
    int32_t one[16];
    i_store(one, i_select(is, i_set1(1), i_set1(0)));
    for (int64_t l = 0; l < 16 && l < left; l++) {
        at[count] = (int32_t)(i + l);
        count += one[l];
    }
    return count;
}

HN_KERNEL_FN(draw_bin_f32)
{
    const f32x16 best_all = f_set1(best), step_all = f_set1(step), lowest = f_set1(-HUGE_VALF);
    const i32x16 wanted = i_set1(bin);
    *count = 0;
    for (int64_t i = 0; i < n; i += 16) {
        const f32x16 v = load_some(x + i, n - i, lowest);
        const m16 is = m_and(i_eq(bin_of(v, best_all, step_all), wanted), f_lt(lowest, v));
        if (m_any(is))
            *count = append(at, *count, is, i, n - i);
    }
}

HN_KERNEL_FN(draw_above_f32)
{
    const f32x16 least_all = f_set1(least), lowest = f_set1(-HUGE_VALF);
    *count = 0;
    for (int64_t i = 0; i < n; i += 16) {
        const m16 is = f_le(least_all, load_some(x + i, n - i, lowest));
        if (m_any(is))
            *count = append(at, *count, is, i, n - i);
    }
}

HN_KERNEL_FN(draw_keep_f32)
{
    static const int32_t lane[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    const f32x16 least_all = f_set1(least), lowest = f_set1(-HUGE_VALF);
    for (int64_t i = 0; i < n; i += 16) {
        const f32x16 v = load_some(x + i, n - i, lowest);
        const m16 is_behind = i_gt(i_add(i_load(lane), i_set1((int32_t)i)), i_set1(last));
        const m16 is_out = m_or(f_lt(v, least_all), m_and(f_eq(v, least_all), is_behind));
        store_some(x + i, f_select(is_out, lowest, v), n - i);
    }
}

HN_KERNEL_TABLE(draw) = {
#define HN_KERNEL(slot) HN_KERNEL_ENTRY(slot)
#include "kernels/draw/draw.def"
#undef HN_KERNEL
};
