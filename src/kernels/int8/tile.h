/* tile.h: rows of x by columns of unpacked words (int8.h), for one level. Who includes it says how four bytes of a
 * lane are multiplied by four of x:
 *
 *   DOT4(acc, u, q)   acc + sum of u q, u bytes without a sign of which q's are at most 127; DOT4_WIDE: u of all
 *                     eight bits
 *
 * or it is done product by product. Sums start at -offset times what Q add up to, so that the offset in u leaves no trace. */
#ifndef HN_KERNELS_INT8_TILE_H
#define HN_KERNELS_INT8_TILE_H

#include "kernels/int8/int8.h"
#include "kernels/simd/f32x16.h"

#include <string.h>

#if defined(HN_LEVEL_avx512)
enum { ROWS = 6 };
#elif defined(HN_LEVEL_avx2)
enum { ROWS = 4 };
#else
enum { ROWS = 4 };
#endif

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
#define DOT4      dot4
#define DOT4_WIDE dot4
#endif

HN_INLINE i32x16 word_of(const int8_t *q)
{
    int32_t word;
    memcpy(&word, q, sizeof word);
    return i_set1(word);
}

/* Words [from, end) of a block, of all rows and groups. */
HN_INLINE void add_words(const hn_int8_tile *t, const int rows, const int groups, const bool is_wide, const int from,
                         const int end, const int32_t *w, int64_t block, i32x16 sum[ROWS][HN_INT8_GROUPS])
{
    for (int j = from; j < end; j++) {
        i32x16 u[HN_INT8_GROUPS];
        for (int g = 0; g < groups; g++)
            u[g] = i_load(w + g * t->group_words + 16 * j);
        for (int r = 0; r < rows; r++) {
            const i32x16 q = word_of(t->x.q + (r * t->blocks_of_x + block) * HN_INT8_BLOCK + 4 * j);
            for (int g = 0; g < groups; g++)
                sum[r][g] = is_wide ? DOT4_WIDE(sum[r][g], u[g], q) : DOT4(sum[r][g], u[g], q);
        }
    }
}

HN_INLINE const int32_t *sums_of(const hn_int8_tile *t, int row, int64_t block)
{
    return t->x.sum + (row * t->blocks_of_x + block) * 2;
}

HN_INLINE f32x16 scale_at(const int32_t *w, int64_t group, int i)
{
    return i_float(i_load(w + group + 16 * (8 + i)));
}

/* A block of kinds whose words are one sum. */
HN_INLINE void whole_block(const hn_int8_tile *t, const int rows, const int groups, const bool is_wide,
                           const bool has_less, const int32_t *w, int64_t block, f32x16 acc[ROWS][HN_INT8_GROUPS])
{
    i32x16 sum[ROWS][HN_INT8_GROUPS];
    for (int r = 0; r < rows; r++) {
        const int32_t *of_q = sums_of(t, r, block);
        for (int g = 0; g < groups; g++)
            sum[r][g] = i_set1(-t->offset * (of_q[0] + of_q[1]));
    }
    add_words(t, rows, groups, is_wide, 0, 8, w, block, sum);
    for (int r = 0; r < rows; r++) {
        const int32_t *of_q = sums_of(t, r, block);
        const float d = t->x.d[r * t->blocks_of_x + block];
        const f32x16 less = f_set1(d * (float)(of_q[0] + of_q[1]));
        for (int g = 0; g < groups; g++) {
            const f32x16 s = f_mul(scale_at(w, g * t->group_words, 0), f_set1(d));
            acc[r][g] = f_fma(i_to_f(sum[r][g]), s, acc[r][g]);
            if (has_less)
                acc[r][g] = f_fma(scale_at(w, g * t->group_words, 1), less, acc[r][g]);
        }
    }
}

/* One of kinds whose halves have factors of their own, or are steps of their own. */
HN_INLINE void halved_block(const hn_int8_tile *t, const int rows, const int groups, const hn_int8_kind kind,
                            const int32_t *w, int64_t block, f32x16 acc[ROWS][HN_INT8_GROUPS])
{
    const int first = kind == HN_INT8_halves_less ? 2 : 1;
    i32x16 both[ROWS][HN_INT8_GROUPS];
    for (int r = 0; r < rows; r++)
        for (int g = 0; g < groups; g++)
            both[r][g] = i_set1(0);
    for (int half = 0; half < 2; half++) {
        i32x16 sum[ROWS][HN_INT8_GROUPS];
        for (int r = 0; r < rows; r++)
            for (int g = 0; g < groups; g++)
                sum[r][g] = i_set1(-t->offset * sums_of(t, r, block)[half]);
        add_words(t, rows, groups, false, 4 * half, 4 * half + 4, w, block, sum);
        for (int r = 0; r < rows; r++)
            for (int g = 0; g < groups; g++) {
                const int64_t group = g * t->group_words;
                if (kind == HN_INT8_steps) {
                    const f32x16 s = f_mul(scale_at(w, group, half), f_set1(t->x.d[r * t->blocks_of_x + block]));
                    acc[r][g] = f_fma(i_to_f(sum[r][g]), s, acc[r][g]);
                    continue;
                }
                both[r][g] = i_add(both[r][g], i_mul(f_bits(scale_at(w, group, first + half)), sum[r][g]));
            }
    }
    if (kind == HN_INT8_steps)
        return;
    for (int r = 0; r < rows; r++) {
        const int32_t *of_q = sums_of(t, r, block);
        const f32x16 d = f_set1(t->x.d[r * t->blocks_of_x + block]);
        for (int g = 0; g < groups; g++) {
            const int64_t group = g * t->group_words;
            acc[r][g] = f_fma(i_to_f(both[r][g]), f_mul(scale_at(w, group, 0), d), acc[r][g]);
            if (kind == HN_INT8_halves_less) {
                const i32x16 m = i_add(i_mul(f_bits(scale_at(w, group, 4)), i_set1(of_q[0])),
                                       i_mul(f_bits(scale_at(w, group, 5)), i_set1(of_q[1])));
                acc[r][g] = f_fma(scale_at(w, group, 1), f_mul(d, i_to_f(m)), acc[r][g]);
            }
        }
    }
}

/* `rows` and `groups` are constants at every use, so that sums are registers. */
HN_INLINE void tile_of(const hn_int8_tile *t, const int rows, const int groups, const hn_int8_kind kind,
                       const bool is_wide)
{
    const int64_t words = hn_int8_words(kind);
    f32x16 acc[ROWS][HN_INT8_GROUPS];
    for (int r = 0; r < rows; r++)
        for (int g = 0; g < groups; g++)
            acc[r][g] = t->accumulate ? f_load(t->y + r * t->ldy + 16 * g) : f_zero();
    for (int64_t block = 0; block < t->blocks; block++) {
        const int32_t *w = t->w + block * words;
        if (kind == HN_INT8_whole || kind == HN_INT8_less)
            whole_block(t, rows, groups, is_wide, kind == HN_INT8_less, w, block, acc);
        else
            halved_block(t, rows, groups, kind, w, block, acc);
    }
    for (int r = 0; r < rows; r++)
        for (int g = 0; g < groups; g++)
            f_store(t->y + r * t->ldy + 16 * g, acc[r][g]);
}

HN_INLINE void tile_of_groups(const hn_int8_tile *t, const int rows, const hn_int8_kind kind, const bool is_wide)
{
    if (t->groups == 2)
        tile_of(t, rows, 2, kind, is_wide);
    else
        tile_of(t, rows, 1, kind, is_wide);
}

HN_INLINE void tile_of_rows(const hn_int8_tile *t, const hn_int8_kind kind, const bool is_wide)
{
    switch (t->rows) {
    case 1: tile_of_groups(t, 1, kind, is_wide); return;
    case 2: tile_of_groups(t, 2, kind, is_wide); return;
    case 3: tile_of_groups(t, 3, kind, is_wide); return;
    case 4: tile_of_groups(t, 4, kind, is_wide); return;
#if defined(HN_LEVEL_avx512)
    case 5: tile_of_groups(t, 5, kind, is_wide); return;
    case 6: tile_of_groups(t, 6, kind, is_wide); return;
#endif
    }
}

/* Only whole blocks of one scale have points that want all eight bits. */
static void tile_whole(const hn_int8_tile *t)
{
    if (t->offset == 128)
        tile_of_rows(t, HN_INT8_whole, true);
    else
        tile_of_rows(t, HN_INT8_whole, false);
}
static void tile_less(const hn_int8_tile *t) { tile_of_rows(t, HN_INT8_less, false); }
static void tile_halves(const hn_int8_tile *t) { tile_of_rows(t, HN_INT8_halves, false); }
static void tile_halves_less(const hn_int8_tile *t) { tile_of_rows(t, HN_INT8_halves_less, false); }
static void tile_steps(const hn_int8_tile *t) { tile_of_rows(t, HN_INT8_steps, false); }

#define HN_INT8_TILES                                                                          \
    {                                                                                          \
        [HN_INT8_whole] = tile_whole, [HN_INT8_less] = tile_less, [HN_INT8_halves] = tile_halves, \
        [HN_INT8_halves_less] = tile_halves_less, [HN_INT8_steps] = tile_steps                 \
    }

#endif
