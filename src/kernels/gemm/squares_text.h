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

HN_INLINE i32x16 smaller_halves(i32x16 a, i32x16 b)
{
#if defined(HN_LEVEL_avx512)
    return _mm512_min_epu16(a, b);
#else
    uint16_t x[32], y[32];
    i_store((int32_t *)(void *)x, a);
    i_store((int32_t *)(void *)y, b);
    for (int i = 0; i < 32; i++)
        x[i] = x[i] < y[i] ? x[i] : y[i];
    return i_load((const int32_t *)(const void *)x);
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
    i_store((int32_t *)(void *)half, s->least);
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

/* Rows along k: each is a row of A's register, and a column of B's. `type` and `is_whole`, a block that is all there, are constants. */
HN_INLINE void pack_block(const char *x, int64_t stride, const hn_elem type, const bool is_whole, int n_outer, int64_t left, bool is_a,
                          uint32_t *dst, seen *s)
{
    float turned[HALF][HALF];
    float *rows = is_a ? (float *)(void *)dst : turned[0];
    for (int i = 0; i < n_outer; i++) {
        const char *at = x + i * stride;
        const int64_t n = is_whole ? IN_BLOCK : left;
        __builtin_prefetch(at + 256);
        f_store(rows + i * HALF, i_float(type == HN_ELEM_f32 ? words_of_f32((const float *)(const void *)at, n, s)
                                                             : words_of_bf16(at, n, s)));
    }
    for (int i = n_outer; i < HALF; i++)
        f_store(rows + i * HALF, f_zero());
    if (!is_a)
        put_words(turned, true, dst);
}

static void pack_rows(const char *x, int64_t stride, hn_elem type, int n_outer, int64_t n_k, bool is_a, uint32_t *dst, seen *s)
{
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        const bool is_whole = n_k - k >= IN_BLOCK;
        const char *at = x + k * hn_elem_bytes(type);
        if (type == HN_ELEM_f32 && is_whole)
            pack_block(at, stride, HN_ELEM_f32, true, n_outer, n_k - k, is_a, dst, s);
        else if (is_whole)
            pack_block(at, stride, HN_ELEM_bf16, true, n_outer, n_k - k, is_a, dst, s);
        else if (type == HN_ELEM_f32)
            pack_block(at, stride, HN_ELEM_f32, false, n_outer, n_k - k, is_a, dst, s);
        else
            pack_block(at, stride, HN_ELEM_bf16, false, n_outer, n_k - k, is_a, dst, s);
    }
}

/* A panel [n_k][16] of bf16. */
static void pack_panel(const uint16_t *x, int n_outer, int64_t n_k, bool is_a, uint32_t *dst, seen *s)
{
    const m16 lanes = m_first(n_outer);
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        float rows[HALF][HALF];
        for (int p = 0; p < HALF; p++) {
            const int64_t first = k + 2 * p;
            const i32x16 low = first < n_k ? h_widen(h_load(x + 16 * first)) : i_set1(0);
            const i32x16 high = first + 1 < n_k ? h_widen(h_load(x + 16 * first + 16)) : i_set1(0);
            const i32x16 words = i_select(lanes, i_or(low, i_shl(high, 16)), i_set1(0));
            f_store(rows[p], i_float(see(s, words)));
        }
        put_words(rows, is_a, dst);
    }
}

/* Up to sixteen of a row of bf16, */
HN_INLINE i32x16 some_of(const char *row, int n)
{
    uint16_t all[HALF] = { 0 };
    if (n == HALF)
        return h_widen(h_load((const uint16_t *)(const void *)row));
    memcpy(all, row, (size_t)n * sizeof *all);
    return h_widen(h_load(all));
}

HN_INLINE f32x16 some_floats(const char *row, int n)
{
    const float *x = (const float *)(const void *)row;
    return n == HALF ? f_load(x) : f_load_n(x, n);
}

/* and of two rows, as words: the low half is of the first one. */
HN_INLINE i32x16 words_of_two(const char *first, const char *second, const hn_elem type, int n, seen *s)
{
    i32x16 low = i_set1(0), high = low;
    if (type == HN_ELEM_bf16) {
        low = first ? some_of(first, n) : low;
        high = second ? some_of(second, n) : high;
    } else {
        const f32x16 x = first ? some_floats(first, n) : f_zero(), y = second ? some_floats(second, n) : f_zero();
        float both[2 * HALF];
        uint16_t halves[2 * HALF];
        f_store(both, x);
        f_store(both + HALF, y);
        see_subnormal(s, x);
        see_subnormal(s, y);
        TMM_NARROW(halves, both);
        low = h_widen(h_load(halves));
        high = h_widen(h_load(halves + HALF));
    }
    return see(s, i_or(low, i_shl(high, 16)));
}

/* Rows of k that run along the outer elements: two of them are words of B's row. */
HN_INLINE void pack_along_outer(const char *x, int64_t stride, const hn_elem type, int n_outer, int64_t n_k, bool is_a, uint32_t *dst,
                                seen *s)
{
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        float rows[HALF][HALF];
        for (int p = 0; p < HALF; p++) {
            const int64_t first = k + 2 * p;
            const char *at = x + first * stride;
            __builtin_prefetch(at + IN_BLOCK * stride);
            __builtin_prefetch(at + (IN_BLOCK + 1) * stride);
            f_store(rows[p], i_float(words_of_two(first < n_k ? at : NULL, first + 1 < n_k ? at + stride : NULL, type, n_outer, s)));
        }
        put_words(rows, is_a, dst);
    }
}

/* Sixteen rows of k a panel, `stride` bytes from one to the next, whose elements of an outer one lie together: eight words of A's row. */
static void pack_along_panels(const char *x, int64_t stride, int n_outer, int64_t n_k, bool is_a, uint32_t *dst, seen *s)
{
    for (int64_t k = 0; k < n_k; k += IN_BLOCK, dst += WORDS) {
        float rows[HALF][HALF] = { { 0 } };
        const int64_t left = n_k - k < IN_BLOCK ? n_k - k : IN_BLOCK;
        for (int i = 0; i < n_outer; i++) {
            int32_t words[HALF] = { 0 };
            const char *at = x + k / HALF * stride + i * HALF * (int64_t)sizeof(uint16_t);
            memcpy(words, at, (size_t)(left < HALF ? left : HALF) * sizeof(uint16_t));
            if (left > HALF)
                memcpy(words + HALF / 2, at + stride, (size_t)(left - HALF) * sizeof(uint16_t));
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

static bool pack_squares(const hn_gemm_operand *x, int64_t outer, int n_outer, int64_t k, int64_t n_k, bool is_a, uint32_t *dst,
                         int *lowest)
{
    const bool is_bf16 = x->type == HN_ELEM_bf16, has_words = is_bf16 || x->type == HN_ELEM_f32;
    const char *at = (const char *)x->data + outer * x->outer_stride + k * x->k_stride; /* of rows */
    const uint16_t *panels = x->data;
    const int64_t panel = HALF * x->row_elems;
    seen s = nothing_seen();
    if (x->pairs)
        return false;
    if (x->is_panel16 && !x->rows_are_k && is_bf16 && outer % HALF == 0)
        pack_panel(panels + outer / HALF * panel + HALF * k, n_outer, n_k, is_a, dst, &s);
    else if (x->is_panel16 && x->rows_are_k && is_bf16 && k % HALF == 0)
        pack_along_panels((const char *)(panels + k / HALF * panel + HALF * outer), panel * (int64_t)sizeof *panels, n_outer, n_k,
                          is_a, dst, &s);
    else if (!x->is_panel16 && has_words && x->k_stride == hn_elem_bytes(x->type))
        pack_rows(at, x->outer_stride, x->type, n_outer, n_k, is_a, dst, &s);
    else if (!x->is_panel16 && is_bf16 && x->outer_stride == hn_elem_bytes(x->type))
        pack_along_outer(at, x->k_stride, HN_ELEM_bf16, n_outer, n_k, is_a, dst, &s);
    else if (!x->is_panel16 && has_words && x->outer_stride == hn_elem_bytes(x->type))
        pack_along_outer(at, x->k_stride, HN_ELEM_f32, n_outer, n_k, is_a, dst, &s);
    else
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
HN_INLINE void multiply_of(const bool is_tall, const bool is_wide, int64_t blocks, const uint32_t *a, const uint32_t *b,
                           bool goes_on, float *c, const uint32_t *next)
{
    enum { ROW = HALF * sizeof(uint32_t) };
    const int64_t other = blocks * WORDS;
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
    const float *next_c = c + HN_SQUARE * HN_SQUARE; /* which lies behind this one */
    for (int64_t left = blocks; left > 0; left--, a += WORDS, b += WORDS, next += 2 * WORDS, next_c += HN_SQUARE * 4) {
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
        for (int line = 0; line < 2 * WORDS; line += HALF)
            __builtin_prefetch(next + line);
        for (int line = 0; line < HN_SQUARE * 4; line += HALF)
            __builtin_prefetch(next_c + line, 1);
    }
    EACH_OF_C(TO_C)
#undef EACH_OF_C
#undef FROM_ZERO
#undef FROM_C
#undef TO_C
}

static void multiply_square(int64_t blocks, const uint32_t *a, const uint32_t *b, int rows, int cols, bool goes_on, float *c,
                            const uint32_t *next)
{
    if (rows > HALF && cols > HALF)
        multiply_of(true, true, blocks, a, b, goes_on, c, next);
    else if (rows > HALF)
        multiply_of(true, false, blocks, a, b, goes_on, c, next);
    else if (cols > HALF)
        multiply_of(false, true, blocks, a, b, goes_on, c, next);
    else
        multiply_of(false, false, blocks, a, b, goes_on, c, next);
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
            for (int i = 0; i < n; i++)
                memcpy(&x[i], from + i * col_stride, sizeof *x);
            const f32x16 v = f_load(x), magnitude = f_abs(v);
            small = m_or(small, m_and(f_lt(magnitude, f_set1(0x1p-103f)), m_not(f_eq(v, f_zero()))));
            memcpy(square + (row_in(square, row, half) - square), x, sizeof x);
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
