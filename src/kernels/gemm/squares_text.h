/* squares_text.h: what squares.h wants of a level, by the registers of base/tmm.h: the instructions, or C where whoever includes
 * this says so. put_squares(...) of a level is the table. */
#ifndef HN_KERNELS_GEMM_SQUARES_TEXT_H
#define HN_KERNELS_GEMM_SQUARES_TEXT_H

#include "base/tmm.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/squares.h"
#include "kernels/gemm/transpose.h"
#include "kernels/simd/f32x16.h"

#include <string.h>

enum { HALF = HN_SQUARE_HALF, WORDS = HN_SQUARE_WORDS, IN_BLOCK = HN_SUM_BLOCK };
_Static_assert(IN_BLOCK == 2 * HALF, "a row of a register is a block");

/* ---- what is known of words that went by ----
 *
 * Packers hold it in a variable of their own and put it back at their end: what is stored to words might lie in what a pointer has, and
 * then every word would wait for memory. */

/* The least of twice the magnitudes of halves, each less one, so that zero is the largest; and whether any f32 was subnormal. */
typedef struct seen {
    i32x16 least;
    m16 subnormal;
} seen;

static inline seen nothing_seen(void) { return (seen){ i_set1(-1), m_not(m_first(16)) }; }

/* Words are stored as such and copied: of halves that were stored as words a compiler may think that nothing wrote them. */
HN_INLINE void halves_of(i32x16 x, uint16_t halves[32])
{
    int32_t words[HALF];
    i_store(words, x);
    memcpy(halves, words, sizeof words);
}

HN_INLINE i32x16 see(seen *s, i32x16 words)
{
#if defined(HN_LEVEL_avx512)
    const __m512i twice = _mm512_add_epi16(words, words);
    s->least = _mm512_min_epu16(s->least, _mm512_add_epi16(twice, _mm512_set1_epi16(-1)));
#else
    uint16_t least[32], half[32];
    int32_t both[HALF];
    halves_of(s->least, least);
    halves_of(words, half);
    for (int i = 0; i < 32; i++) {
        const uint16_t x = (uint16_t)(2 * half[i] - 1);
        least[i] = x < least[i] ? x : least[i];
    }
    memcpy(both, least, sizeof both);
    s->least = i_load(both);
#endif
    return words;
}

HN_INLINE void see_subnormal(seen *s, f32x16 x)
{
#if defined(HN_LEVEL_avx512)
    s->subnormal = m_or(s->subnormal, _mm512_fpclass_ps_mask(x, 0x20));
#else
    s->subnormal = m_or(s->subnormal, m_and(f_lt(f_abs(x), f_set1(0x1p-126f)), m_not(f_eq(x, f_zero()))));
#endif
}

static void tell_lowest(seen s, int *lowest)
{
    uint16_t half[32];
    int least = 0xffff;
    halves_of(s.least, half);
    for (int i = 0; i < 32; i++)
        least = half[i] < least ? half[i] : least;
    const int exponent = (least + 1) >> 8;
    const int told = exponent && !m_any(s.subnormal) ? exponent : HN_GEMM_NO_DOTS;
    *lowest = told < *lowest ? told : *lowest;
}

/* ---- packing ---- */

/* A register's sixteen rows of words, kept as floats, turned. */
HN_INLINE void put_turned(float (*rows)[HALF], uint32_t *dst)
{
    f32x16 turned[HALF];
    transpose16((const char *)rows, sizeof *rows, turned);
    for (int i = 0; i < HALF; i++)
        i_store((int32_t *)(void *)(dst + i * HALF), f_bits(turned[i]));
}

/* 32 f32, the first sixteen and the others, as words. */
HN_INLINE i32x16 narrowed(f32x16 low, f32x16 high, seen *s)
{
    i32x16 words;
    see_subnormal(s, low);
    see_subnormal(s, high);
#if defined(TMM_NARROW_TWO) && defined(HN_LEVEL_avx512)
    TMM_NARROW_TWO(words, low, high);
#else
    float x[IN_BLOCK];
    int32_t narrow[HALF];
    f_store(x, low);
    f_store(x + HALF, high);
    TMM_NARROW(narrow, x);
    words = i_load(narrow);
#endif
    return words;
}

HN_INLINE i32x16 words_as_they_lie(const char *x, int64_t n)
{
    int32_t words[HALF] = { 0 };
    memcpy(words, x, (size_t)n * sizeof(uint16_t));
    return i_load(words);
}

/* The first n of 32 elements, or all: a constant then; others are zeros. */
HN_INLINE i32x16 words_of(const char *at, const hn_elem type, int64_t n, seen *s)
{
    const float *x = (const float *)(const void *)at;
    if (type == HN_ELEM_f32 && n == IN_BLOCK)
        return narrowed(f_load(x), f_load(x + HALF), s);
    if (type == HN_ELEM_f32)
        return narrowed(f_load_n(x, n < HALF ? n : HALF), f_load_n(x + HALF, n < HALF ? 0 : n - HALF), s);
    return n == IN_BLOCK ? i_load((const int32_t *)(const void *)at) : words_as_they_lie(at, n);
}

/* A row of k of A, to a row of every register. */
HN_INLINE void pack_row(const char *x, const hn_elem type, int64_t n_k, uint32_t *dst, seen *s)
{
    const int64_t bytes = IN_BLOCK * hn_elem_bytes(type);
    for (; n_k >= IN_BLOCK; n_k -= IN_BLOCK, x += bytes, dst += WORDS)
        i_store((int32_t *)(void *)dst, see(s, words_of(x, type, IN_BLOCK, s)));
    if (n_k > 0)
        i_store((int32_t *)(void *)dst, see(s, words_of(x, type, n_k, s)));
}

static void pack_rows_of_a(const char *x, int64_t stride, hn_elem type, int n_outer, int64_t n_k, uint32_t *dst, seen *s)
{
    seen mine = *s;
    for (int i = 0; i < HALF; i++, x += stride, dst += HALF)
        if (i >= n_outer)
            for (int64_t k = 0; k < n_k; k += IN_BLOCK)
                i_store((int32_t *)(void *)(dst + k / IN_BLOCK * WORDS), i_set1(0));
        else if (type == HN_ELEM_f32)
            pack_row(x, HN_ELEM_f32, n_k, dst, &mine);
        else
            pack_row(x, HN_ELEM_bf16, n_k, dst, &mine);
    *s = mine;
}

/* Rows along k of B: each is a column of its register. `type` and `n`, 32 or what is left, are constants where they can be. */
HN_INLINE void pack_block(const char *x, int64_t stride, const hn_elem type, const int64_t n, int n_outer, uint32_t *dst, seen *s)
{
    float rows[HALF][HALF];
    for (int i = 0; i < n_outer; i++) {
        __builtin_prefetch(x + i * stride + 256);
        f_store(rows[i], i_float(see(s, words_of(x + i * stride, type, n, s))));
    }
    for (int i = n_outer; i < HALF; i++)
        f_store(rows[i], f_zero());
    put_turned(rows, dst);
}

HN_INLINE void pack_blocks(const char *x, int64_t stride, const hn_elem type, int n_outer, int64_t n_k, uint32_t *dst, seen *s)
{
    seen mine = *s;
    for (; n_k >= IN_BLOCK; n_k -= IN_BLOCK, x += IN_BLOCK * hn_elem_bytes(type), dst += WORDS)
        pack_block(x, stride, type, IN_BLOCK, n_outer, dst, &mine);
    if (n_k > 0)
        pack_block(x, stride, type, n_k, n_outer, dst, &mine);
    *s = mine;
}

static void pack_rows_of_b(const char *x, int64_t stride, hn_elem type, int n_outer, int64_t n_k, uint32_t *dst, seen *s)
{
    if (type == HN_ELEM_f32)
        pack_blocks(x, stride, HN_ELEM_f32, n_outer, n_k, dst, s);
    else
        pack_blocks(x, stride, HN_ELEM_bf16, n_outer, n_k, dst, s);
}

/* Words of four elements of sixteen rows of a panel (kernels/decode/decode.h), in whose words the high half is the first, of 0 and 2 and
 * of 1 and 3: of the first two, and of the others. */
HN_INLINE void words_of_four(const uint16_t *x, i32x16 words[2])
{
    const int32_t *four = (const int32_t *)(const void *)x;
    const i32x16 even = i_load(four), odd = i_load(four + 16);
    words[0] = i_or(i_shr(even, 16), i_and(odd, i_set1((int32_t)0xffff0000u)));
    words[1] = i_or(i_and(even, i_set1(0xffff)), i_shl(odd, 16));
}

/* The same of elements p to p + 3 of n: behind the last whole four panels are of halves. */
HN_INLINE void words_of_last(const uint16_t *x, int64_t p, int64_t n, i32x16 words[2])
{
    if (p + 4 <= n) {
        words_of_four(x + 16 * p, words);
        return;
    }
    HN_UNROLL
    for (int i = 0; i < 2; i++, p += 2) {
        words[i] = p < n ? h_widen(h_load(x + 16 * p)) : i_set1(0);
        if (p + 1 < n)
            words[i] = i_or(words[i], i_shl(h_widen(h_load(x + 16 * p + 16)), 16));
    }
}

/* A piece of a panel of bf16. */
static void pack_panel(const uint16_t *x, int n_outer, int64_t n_k, bool is_a, uint32_t *dst, seen *s)
{
    const m16 lanes = m_first(n_outer);
    seen mine = *s;
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        const bool is_whole = n_outer == HALF && n_k - k >= IN_BLOCK;
        float rows[HALF][HALF];
        float *to = is_a ? rows[0] : (float *)(void *)dst;
        for (int p = 0; p < HALF; p += 2, to += 2 * HALF) {
            i32x16 words[2];
            if (is_whole)
                words_of_four(x + 16 * (k + 2 * p), words);
            else
                words_of_last(x, k + 2 * p, n_k, words);
            HN_UNROLL
            for (int i = 0; i < 2; i++)
                f_store(to + i * HALF, i_float(see(&mine, is_whole ? words[i] : i_select(lanes, words[i], i_set1(0)))));
        }
        if (is_a)
            put_turned(rows, dst);
    }
    *s = mine;
}

/* Halves of two rows as words, of which the low half is of the first: sixteen words, and sixteen. */
typedef struct two_rows {
    i32x16 of[2];
} two_rows;

HN_INLINE two_rows zipped(i32x16 first, i32x16 second)
{
#if defined(HN_LEVEL_avx512)
    const __m512i apart = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    first = _mm512_permutexvar_epi64(apart, first);
    second = _mm512_permutexvar_epi64(apart, second);
    return (two_rows){ { _mm512_unpacklo_epi16(first, second), _mm512_unpackhi_epi16(first, second) } };
#else
    uint16_t x[2][IN_BLOCK], both[2 * IN_BLOCK];
    int32_t words[2][HALF];
    halves_of(first, x[0]);
    halves_of(second, x[1]);
    for (int i = 0; i < 2 * IN_BLOCK; i++)
        both[i] = x[i % 2][i / 2];
    memcpy(words, both, sizeof words);
    return (two_rows){ { i_load(words[0]), i_load(words[1]) } };
#endif
}

/* Rows of k that run along the outer elements: two of them are words of B's row, and the squares of 32 outer elements are made out
 * of whole lines, because rows may be so far apart that lines do not stay. `n_outer` is a constant where it is 32. */
HN_INLINE void pack_lines(const char *x, int64_t stride, const hn_elem type, const int n_outer, int64_t n_k, bool is_a, uint32_t *dst,
                          int64_t half, seen *s)
{
    seen mine = *s;
    for (; n_k > 0; n_k -= IN_BLOCK, x += IN_BLOCK * stride, dst += WORDS) {
        float rows[2][HALF][HALF];
        float *to[2] = { is_a ? rows[0][0] : (float *)(void *)dst, is_a || n_outer <= HALF ? rows[1][0] : (float *)(void *)(dst + half) };
        for (int p = 0; p < HALF; p++) {
            const char *at = x + 2 * p * stride;
            __builtin_prefetch(at + IN_BLOCK * stride);
            __builtin_prefetch(at + (IN_BLOCK + 1) * stride);
            const i32x16 first = 2 * p < n_k ? words_of(at, type, n_outer, &mine) : i_set1(0);
            const i32x16 second = 2 * p + 1 < n_k ? words_of(at + stride, type, n_outer, &mine) : i_set1(0);
            const two_rows w = zipped(see(&mine, first), see(&mine, second));
            HN_UNROLL
            for (int i = 0; i < 2; i++)
                f_store(to[i] + p * HALF, i_float(w.of[i]));
        }
        if (is_a)
            put_turned(rows[0], dst);
        if (is_a && n_outer > HALF)
            put_turned(rows[1], dst + half);
    }
    *s = mine;
}

static void pack_along_outer(const char *x, int64_t stride, hn_elem type, int n_outer, int64_t n_k, bool is_a, uint32_t *dst,
                             int64_t half, seen *s)
{
    if (type == HN_ELEM_f32 && n_outer == IN_BLOCK)
        pack_lines(x, stride, HN_ELEM_f32, IN_BLOCK, n_k, is_a, dst, half, s);
    else if (type == HN_ELEM_f32)
        pack_lines(x, stride, HN_ELEM_f32, n_outer, n_k, is_a, dst, half, s);
    else if (n_outer == IN_BLOCK)
        pack_lines(x, stride, HN_ELEM_bf16, IN_BLOCK, n_k, is_a, dst, half, s);
    else
        pack_lines(x, stride, HN_ELEM_bf16, n_outer, n_k, is_a, dst, half, s);
}

/* An element of each of a panel's sixteen rows; of elements from x on so many are in fours (words_of_four). */
HN_INLINE h16 element_of_rows(const uint16_t *x, int64_t element, int64_t in_fours)
{
    if (element >= in_fours)
        return h_load(x + 16 * element);
    const uint16_t *four = x + 16 * (element - element % 4);
    const i32x16 words = i_load((const int32_t *)(const void *)(four + 32 * (element % 2)));
    return h_narrow(element % 4 < 2 ? i_shr(words, 16) : i_and(words, i_set1(0xffff)));
}

HN_INLINE i32x16 both_halves(h16 first, h16 second)
{
#if defined(HN_LEVEL_avx512)
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
#else
    uint16_t halves[2 * HALF];
    int32_t words[HALF];
    h_store(halves, first);
    h_store(halves + HALF, second);
    memcpy(words, halves, sizeof words);
    return i_load(words);
#endif
}

/* Sixteen rows of k a panel, `panel` halves from one to the next, behind the last of which are zeros: an outer element of all of
 * them is half of a row of A. */
static void pack_along_panels(const uint16_t *x, int64_t panel, int64_t in_fours, int n_outer, int64_t n_k, bool is_a, uint32_t *dst,
                              seen *s)
{
    seen mine = *s;
    for (; n_k > 0; n_k -= IN_BLOCK, x += 2 * panel, dst += WORDS) {
        float rows[HALF][HALF];
        float *to = is_a ? (float *)(void *)dst : rows[0];
        for (int i = 0; i < n_outer; i++, to += HALF) {
            const h16 first = element_of_rows(x, i, in_fours);
            const h16 second = n_k > HALF ? element_of_rows(x + panel, i, in_fours) : h_narrow(i_set1(0));
            f_store(to, i_float(see(&mine, both_halves(first, second))));
        }
        for (int i = n_outer; i < HALF; i++, to += HALF)
            f_store(to, f_zero());
        if (!is_a)
            put_turned(rows, dst);
    }
    *s = mine;
}

/* Sixteen halves and sixteen others, each of those in the low half of a word beside its other. */
HN_INLINE i32x16 paired(i32x16 x)
{
#if defined(HN_LEVEL_avx512)
    const __m512i in_turn = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4,
                                             19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(in_turn, x);
#else
    uint16_t apart[32], pairs[32];
    int32_t words[HALF];
    halves_of(x, apart);
    for (int i = 0; i < 32; i++)
        pairs[i] = apart[i % 2 * HALF + i / 2];
    memcpy(words, pairs, sizeof words);
    return i_load(words);
#endif
}

static void join(int64_t n_k, const float *panel, bool is_a, uint32_t *dst, int *lowest)
{
    seen s = nothing_seen();
    for (; n_k > 0; n_k -= IN_BLOCK, panel += HALF * IN_BLOCK, dst += WORDS) {
        float rows[HALF][HALF];
        float *to = is_a ? rows[0] : (float *)(void *)dst;
        for (int p = 0; p < HALF; p++) {
            const f32x16 low = 2 * p < n_k ? f_load(panel + 2 * HALF * p) : f_zero();
            const f32x16 high = 2 * p + 1 < n_k ? f_load(panel + 2 * HALF * p + HALF) : f_zero();
            f_store(to + HALF * p, i_float(see(&s, paired(narrowed(low, high, &s)))));
        }
        if (is_a)
            put_turned(rows, dst);
    }
    tell_lowest(s, lowest);
}

/* Sixteen, of the ways in which outer elements are read one by one. */
static bool pack_half(const hn_gemm_operand *x, int64_t outer, int n_outer, int64_t k, int64_t n_k, bool is_a, uint32_t *dst, seen *s)
{
    const bool is_bf16 = x->type == HN_ELEM_bf16;
    const char *at = (const char *)x->data + outer * x->outer_stride + k * x->k_stride; /* of rows */
    const uint16_t *panels = x->data;
    const int64_t panel = HALF * x->row_elems;
    if (x->is_panel16 && !x->rows_are_k && is_bf16 && outer % HALF == 0)
        pack_panel(panels + outer / HALF * panel + HALF * k, n_outer, n_k, is_a, dst, s);
    else if (x->is_panel16 && x->rows_are_k && is_bf16 && k % HALF == 0 && outer % 4 == 0)
        pack_along_panels(panels + k / HALF * panel + HALF * outer, panel, x->row_elems / 4 * 4 - outer, n_outer, n_k, is_a, dst, s);
    else if (!x->is_panel16 && x->k_stride == hn_elem_bytes(x->type))
        (is_a ? pack_rows_of_a : pack_rows_of_b)(at, x->outer_stride, x->type, n_outer, n_k, dst, s);
    else
        return false;
    return true;
}

static bool pack_squares(const hn_gemm_operand *x, int64_t outer, int n_outer, int64_t k, int64_t n_k, bool is_a, uint32_t *dst,
                         int64_t half, int *lowest)
{
    const bool is_f32 = x->type == HN_ELEM_f32;
    const char *at = (const char *)x->data + outer * x->outer_stride + k * x->k_stride;
    seen s = nothing_seen();
    if (x->pairs || (!is_f32 && x->type != HN_ELEM_bf16))
        return false;
    const bool in_lines = !x->is_panel16 && x->outer_stride == hn_elem_bytes(x->type);
    if (in_lines)
        pack_along_outer(at, x->k_stride, x->type, n_outer, n_k, is_a, dst, half, &s);
    for (int o = 0; o < n_outer && !in_lines; o += HALF)
        if (!pack_half(x, outer + o, n_outer - o < HALF ? n_outer - o : HALF, k, n_k, is_a, dst + o / HALF * half, &s))
            return false;
    tell_lowest(s, lowest);
    return true;
}

/* ---- products ---- */

static void open_registers(void)
{
    static const tmm_shapes shapes = { .palette = 1, .row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
                                       .rows = { 16, 16, 16, 16, 16, 16, 16, 16 } };
    TMM_OPEN(&shapes);
}

static void close_registers(void) { TMM_CLOSE(); }

/* Of 0 to 3, which are C, as many as it has halves. `is_tall` and `is_wide` are constants at every use. */
HN_INLINE void multiply_of(const bool is_tall, const bool is_wide, const hn_square_factors *x, bool goes_on, float *c,
                           hn_square_ahead ahead)
{
    enum { ROW = HALF * sizeof(uint32_t) };
    const int64_t other = x->half;
    const uint32_t *a = x->a, *b = x->b;
#define EACH_OF_C(do)                                                                          \
    do(0, c);                                                                                  \
    if (is_wide)                                                                               \
        do(1, c + WORDS);                                                                      \
    if (is_tall)                                                                               \
        do(2, c + 2 * WORDS);                                                                  \
    if (is_tall && is_wide)                                                                    \
        do(3, c + 3 * WORDS);
#define FROM_ZERO(t, at) TMM_ZERO(t)
#define FROM_C(t, at)    TMM_LOAD(t, at, ROW)
#define TO_C(t, at)      TMM_STORE(t, at, ROW)
    if (goes_on) {
        EACH_OF_C(FROM_C)
    } else {
        EACH_OF_C(FROM_ZERO)
    }
    for (int64_t left = x->blocks; left > 0; left--, a += WORDS, b += WORDS, ahead.at += ahead.step) {
        TMM_LOAD(4, a, ROW);
        TMM_LOAD(6, b, ROW);
        TMM_DOT_BF16(0, 4, 6);
        if (is_tall) {
            TMM_LOAD(5, a + other, ROW);
            TMM_DOT_BF16(2, 5, 6);
        }
        if (is_wide) {
            TMM_LOAD(7, b + other, ROW);
            TMM_DOT_BF16(1, 4, 7);
        }
        if (is_tall && is_wide)
            TMM_DOT_BF16(3, 5, 7);
        __builtin_prefetch(ahead.at, 0, 2);
        __builtin_prefetch(ahead.at + 64, 0, 2);
    }
    EACH_OF_C(TO_C)
#undef EACH_OF_C
#undef FROM_ZERO
#undef FROM_C
#undef TO_C
}

static void multiply_square(const hn_square_factors *x, int rows, int cols, bool goes_on, float *c, hn_square_ahead ahead)
{
    if (rows > HALF && cols > HALF)
        multiply_of(true, true, x, goes_on, c, ahead);
    else if (rows > HALF)
        multiply_of(true, false, x, goes_on, c, ahead);
    else if (cols > HALF)
        multiply_of(false, true, x, goes_on, c, ahead);
    else
        multiply_of(false, false, x, goes_on, c, ahead);
}

/* ---- C ---- */

static const float *row_in(const float *square, int row, int half)
{
    return square + (2 * (row / HALF) + half) * WORDS + row % HALF * HALF;
}

static int columns_in(int cols, int half)
{
    const int left = cols - half * HALF;
    return left < 0 ? 0 : left < HALF ? left : HALF;
}

/* Of zeros and of what is a multiple of 2^-126 however it is rounded, sums are multiples of it, too. */
static bool take_square(const float *c, int64_t row_stride, int64_t col_stride, int rows, int cols, float *square)
{
    m16 small = m_not(m_first(16));
    for (int row = 0; row < rows; row++)
        for (int half = 0; half < 2; half++) {
            const int n = columns_in(cols, half);
            const char *from = (const char *)c + row * row_stride + half * HALF * col_stride;
            float x[HALF] = { 0 };
            for (int i = 0; i < n && col_stride != sizeof *x; i++)
                memcpy(&x[i], from + i * col_stride, sizeof *x);
            const f32x16 v = col_stride == sizeof *x ? f_load_n((const float *)(const void *)from, n) : f_load(x);
            const f32x16 magnitude = f_abs(v);
            small = m_or(small, m_and(f_lt(magnitude, f_set1(0x1p-103f)), m_not(f_eq(v, f_zero()))));
            f_store(square + (row_in(square, row, half) - square), v);
        }
    return !m_any(small);
}

static void put_square(const float *square, int rows, int cols, float *c, int64_t row_stride, int64_t col_stride)
{
    for (int row = 0; row < rows; row++)
        for (int half = 0; half < 2; half++) {
            const int n = columns_in(cols, half);
            char *to = (char *)c + row * row_stride + half * HALF * col_stride;
            const float *from = row_in(square, row, half);
            if (col_stride != sizeof(float)) {
                for (int i = 0; i < n; i++)
                    memcpy(to + i * col_stride, from + i, sizeof *from);
            } else if (n == HALF && (uintptr_t)to % 64 == 0) {
                f_stream((float *)(void *)to, f_load(from));
            } else {
                f_store_n((float *)(void *)to, f_load(from), n);
            }
        }
}

static const hn_gemm_squares squares_of_level = {
    .pack = pack_squares, .join = join, .open = open_registers, .close = close_registers,
    .multiply = multiply_square, .take = take_square, .put = put_square,
};

#endif
