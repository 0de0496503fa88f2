/* tile.h: rows of x by columns of unpacked words (int8.h), for one level. Who includes it says how four bytes of a
 * lane are multiplied by four of x:
 *
 *   DOT4(acc, u, q)   acc + sum of u q, u bytes without a sign
 *
 * where that is one instruction; or it is done by pairs (pairs.h), or product by product. Sums start at -offset times what
 * Q add up to, so that the offset in u leaves no trace. */
#ifndef HN_KERNELS_INT8_TILE_H
#define HN_KERNELS_INT8_TILE_H

#include "kernels/int8/words.h"

#if !defined(DOT4) && (defined(HN_LEVEL_avx512) || defined(HN_LEVEL_avx2))
#include "kernels/int8/pairs.h"
#else
enum { WIDE_HAS_OFFSET = 1 };
#define HOW_LARGE(most) 255
#ifndef DOT4
HN_INLINE i32x16 dot4(i32x16 acc, i32x16 u, i32x16 q)
{
    int32_t a[16], x[16], y[16];
    i_store(a, acc);
    i_store(x, u);
    i_store(y, q);
    for (int l = 0; l < 16; l++)
        for (int c = 0; c < 32; c += 8)
            a[l] += (int32_t)((uint32_t)x[l] >> c & 255) * (int8_t)((uint32_t)y[l] >> c & 255);
    return i_load(a);
}
#define DOT4 dot4
#endif

/* Words [from, end) of a block, of all rows and groups. */
HN_INLINE void add_words(const hn_int8_tile *t, const int rows, const int groups, const int most, const int from,
                         const int end, const int32_t *w, int64_t block, i32x16 sum[MOST_ROWS][HN_INT8_GROUPS])
{
    (void)most;
    for (int j = from; j < end; j++) {
        i32x16 u[HN_INT8_GROUPS];
        HN_UNROLL
        for (int g = 0; g < groups; g++)
            u[g] = i_load(w + g * t->group_words + 16 * j);
        HN_UNROLL
        for (int r = 0; r < rows; r++) {
            const i32x16 q = word_of(t, r, block, j);
            HN_UNROLL
            for (int g = 0; g < groups; g++)
                sum[r][g] = DOT4(sum[r][g], u[g], q);
        }
    }
}
#endif

HN_INLINE const int32_t *sums_of(const hn_int8_tile *t, int row, int64_t block)
{
    return t->x.sum + (row * t->x.stride + block) * 2;
}

HN_INLINE f32x16 scale_at(const int32_t *w, int64_t group, int i)
{
    return i_float(i_load(w + group + 16 * (8 + i)));
}

/* A block of kinds whose words are one sum. */
HN_INLINE void whole_block(const hn_int8_tile *t, const int rows, const int groups, const int most, const bool has_less,
                           const int32_t *w, int64_t block, f32x16 acc[MOST_ROWS][HN_INT8_GROUPS])
{
    i32x16 sum[MOST_ROWS][HN_INT8_GROUPS];
    HN_UNROLL
    for (int r = 0; r < rows; r++) {
        const int32_t *of_q = sums_of(t, r, block);
        HN_UNROLL
        for (int g = 0; g < groups; g++)
            sum[r][g] = i_set1(most <= 127 || WIDE_HAS_OFFSET ? -t->offset * (of_q[0] + of_q[1]) : 0);
    }
    add_words(t, rows, groups, most, 0, 8, w, block, sum);
    HN_UNROLL
    for (int r = 0; r < rows; r++) {
        const f32x16 d = f_set1(t->x.d[r * t->x.stride + block]), less = f_set1(t->x.less[r * t->x.stride + block]);
        HN_UNROLL
        for (int g = 0; g < groups; g++) {
            const f32x16 s = f_mul(scale_at(w, g * t->group_words, 0), d);
            acc[r][g] = f_fma(i_to_f(sum[r][g]), s, acc[r][g]);
            if (has_less)
                acc[r][g] = f_fma(scale_at(w, g * t->group_words, 1), less, acc[r][g]);
        }
    }
}

/* One of kinds whose halves have factors of their own, or are steps of their own. */
HN_INLINE void halved_block(const hn_int8_tile *t, const int rows, const int groups, const int most, const hn_int8_kind kind,
                            const int32_t *w, int64_t block, f32x16 acc[MOST_ROWS][HN_INT8_GROUPS])
{
    const int first = kind == HN_INT8_halves_less ? 2 : 1;
    f32x16 both[MOST_ROWS][HN_INT8_GROUPS]; /* whole numbers below 2^24, and so are all products on the way: none is rounded */
    HN_UNROLL
    for (int half = 0; half < 2; half++) {
        i32x16 sum[MOST_ROWS][HN_INT8_GROUPS];
        HN_UNROLL
        for (int r = 0; r < rows; r++)
            HN_UNROLL
            for (int g = 0; g < groups; g++)
                sum[r][g] = i_set1(-t->offset * sums_of(t, r, block)[half]);
        add_words(t, rows, groups, most, 4 * half, 4 * half + 4, w, block, sum);
        HN_UNROLL
        for (int r = 0; r < rows; r++)
            HN_UNROLL
            for (int g = 0; g < groups; g++) {
                const int64_t group = g * t->group_words;
                if (kind == HN_INT8_steps) {
                    const f32x16 s = f_mul(scale_at(w, group, half), f_set1(t->x.d[r * t->x.stride + block]));
                    acc[r][g] = f_fma(i_to_f(sum[r][g]), s, acc[r][g]);
                    continue;
                }
                const f32x16 part = i_to_f(sum[r][g]), factor = scale_at(w, group, first + half);
                both[r][g] = half ? f_fma(factor, part, both[r][g]) : f_mul(factor, part);
            }
    }
    if (kind == HN_INT8_steps)
        return;
    HN_UNROLL
    for (int r = 0; r < rows; r++) {
        const int32_t *of_q = sums_of(t, r, block);
        const f32x16 d = f_set1(t->x.d[r * t->x.stride + block]);
        HN_UNROLL
        for (int g = 0; g < groups; g++) {
            const int64_t group = g * t->group_words;
            acc[r][g] = f_fma(both[r][g], f_mul(scale_at(w, group, 0), d), acc[r][g]);
            if (kind == HN_INT8_halves_less) {
                const f32x16 m = f_fma(scale_at(w, group, 5), f_set1((float)of_q[1]),
                                       f_mul(scale_at(w, group, 4), f_set1((float)of_q[0])));
                acc[r][g] = f_fma(scale_at(w, group, 1), f_mul(d, m), acc[r][g]);
            }
        }
    }
}

HN_INLINE void add_block(const hn_int8_tile *t, const int rows, const int groups, const int most, const hn_int8_kind kind,
                         const int32_t *w, int64_t block, f32x16 acc[MOST_ROWS][HN_INT8_GROUPS])
{
    if (kind == HN_INT8_whole || kind == HN_INT8_less)
        whole_block(t, rows, groups, most, kind == HN_INT8_less, w, block, acc);
    else
        halved_block(t, rows, groups, most, kind, w, block, acc);
}

/* `rows`, `groups` and `most` are constants at every use, so that sums are registers. */
HN_INLINE void tile_of(const hn_int8_tile *t, const int rows, const int groups, const int most, const hn_int8_kind kind,
                       int64_t group)
{
    const int64_t words = hn_int8_words(kind);
    float *y = t->y + 16 * group;
    f32x16 acc[MOST_ROWS][HN_INT8_GROUPS];
    HN_UNROLL
    for (int r = 0; r < rows; r++)
        HN_UNROLL
        for (int g = 0; g < groups; g++)
            acc[r][g] = t->accumulate ? f_load(y + r * t->ldy + 16 * g) : f_zero();
    for (int64_t block = 0; block < t->blocks; block++) {
        hn_ask(t->ahead);
        add_block(t, rows, groups, most, kind, t->w + group * t->group_words + block * words, block, acc);
    }
    HN_UNROLL
    for (int r = 0; r < rows; r++)
        HN_UNROLL
        for (int g = 0; g < groups; g++)
            f_store(y + r * t->ldy + 16 * g, acc[r][g]);
}

/* Two groups at a time where there are registers for their sums. */
HN_INLINE void tile_of_groups(const hn_int8_tile *t, const int rows, const int most, const hn_int8_kind kind)
{
    if (GROUPS == 2 && t->groups == 2)
        tile_of(t, rows, 2, most, kind, 0);
    else
        for (int g = 0; g < t->groups; g++)
            tile_of(t, rows, 1, most, kind, g);
}

HN_INLINE void tile_of_rows(const hn_int8_tile *t, const int most, const hn_int8_kind kind)
{
    switch (t->rows) {
    case 1: tile_of_groups(t, 1, most, kind); return;
    case 2: tile_of_groups(t, 2, most, kind); return;
    case 3: tile_of_groups(t, 3, most, kind); return;
#if !defined(HN_LEVEL_avx2)
    case 4: tile_of_groups(t, 4, most, kind); return;
#endif
#if defined(HN_LEVEL_avx512)
    case 5: tile_of_groups(t, 5, most, kind); return;
    case 6: tile_of_groups(t, 6, most, kind); return;
#endif
    }
}

/* The formats of a kind differ in how large their bytes are, where that matters: `then` is done by a constant of those that there are. */
#define BY_SIZE_whole(then)                                                                    \
    switch (HOW_LARGE(t->most)) {                                                              \
    case 15: then(15, HN_INT8_whole); return;                                                  \
    case 31: then(31, HN_INT8_whole); return;                                                  \
    default: then(255, HN_INT8_whole); return;                                                 \
    }
#define BY_TWO_SIZES(larger, kind, then)                                                       \
    if (HOW_LARGE(t->most) == 15)                                                              \
        then(15, kind);                                                                        \
    else                                                                                       \
        then(larger, kind);
#define BY_SIZE_less(then)        BY_TWO_SIZES(31, HN_INT8_less, then)
#define BY_SIZE_halves(then)      BY_TWO_SIZES(63, HN_INT8_halves, then)
#define BY_SIZE_halves_less(then) then(15, HN_INT8_halves_less);
#define BY_SIZE_steps(then)       then(31, HN_INT8_steps);

#define TILE(most, kind) tile_of_rows(t, most, kind)
static void tile_whole(const hn_int8_tile *t) { BY_SIZE_whole(TILE) }
static void tile_less(const hn_int8_tile *t) { BY_SIZE_less(TILE) }
static void tile_halves(const hn_int8_tile *t) { BY_SIZE_halves(TILE) }
static void tile_halves_less(const hn_int8_tile *t) { BY_SIZE_halves_less(TILE) }
static void tile_steps(const hn_int8_tile *t) { BY_SIZE_steps(TILE) }

#define HN_INT8_TILES                                                                          \
    {                                                                                          \
        [HN_INT8_whole] = tile_whole, [HN_INT8_less] = tile_less, [HN_INT8_halves] = tile_halves, \
        [HN_INT8_halves_less] = tile_halves_less, [HN_INT8_steps] = tile_steps                 \
    }

#endif
