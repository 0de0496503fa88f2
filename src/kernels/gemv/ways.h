/* ways.h: what is made of weights by x, one text for all: a chain, or blocks of 32 (gemm/blocks.h), or those by dots where a
 * level has them (gemm/dots.h). A format gives 32 weights of sixteen rows at a time (words.h); one row of x, or as many as registers hold, multiply them
 * as they are made, more rows by way of a buffer that stays in the first-level cache, so that nothing is made twice.
 *
 * Of dots x lies as pair_up leaves it: of every four elements the first two as they were, then words of (0, 2) and (1, 3),
 * the first of a pair in the high half. */
#ifndef HN_KERNELS_GEMV_WAYS_H
#define HN_KERNELS_GEMV_WAYS_H

#include "kernels/gemv/gemv.h"
#include "kernels/gemv/words.h"

/* clang-format off */
typedef enum way { CHAIN, BLOCKS, DOTS } way;
/* clang-format on */

#if defined(HN_LEVEL_avx512)
enum { MOST_ROWS = HN_GEMV_ROWS, MOST_IN_CHAINS = HN_GEMV_ROWS, AT_ONCE = 2, DIRECT = 8 };
#elif defined(HN_LEVEL_avx2) /* sixteen registers, a vector takes two */
enum { MOST_ROWS = 3, MOST_IN_CHAINS = 6, AT_ONCE = 2, DIRECT = 1 };
#else
enum { MOST_ROWS = 4, MOST_IN_CHAINS = 4, AT_ONCE = 2, DIRECT = 1 };
#endif
enum { BLOCK = HN_SUM_BLOCK };
_Static_assert((int)BLOCK == (int)HN_INT8_BLOCK, "words are of a block");

#if !defined(HN_GEMV_PAIR)
HN_INLINE f32x16 pair(f32x16 first, f32x16 second)
{
    (void)second;
    return first;
}
HN_INLINE f32x16 dot_by(f32x16 pairs, const float *x, f32x16 acc) { return f_fma_by(pairs, x, acc); }
#endif

/* acc + v x[p], where x may be paired up. */
HN_INLINE f32x16 times_x(const bool paired, f32x16 v, const float *x, const int p, f32x16 acc)
{
    if (!paired || p % 4 < 2)
        return f_fma_by(v, x, acc);
    int32_t word;
    memcpy(&word, x, sizeof word);
    return f_fma(v, i_float(i_shl(i_set1(word), 16)), acc);
}

/* Four weights, of p = 0 .. 3, by a few rows. */
HN_INLINE void take_four(const way how, const int rows, const f32x16 v[4], const float *x, f32x16 *even, f32x16 *odd)
{
    if (how == DOTS) {
        const f32x16 e = pair(v[0], v[2]), o = pair(v[1], v[3]);
        ALL for (int r = 0; r < rows; r++) even[r] = dot_by(e, x + 2 * rows + r, even[r]);
        ALL for (int r = 0; r < rows; r++) odd[r] = dot_by(o, x + 3 * rows + r, odd[r]);
        return;
    }
    ALL for (int p = 0; p < 4; p++)
    {
        f32x16 *const acc = how == BLOCKS && p % 2 ? odd : even;
        ALL for (int r = 0; r < rows; r++) acc[r] = f_fma_by(v[p], x + p * rows + r, acc[r]);
    }
}

/* Scales of half a block as this way wants them, and four weights of a word. Dots are of numbers whose products are no
 * subnormals, so that the sign of a zero is never seen. */
typedef struct half_scales {
    byte_scales bytes;
    f32x16 step, less;
    int offset;
} half_scales;

HN_INLINE half_scales half_of(const way how, const bool tame, const word_scales *s, const int half, int offset)
{
    half_scales h = { .offset = offset, .less = s->less[half] };
    h.step = tame ? f_mul(s->step[half], f_set1(0x1p-24f)) : s->step[half];
    if (how == DOTS)
        h.bytes = byte_scales_of(s, half, f_set1((float)offset));
    return h;
}

HN_INLINE void four_weights(const way how, const bool tame, const hn_int8_kind kind, i32x16 u, const half_scales *s, f32x16 to[4])
{
    const i32x16 v = how == DOTS ? u : signed_bytes(u, s->offset);
    ALL for (int b = 0; b < 4; b++)
    {
        to[b] = how == DOTS ? byte_weight(v, b, &s->bytes) : word_weight(v, b, tame, has_less(kind), s->step, s->less);
        if (how == BLOCKS)
            to[b] = tame ? rounded_tame(to[b]) : f_round_bf16(to[b]);
    }
}

typedef f32x16 direct_sums[AT_ONCE][DIRECT];

/* A block that is in words, by a few rows. */
HN_INLINE void direct_block(const way how, const int rows, const int groups, const hn_int8_kind kind, int offset, const int32_t *w,
                            int64_t group_words, const word_scales *s, const float *x, direct_sums even, direct_sums odd)
{
    half_scales of[AT_ONCE];
    ALL for (int half = 0; half < 2; half++)
    {
        if (half == 0 || has_halves(kind)) {
            ALL for (int g = 0; g < groups; g++) of[g] = half_of(how, true, &s[g], half, offset);
        }
        for (int j = 4 * half; j < 4 * half + 4; j++)
            ALL for (int g = 0; g < groups; g++)
            {
                f32x16 v[4];
                four_weights(how, true, kind, i_load(w + g * group_words + 16 * j), &of[g], v);
                take_four(how, rows, v, x + 4 * j * rows, even[g], odd[g]);
            }
    }
}

/* The same into a buffer: [32][16], or of dots, [8][2][16] pairs. */
HN_INLINE void put_block(const way how, const bool tame, const hn_int8_kind kind, int offset, const int32_t *w,
                         const word_scales *s, float *to)
{
    ALL for (int half = 0; half < 2; half++)
    {
        const half_scales of = half_of(how, tame, s, half, offset);
        for (int j = 4 * half; j < 4 * half + 4; j++) {
            f32x16 v[4];
            four_weights(how, tame, kind, i_load(w + 16 * j), &of, v);
            if (how == DOTS) {
                f_store(to + 32 * j, pair(v[0], v[2]));
                f_store(to + 32 * j + 16, pair(v[1], v[3]));
            } else {
                ALL for (int p = 0; p < 4; p++) f_store(to + 64 * j + 16 * p, v[p]);
            }
        }
    }
}

/* What a buffer is multiplied by: `of` rows of x lie side by side. */
HN_INLINE void add_rows(const way how, const bool paired, const int rows, int of, const float *v, const float *x, float *y,
                        int64_t ldy, bool from_zero)
{
    f32x16 even[HN_GEMV_ROWS], odd[HN_GEMV_ROWS];
    ALL for (int r = 0; r < rows; r++)
    {
        even[r] = how != CHAIN || from_zero ? f_zero() : f_load(y + r * ldy);
        odd[r] = f_zero();
    }
    for (int p = 0; p < BLOCK; p += 4, x += 4 * of) {
        if (how == DOTS) {
            const f32x16 e = f_load(v + 8 * p), o = f_load(v + 8 * p + 16);
            ALL for (int r = 0; r < rows; r++)
            {
                even[r] = dot_by(e, x + 2 * of + r, even[r]);
                odd[r] = dot_by(o, x + 3 * of + r, odd[r]);
            }
        } else {
            ALL for (int i = 0; i < 4; i++)
            {
                const f32x16 w = f_load(v + 16 * (p + i));
                f32x16 *const acc = how == BLOCKS && i % 2 ? odd : even;
                ALL for (int r = 0; r < rows; r++) acc[r] = times_x(paired, w, x + i * of + r, i, acc[r]);
            }
        }
    }
    ALL for (int r = 0; r < rows; r++)
    {
        const f32x16 sum = how == CHAIN ? even[r] : f_add(even[r], odd[r]);
        f_store(y + r * ldy, how == CHAIN ? sum : f_add(from_zero ? f_zero() : f_load(y + r * ldy), sum));
    }
}

/* ---- a panel ---- */

typedef void rows_adder(int rows, int of, const float *v, const float *x, float *y, int64_t ldy, bool from_zero);
#if !defined(HN_LANES)
#define HN_LANES HN_LEVEL
#endif
extern const hn_int8_kernels HN_KERNEL_EXPAND(int8_kernels, HN_LANES);
extern const hn_decode_kernels HN_KERNEL_EXPAND(decode_kernels, HN_LANES);

/* Scales that are not tame are rare: one text for all formats. */
static __attribute__((noinline, unused)) void put_slowly(way how, hn_int8_kind kind, int offset, const int32_t *w, float *to)
{
    const word_scales s = scales_of(kind, w);
    if (how == CHAIN)
        put_block(CHAIN, false, kind, offset, w, &s, to);
    else
        put_block(BLOCKS, false, kind, offset, w, &s, to);
}

/* `blocks` by 1 to DIRECT rows; w has those of a group after another. */
HN_INLINE void direct_rows(const way how, const hn_int8_kind kind, const int rows, const int groups, rows_adder *slowly, hn_elem type,
                           int64_t blocks, const float *x, const int32_t *w, float *y, int64_t ldy, bool from_zero)
{
    const int64_t words = hn_int8_words(kind);
    const int offset = hn_int8_formats[type].offset;
    direct_sums sum;
    ALL for (int g = 0; g < groups; g++) ALL for (int r = 0; r < rows; r++)
        sum[g][r] = from_zero ? f_zero() : f_load(y + r * ldy + 16 * g);
    for (int64_t b = 0; b < blocks; b++, x += BLOCK * rows, w += words) {
        direct_sums even, odd;
        word_scales s[AT_ONCE];
        bool tame = true;
        ALL for (int g = 0; g < groups; g++)
        {
            s[g] = scales_of(kind, w + g * blocks * words);
            tame = scales_are_tame(kind, type, &s[g]) && tame;
            ALL for (int r = 0; r < rows; r++)
            {
                even[g][r] = how == CHAIN ? sum[g][r] : f_zero();
                odd[g][r] = f_zero();
            }
        }
        if (tame) {
            direct_block(how, rows, groups, kind, offset, w, blocks * words, s, x, even, odd);
            ALL for (int g = 0; g < groups; g++) ALL for (int r = 0; r < rows; r++)
                sum[g][r] = how == CHAIN ? even[g][r] : f_add(sum[g][r], f_add(even[g][r], odd[g][r]));
            continue;
        }
        ALL for (int g = 0; g < groups; g++)
        {
            _Alignas(64) float v[16 * BLOCK], of_rows[DIRECT][16];
            ALL for (int r = 0; r < rows; r++) f_store(of_rows[r], sum[g][r]);
            put_slowly(how, kind, offset, w + g * blocks * words, v);
            slowly(rows, rows, v, x, of_rows[0], 16, false);
            ALL for (int r = 0; r < rows; r++) sum[g][r] = f_load(of_rows[r]);
        }
    }
    ALL for (int g = 0; g < groups; g++) ALL for (int r = 0; r < rows; r++) f_store(y + r * ldy + 16 * g, sum[g][r]);
}

HN_INLINE void more_rows(const way how, const hn_int8_kind kind, rows_adder *add, rows_adder *slowly, hn_elem type, int rows,
                         int64_t blocks, const float *x, const int32_t *w, float *y, int64_t ldy, bool from_zero)
{
    const int offset = hn_int8_formats[type].offset;
    _Alignas(64) float v[16 * BLOCK];
    for (int64_t b = 0; b < blocks; b++, x += BLOCK * rows, w += hn_int8_words(kind)) {
        const word_scales s = scales_of(kind, w);
        const bool tame = scales_are_tame(kind, type, &s);
        if (tame)
            put_block(how, true, kind, offset, w, &s, v);
        else
            put_slowly(how, kind, offset, w, v);
        (tame ? add : slowly)(rows, rows, v, x, y, ldy, from_zero && b == 0);
    }
}

/* Blocks of `groups` (1 or AT_ONCE) by all rows, for each kind of format. */
typedef void blocks_adder(hn_elem type, int groups, int rows, int64_t blocks, const float *x, const int32_t *w, float *y,
                          int64_t ldy, bool from_zero);

HN_INLINE void add_words(const way how, const hn_int8_kind kind, rows_adder *add, rows_adder *slowly, hn_elem type, int groups,
                         int rows, int64_t blocks, const float *x, const int32_t *w, float *y, int64_t ldy, bool from_zero)
{
#if !defined(HN_LEVEL_ref)
    if (rows == 1 && groups == AT_ONCE) {
        direct_rows(how, kind, 1, AT_ONCE, slowly, type, blocks, x, w, y, ldy, from_zero);
        return;
    }
#endif
#if defined(HN_LEVEL_avx512)
#define DIRECT_CASE(n) \
    case n: direct_rows(how, kind, n, 1, slowly, type, blocks, x, w, y, ldy, from_zero); return;
    switch (rows) {
        DIRECT_CASE(1) DIRECT_CASE(2) DIRECT_CASE(3) DIRECT_CASE(4)
        DIRECT_CASE(5) DIRECT_CASE(6) DIRECT_CASE(7) DIRECT_CASE(8)
    }
#undef DIRECT_CASE
#endif
    for (; groups > 0; groups--, w += blocks * hn_int8_words(kind), y += 16)
        more_rows(how, kind, add, slowly, type, rows, blocks, x, w, y, ldy, from_zero);
}

/* A few blocks of a few groups at a time are unpacked, and stay in the first-level cache. */
HN_INLINE void some_rows(blocks_adder *const *adders, hn_elem type, HN_PARAMS_gemv)
{
    enum { DEEP = 4 };
    _Alignas(64) int32_t words[AT_ONCE * DEEP * HN_INT8_MOST_WORDS];
    const hn_int8_kind kind = hn_int8_formats[type].kind;
    (void)room;
    for (int n; groups > 0; groups -= n, w = (const char *)w + n * stride, y += 16 * n) {
        n = rows > 1 || groups < AT_ONCE ? 1 : AT_ONCE;
        for (int64_t b = 0, deep; b < k / BLOCK; b += deep) {
            deep = k / BLOCK - b < DEEP ? k / BLOCK - b : DEEP;
            for (int g = 0; g < n; g++)
                HN_KERNEL_EXPAND(int8_kernels, HN_LANES)
                    .unpack[type](b, deep, (const uint8_t *)w + g * stride, NULL, words + g * deep * hn_int8_words(kind));
            adders[kind](type, n, rows, deep, x + b * BLOCK * rows, words, y, ldy, !accumulate && b == 0);
        }
    }
}

/* ---- the functions of a way ---- */

#define ADD_CASE(n)                                                                            \
    case n: add_rows(how, paired, n, of, v, x, y, ldy, from_zero); break;
#if defined(HN_LEVEL_avx512)
#define ADD_MORE ADD_CASE(4) ADD_CASE(5) ADD_CASE(6) ADD_CASE(7) ADD_CASE(8)
#elif defined(HN_LEVEL_avx2)
#define ADD_MORE ADD_CASE(4) ADD_CASE(5) ADD_CASE(6)
#else
#define ADD_MORE ADD_CASE(4)
#endif
#define ADD_ROWS(name, its_way, is_paired)                                                     \
    static void name(int rows, int of, const float *v, const float *x, float *y, int64_t ldy, bool from_zero) \
    {                                                                                          \
        const way how = its_way;                                                               \
        const bool paired = is_paired;                                                         \
        const int most = how == CHAIN ? MOST_IN_CHAINS : MOST_ROWS;                            \
        for (int n; rows > 0; rows -= n, x += n, y += n * ldy) {                               \
            n = rows <= most ? rows : rows < 2 * most ? (rows + 1) / 2 : most;                 \
            switch (n) { ADD_CASE(1) ADD_CASE(2) ADD_CASE(3) ADD_MORE }                        \
        }                                                                                      \
    }

/* WAY_words: an adder for each kind. */
#define ADD_KIND(name, how, add, slowly, kind)                                                 \
    static void name##_##kind(hn_elem type, int groups, int rows, int64_t blocks, const float *x, const int32_t *w, float *y, \
                              int64_t ldy, bool from_zero)                                     \
    {                                                                                          \
        add_words(how, HN_INT8_##kind, add, slowly, type, groups, rows, blocks, x, w, y, ldy, from_zero); \
    }
#define ADD_WORDS(name, how, add, slowly)                                                      \
    ADD_KIND(name, how, add, slowly, whole)                                                    \
    ADD_KIND(name, how, add, slowly, less)                                                     \
    ADD_KIND(name, how, add, slowly, halves)                                                   \
    ADD_KIND(name, how, add, slowly, halves_less)                                              \
    ADD_KIND(name, how, add, slowly, steps)                                                    \
    static blocks_adder *const name[HN_INT8_KINDS] = {                                         \
        [HN_INT8_whole] = name##_whole, [HN_INT8_less] = name##_less, [HN_INT8_halves] = name##_halves, \
        [HN_INT8_halves_less] = name##_halves_less, [HN_INT8_steps] = name##_steps,            \
    };

/* Rows as they lie: sixteen of some blocks, turned into a panel in `room`. */
HN_INLINE void some_plain_rows(blocks_adder *const *adders, hn_elem type, HN_PARAMS_gemv)
{
    enum { CHUNK = 256 };
    for (; groups > 0; groups--, w = (const char *)w + 16 * stride, y += 16)
        for (int64_t p = 0; p < k; p += CHUNK) {
            const int64_t n = k - p < CHUNK ? k - p : CHUNK;
            HN_KERNEL_EXPAND(decode_kernels, HN_LANES).turn(type, n, (const char *)w + hn_elem_span(type, p), stride, (uint8_t *)room);
            some_rows(adders, type, rows, 1, n, x + p * rows, room, 0, y, ldy, accumulate || p > 0, NULL);
        }
}

#endif
