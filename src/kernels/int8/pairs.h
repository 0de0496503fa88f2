/* pairs.h: words by words where two products are added in sixteen bits (tile.h). Of u up to `most` and |Q| <= 127 a pair is at most
 * 254 most, so that these are sums of sixteen bits, too:
 *
 *   most   15   31   63   127
 *   words   8    4    2     1
 *
 * and only then are they made one of 32. All eight bits do not fit. There u - 128 is taken apart, once for all rows: its size, 128 at
 * most, is multiplied by Q with its sign, and sums start at 0. */
#ifndef HN_KERNELS_INT8_PAIRS_H
#define HN_KERNELS_INT8_PAIRS_H

#include "kernels/int8/words.h"

#if defined(HN_LEVEL_avx512) || defined(HN_LEVEL_avx2)

/* The offset of `most` 255 is gone before anything is multiplied. */
enum { WIDE_HAS_OFFSET = 0 };

#define HOW_LARGE(most) ((most) <= 15 ? 15 : (most) <= 31 ? 31 : (most) <= 63 ? 63 : 255)
HN_INLINE int words_at_once(const int most) { return most <= 15 ? 8 : most <= 31 ? 4 : most <= 63 ? 2 : 1; }

#if defined(HN_LEVEL_avx512)
#define EACH(op, x, y) _mm512_##op(x, y)
typedef struct sized {
    i32x16 size;
    __mmask64 is_below;
} sized;
HN_INLINE sized sized_of(i32x16 u)
{
    const i32x16 w = i_xor(u, i_set1((int32_t)0x80808080u));
    return (sized){ _mm512_abs_epi8(w), _mm512_movepi8_mask(w) };
}
HN_INLINE i32x16 with_sign(i32x16 q, sized w)
{
    return _mm512_mask_sub_epi8(q, w.is_below, _mm512_setzero_si512(), q);
}
#else
#define EACH(op, x, y) ((i32x16){ _mm256_##op((x).a, (y).a), _mm256_##op((x).b, (y).b) })
typedef struct sized {
    i32x16 size, w;
} sized;
HN_INLINE sized sized_of(i32x16 u)
{
    const i32x16 w = i_xor(u, i_set1((int32_t)0x80808080u));
    return (sized){ { _mm256_abs_epi8(w.a), _mm256_abs_epi8(w.b) }, w };
}
HN_INLINE i32x16 with_sign(i32x16 q, sized w) { return EACH(sign_epi8, q, w.w); }
#endif

HN_INLINE i32x16 pairs_of(i32x16 u, i32x16 q) { return EACH(maddubs_epi16, u, q); }
HN_INLINE i32x16 add_pairs(i32x16 sum, i32x16 pairs)
{
    return i_add(sum, EACH(madd_epi16, pairs, i_set1(0x00010001)));
}

HN_INLINE void add_wide_word(const hn_int8_tile *t, const int rows, const int groups, const int32_t *w, int64_t block, int j,
                             i32x16 sum[MOST_ROWS][HN_INT8_GROUPS])
{
    sized u[HN_INT8_GROUPS];
    HN_UNROLL
    for (int g = 0; g < groups; g++)
        u[g] = sized_of(i_load(w + g * t->group_words + 16 * j));
    HN_UNROLL
    for (int r = 0; r < rows; r++) {
        const i32x16 q = word_of(t, r, block, j);
        HN_UNROLL
        for (int g = 0; g < groups; g++)
            sum[r][g] = add_pairs(sum[r][g], pairs_of(u[g].size, with_sign(q, u[g])));
    }
}

/* Words [from, end) of a block, of all rows and groups, of which sixteen bits hold the sum. */
HN_INLINE void add_run(const hn_int8_tile *t, const int rows, const int groups, const int from, const int end,
                       const int32_t *w, int64_t block, i32x16 sum[MOST_ROWS][HN_INT8_GROUPS])
{
    i32x16 pairs[MOST_ROWS][HN_INT8_GROUPS];
    HN_UNROLL
    for (int r = 0; r < rows; r++)
        HN_UNROLL
        for (int g = 0; g < groups; g++)
            pairs[r][g] = i_set1(0);
    HN_KEEP_ROLLED
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
                pairs[r][g] = EACH(add_epi16, pairs[r][g], pairs_of(u[g], q));
        }
    }
    HN_UNROLL
    for (int r = 0; r < rows; r++)
        HN_UNROLL
        for (int g = 0; g < groups; g++)
            sum[r][g] = add_pairs(sum[r][g], pairs[r][g]);
}

HN_INLINE void add_words(const hn_int8_tile *t, const int rows, const int groups, const int most, const int from,
                         const int end, const int32_t *w, int64_t block, i32x16 sum[MOST_ROWS][HN_INT8_GROUPS])
{
    const int run = words_at_once(most);
    HN_KEEP_ROLLED
    for (int j = from; j < end; j += run)
        if (most > 127)
            add_wide_word(t, rows, groups, w, block, j, sum);
        else
            add_run(t, rows, groups, j, j + run < end ? j + run : end, w, block, sum);
}

#endif
#endif
