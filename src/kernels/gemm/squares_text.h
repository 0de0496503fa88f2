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

/* ---- what is known of words that went by ---- */

/* The least of magnitudes, each the half of a word, less one, so that zero is the largest; and whether any f32 was subnormal. */
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

HN_INLINE i32x16 smaller_halves(i32x16 a, i32x16 b)
{
#if defined(HN_LEVEL_avx512)
    return _mm512_min_epu16(a, b);
#else
    uint16_t x[32], y[32];
    int32_t words[HALF];
    halves_of(a, x);
    halves_of(b, y);
    for (int i = 0; i < 32; i++)
        x[i] = x[i] < y[i] ? x[i] : y[i];
    memcpy(words, x, sizeof x);
    return i_load(words);
#endif
}

HN_INLINE i32x16 see(seen *s, i32x16 words)
{
    const i32x16 sign = i_set1((int32_t)0x80008000u); /* from which the one is borrowed */
    s->least = smaller_halves(s->least, i_xor(i_sub(i_or(words, sign), i_set1(0x00010001)), sign));
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

static void tell_lowest(const seen *s, int *lowest)
{
    uint16_t half[32];
    int least = 0x7fff;
    halves_of(s->least, half);
    for (int i = 0; i < 32; i++)
        least = half[i] < least ? half[i] : least;
    const int exponent = (least + 1) >> 7;
    const int told = exponent && !m_any(s->subnormal) ? exponent : HN_GEMM_NO_DOTS;
    *lowest = told < *lowest ? told : *lowest;
}

/* ---- packing ---- */

/* A register's sixteen rows of words, kept as floats, turned or as they are. */
HN_INLINE void put_words(float (*rows)[HALF], bool turn, uint32_t *dst)
{
    if (!turn) {
        memcpy(dst, rows, sizeof(float[HALF][HALF]));
        return;
    }
    f32x16 turned[HALF];
    transpose16((const char *)rows, sizeof *rows, turned);
    for (int i = 0; i < HALF; i++)
        i_store((int32_t *)(void *)(dst + i * HALF), f_bits(turned[i]));
}

/* The low half of a word is the first of two. */
HN_INLINE i32x16 words_of(i32x16 first, i32x16 second)
{
    return i_or(i_shr(first, 16), i_and(second, i_set1((int32_t)0xffff0000u)));
}

/* Up to 32 elements of a row; others are zeros. */
HN_INLINE i32x16 words_of_f32(const float *x, int64_t n, seen *s)
{
    float whole[IN_BLOCK] = { 0 };
    int32_t words[HALF];
    if (n < IN_BLOCK) {
        memcpy(whole, x, (size_t)n * sizeof *x);
        x = whole;
    }
    see_subnormal(s, f_load(x));
    see_subnormal(s, f_load(x + HALF));
    TMM_NARROW(words, x);
    return see(s, i_load(words));
}

HN_INLINE i32x16 words_of_bf16(const char *x, int64_t n, seen *s)
{
    int32_t words[HALF] = { 0 };
    memcpy(words, x, (size_t)(n < IN_BLOCK ? n : IN_BLOCK) * sizeof(uint16_t));
    return see(s, i_load(words));
}

/* A row of k of A, to a row of every register. */
HN_INLINE void pack_row(const char *x, const hn_elem type, int64_t n_k, uint32_t *dst, seen *s)
{
    const int64_t bytes = hn_elem_bytes(type);
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        const char *at = x + k * bytes;
        const int64_t n = n_k - k >= IN_BLOCK ? IN_BLOCK : n_k - k;
        i_store((int32_t *)(void *)dst, type == HN_ELEM_f32 ? words_of_f32((const float *)(const void *)at, n, s)
                                                            : words_of_bf16(at, n, s));
    }
}

static void pack_rows_of_a(const char *x, int64_t stride, hn_elem type, int n_outer, int64_t n_k, uint32_t *dst, seen *s)
{
    for (int i = 0; i < HALF; i++, x += stride, dst += HALF)
        if (i >= n_outer)
            for (int64_t k = 0; k < n_k; k += IN_BLOCK)
                i_store((int32_t *)(void *)(dst + k / IN_BLOCK * WORDS), i_set1(0));
        else if (type == HN_ELEM_f32)
            pack_row(x, HN_ELEM_f32, n_k, dst, s);
        else
            pack_row(x, HN_ELEM_bf16, n_k, dst, s);
}

/* Rows along k of B: each is a column of its register. `type` and `is_whole`, a block that is all there, are constants. */
HN_INLINE void pack_block(const char *x, int64_t stride, const hn_elem type, const bool is_whole, int n_outer, int64_t left,
                          uint32_t *dst, seen *s)
{
    float rows[HALF][HALF];
    for (int i = 0; i < n_outer; i++) {
        const char *at = x + i * stride;
        const int64_t n = is_whole ? IN_BLOCK : left;
        __builtin_prefetch(at + 256);
        f_store(rows[i], i_float(type == HN_ELEM_f32 ? words_of_f32((const float *)(const void *)at, n, s) : words_of_bf16(at, n, s)));
    }
    for (int i = n_outer; i < HALF; i++)
        f_store(rows[i], f_zero());
    put_words(rows, true, dst);
}

static void pack_rows_of_b(const char *x, int64_t stride, hn_elem type, int n_outer, int64_t n_k, uint32_t *dst, seen *s)
{
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        const bool is_whole = n_k - k >= IN_BLOCK;
        const char *at = x + k * hn_elem_bytes(type);
        if (type == HN_ELEM_f32 && is_whole)
            pack_block(at, stride, HN_ELEM_f32, true, n_outer, n_k - k, dst, s);
        else if (is_whole)
            pack_block(at, stride, HN_ELEM_bf16, true, n_outer, n_k - k, dst, s);
        else if (type == HN_ELEM_f32)
            pack_block(at, stride, HN_ELEM_f32, false, n_outer, n_k - k, dst, s);
        else
            pack_block(at, stride, HN_ELEM_bf16, false, n_outer, n_k - k, dst, s);
    }
}

/* Words of elements p and p + 1 of n of sixteen rows, the first in the low half: of a panel (kernels/decode/decode.h), in whose words
 * of each four the high half is the first, of 0 and 2 and of 1 and 3; or, behind the last four, of halves. */
HN_INLINE i32x16 words_of_panel(const uint16_t *x, int64_t p, int64_t n)
{
    if (p >= n)
        return i_set1(0);
    if (p + (p % 4 ? 2 : 4) > n) {
        const i32x16 low = h_widen(h_load(x + 16 * p));
        return p + 1 < n ? i_or(low, i_shl(h_widen(h_load(x + 16 * p + 16)), 16)) : low;
    }
    const int32_t *four = (const int32_t *)(const void *)(x + 16 * (p - p % 4));
    const i32x16 even = i_load(four), odd = i_load(four + 16);
    return p % 4 ? i_or(i_and(even, i_set1(0xffff)), i_shl(odd, 16)) : i_or(i_shr(even, 16), i_and(odd, i_set1((int32_t)0xffff0000u)));
}

/* A piece of a panel of bf16. */
static void pack_panel(const uint16_t *x, int n_outer, int64_t n_k, bool is_a, uint32_t *dst, seen *s)
{
    const m16 lanes = m_first(n_outer);
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        float rows[HALF][HALF];
        for (int p = 0; p < HALF; p++)
            f_store(rows[p], i_float(see(s, i_select(lanes, words_of_panel(x, k + 2 * p, n_k), i_set1(0)))));
        put_words(rows, is_a, dst);
    }
}

/* Up to 32 elements of each of two rows, or none, as words: the low half is of the first row. */
typedef struct two_rows {
    i32x16 of[2]; /* sixteen words, and sixteen */
} two_rows;

static const char no_row[IN_BLOCK * sizeof(float)] = { 0 };

HN_INLINE const char *whole_row(const char *row, int64_t bytes, const int64_t whole, char *room)
{
    if (!row || bytes == whole)
        return row ? row : no_row;
    memset(room, 0, (size_t)whole);
    return memcpy(room, row, (size_t)bytes);
}

HN_INLINE two_rows words_of_two(const char *first, const char *second, const hn_elem type, int n, seen *s)
{
    const int64_t each = type == HN_ELEM_bf16 ? sizeof(uint16_t) : sizeof(float), whole = IN_BLOCK * each;
    char room[2][IN_BLOCK * sizeof(float)];
    const char *x = whole_row(first, n * each, whole, room[0]), *y = whole_row(second, n * each, whole, room[1]);
    uint16_t narrow[2][IN_BLOCK];
    if (type == HN_ELEM_f32) {
        see_subnormal(s, f_load((const float *)(const void *)x));
        see_subnormal(s, f_load((const float *)(const void *)x + HALF));
        see_subnormal(s, f_load((const float *)(const void *)y));
        see_subnormal(s, f_load((const float *)(const void *)y + HALF));
        TMM_NARROW(narrow[0], x);
        TMM_NARROW(narrow[1], y);
        x = (const char *)narrow[0], y = (const char *)narrow[1];
    }
    two_rows w;
    HN_UNROLL
    for (int half = 0; half < 2; half++) {
        const i32x16 low = h_widen(h_load((const uint16_t *)(const void *)x + half * HALF));
        const i32x16 high = h_widen(h_load((const uint16_t *)(const void *)y + half * HALF));
        w.of[half] = see(s, i_or(low, i_shl(high, 16)));
    }
    return w;
}

/* Rows of k that run along the outer elements: two of them are words of B's row, and the squares of 32 outer elements are made out
 * of whole lines, because rows may be so far apart that lines do not stay. */
HN_INLINE void pack_along_outer(const char *x, int64_t stride, const hn_elem type, int n_outer, int64_t n_k, bool is_a, uint32_t *dst,
                                int64_t half, seen *s)
{
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        float rows[2][HALF][HALF];
        for (int p = 0; p < HALF; p++) {
            const int64_t first = k + 2 * p;
            const char *at = x + first * stride;
            __builtin_prefetch(at + IN_BLOCK * stride);
            __builtin_prefetch(at + (IN_BLOCK + 1) * stride);
            const two_rows w = words_of_two(first < n_k ? at : NULL, first + 1 < n_k ? at + stride : NULL, type, n_outer, s);
            f_store(rows[0][p], i_float(w.of[0]));
            f_store(rows[1][p], i_float(w.of[1]));
        }
        put_words(rows[0], is_a, dst);
        if (n_outer > HALF)
            put_words(rows[1], is_a, dst + half);
    }
}

/* An element of each of a panel's sixteen rows; of elements from x on so many are in fours (words_of_panel). */
HN_INLINE void element_of_rows(const uint16_t *x, int64_t element, int64_t in_fours, uint16_t to[HALF])
{
    if (element >= in_fours) {
        memcpy(to, x + 16 * element, HALF * sizeof *to);
        return;
    }
    const uint16_t *at = x + 16 * (element - element % 4) + 32 * (element % 2) + (element % 4 < 2);
    for (int row = 0; row < HALF; row++)
        to[row] = at[2 * row];
}

/* Sixteen rows of k a panel, `panel` halves from one to the next, behind the last of which are zeros: an outer element of all of
 * them is half of a row of A. */
static void pack_along_panels(const uint16_t *x, int64_t panel, int64_t in_fours, int n_outer, int64_t n_k, bool is_a, uint32_t *dst,
                              seen *s)
{
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        float rows[HALF][HALF] = { { 0 } };
        for (int i = 0; i < n_outer; i++) {
            uint16_t both[2][HALF] = { { 0 } };
            int32_t words[HALF];
            element_of_rows(x + k / HALF * panel, i, in_fours, both[0]);
            if (n_k - k > HALF)
                element_of_rows(x + (k / HALF + 1) * panel, i, in_fours, both[1]);
            memcpy(words, both, sizeof words);
            f_store(rows[i], i_float(see(s, i_load(words))));
        }
        put_words(rows, !is_a, dst);
    }
}

static void join(int64_t n_k, const float *panel, bool is_a, uint32_t *dst, int *lowest)
{
    seen s = nothing_seen();
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        float rows[HALF][HALF];
        for (int p = 0; p < HALF; p++) {
            const int64_t first = k + 2 * p;
            const i32x16 low = first < n_k ? f_bits(f_load(panel + 16 * first)) : i_set1(0);
            const i32x16 high = first + 1 < n_k ? f_bits(f_load(panel + 16 * first + 16)) : i_set1(0);
            f_store(rows[p], i_float(see(&s, words_of(low, high))));
        }
        put_words(rows, is_a, dst);
    }
    tell_lowest(&s, lowest);
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
    if (in_lines && is_f32)
        pack_along_outer(at, x->k_stride, HN_ELEM_f32, n_outer, n_k, is_a, dst, half, &s);
    else if (in_lines)
        pack_along_outer(at, x->k_stride, HN_ELEM_bf16, n_outer, n_k, is_a, dst, half, &s);
    for (int o = 0; o < n_outer && !in_lines; o += HALF)
        if (!pack_half(x, outer + o, n_outer - o < HALF ? n_outer - o : HALF, k, n_k, is_a, dst + o / HALF * half, &s))
            return false;
    tell_lowest(&s, lowest);
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
