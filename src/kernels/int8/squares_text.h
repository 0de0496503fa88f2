/* squares_text.h: sixteen rows of x by columns of unpacked words (int8.h), by the registers of base/tmm.h: the instructions, or C
 * where whoever includes this says so. A block is a product of its own, from zero: its whole numbers go through memory to the
 * lanes that scale them, while the unit multiplies the next one. */
#ifndef HN_KERNELS_INT8_SQUARES_TEXT_H
#define HN_KERNELS_INT8_SQUARES_TEXT_H

#include "base/tmm.h"
#include "kernels/int8/int8.h"
#include "kernels/simd/f32x16.h"

enum { SIDE = HN_INT8_SQUARE, LANES = 16, WORDS = 8 * LANES, LINE = LANES * sizeof(int32_t) };

/* 0 to 3 are C, 4 and 5 rows of x, 6 and 7 words of weights: of a block, or each of half a block. */
static const tmm_shapes of_blocks = { .palette = 1, .row_bytes = { 64, 64, 0, 0, 32, 0, 64, 64 },
                                      .rows = { 16, 16, 0, 0, 16, 0, 8, 8 } };
static const tmm_shapes of_halves = { .palette = 1, .row_bytes = { 64, 64, 64, 64, 16, 16, 64, 64 },
                                      .rows = { 16, 16, 16, 16, 16, 16, 4, 4 } };

static bool has_halves(hn_int8_kind kind) { return kind != HN_INT8_whole && kind != HN_INT8_less; }

static void open_registers(hn_int8_kind kind)
{
    if (has_halves(kind)) {
        TMM_OPEN(&of_halves);
    } else {
        TMM_OPEN(&of_blocks);
    }
}

static void close_registers(void) { TMM_CLOSE(); }

/* [group][half][row]; whole blocks have the first half alone. */
typedef struct whole_numbers {
    _Alignas(64) int32_t at[HN_INT8_GROUPS][2][SIDE][LANES];
} whole_numbers;

static void multiply_blocks(const int8_t *q, int64_t stride, const int32_t *w, const int32_t *other, whole_numbers *to)
{
    TMM_LOAD(4, q, stride);
    TMM_LOAD(6, w, LINE);
    TMM_ZERO(0);
    TMM_DOT_BYTES(0, 4, 6);
    if (other) {
        TMM_LOAD(7, other, LINE);
        TMM_ZERO(1);
        TMM_DOT_BYTES(1, 4, 7);
        TMM_STORE(1, to->at[1][0], LINE);
    }
    TMM_STORE(0, to->at[0][0], LINE);
}

static void multiply_halves(const int8_t *q, int64_t stride, const int32_t *w, const int32_t *other, whole_numbers *to)
{
    TMM_LOAD(4, q, stride);
    TMM_LOAD(5, q + 16, stride);
    TMM_LOAD(6, w, LINE);
    TMM_LOAD(7, w + WORDS / 2, LINE);
    TMM_ZERO(0);
    TMM_ZERO(1);
    TMM_DOT_BYTES(0, 4, 6);
    TMM_DOT_BYTES(1, 5, 7);
    if (other) {
        TMM_LOAD(6, other, LINE);
        TMM_LOAD(7, other + WORDS / 2, LINE);
        TMM_ZERO(2);
        TMM_ZERO(3);
        TMM_DOT_BYTES(2, 4, 6);
        TMM_DOT_BYTES(3, 5, 7);
        TMM_STORE(2, to->at[1][0], LINE);
        TMM_STORE(3, to->at[1][1], LINE);
    }
    TMM_STORE(0, to->at[0][0], LINE);
    TMM_STORE(1, to->at[0][1], LINE);
}

HN_INLINE f32x16 scale_of(const int32_t *w, int i) { return i_float(i_load(w + WORDS + LANES * i)); }

/* What `offset` left in a sum of u Q, taken out. */
HN_INLINE i32x16 without(const hn_int8_tile *t, const int32_t sums[SIDE][LANES], int row, int32_t of_q)
{
    return i_sub(i_load(sums[row]), i_set1(t->offset * of_q));
}

/* One row of a block: as the definition has it (int8.h), sixteen columns. */
HN_INLINE f32x16 add_row(const hn_int8_tile *t, const hn_int8_kind kind, const int32_t *w, const int32_t sums[2][SIDE][LANES],
                         int row, int64_t block, f32x16 acc)
{
    const int32_t *of_q = t->x.sum + (row * t->blocks_of_x + block) * 2;
    const f32x16 d = f_set1(t->x.d[row * t->blocks_of_x + block]);
    if (!has_halves(kind)) {
        const int32_t both = of_q[0] + of_q[1];
        acc = f_fma(i_to_f(without(t, sums[0], row, both)), f_mul(scale_of(w, 0), d), acc);
        return kind == HN_INT8_less ? f_fma(scale_of(w, 1), f_mul(d, i_to_f(i_set1(both))), acc) : acc;
    }
    const i32x16 first = without(t, sums[0], row, of_q[0]), second = without(t, sums[1], row, of_q[1]);
    if (kind == HN_INT8_steps) {
        acc = f_fma(i_to_f(first), f_mul(scale_of(w, 0), d), acc);
        return f_fma(i_to_f(second), f_mul(scale_of(w, 1), d), acc);
    }
    const int at = kind == HN_INT8_halves_less ? 2 : 1;
    const i32x16 whole = i_add(i_mul(f_bits(scale_of(w, at)), first), i_mul(f_bits(scale_of(w, at + 1)), second));
    acc = f_fma(i_to_f(whole), f_mul(scale_of(w, 0), d), acc);
    if (kind != HN_INT8_halves_less)
        return acc;
    const i32x16 less = i_add(i_mul(f_bits(scale_of(w, 4)), i_set1(of_q[0])), i_mul(f_bits(scale_of(w, 5)), i_set1(of_q[1])));
    return f_fma(scale_of(w, 1), f_mul(d, i_to_f(less)), acc);
}

HN_INLINE void add_block(const hn_int8_tile *t, const hn_int8_kind kind, int64_t block, const whole_numbers *sums)
{
    const int32_t *w = t->w + block * hn_int8_words(kind);
    for (int g = 0; g < t->groups; g++, w += t->group_words)
        for (int row = 0; row < SIDE; row++) {
            float *y = t->y + row * t->ldy + LANES * g;
            const f32x16 acc = block || t->accumulate ? f_load(y) : f_zero();
            f_store(y, add_row(t, kind, w, sums->at[g], row, block, acc));
        }
}

/* Sixteen rows; `kind` is a constant at every use. */
HN_INLINE void square_of(const hn_int8_tile *t, const hn_int8_kind kind)
{
    const int64_t words = hn_int8_words(kind), stride = t->blocks_of_x * HN_INT8_BLOCK;
    whole_numbers sums[2];
    for (int64_t block = 0; block <= t->blocks; block++) {
        const int32_t *w = t->w + block * words, *other = t->groups > 1 ? w + t->group_words : NULL;
        const int8_t *q = t->x.q + block * HN_INT8_BLOCK;
        if (block < t->blocks && has_halves(kind))
            multiply_halves(q, stride, w, other, &sums[block % 2]);
        else if (block < t->blocks)
            multiply_blocks(q, stride, w, other, &sums[block % 2]);
        if (block)
            add_block(t, kind, block - 1, &sums[(block - 1) % 2]);
    }
}

static void square_whole(const hn_int8_tile *t) { square_of(t, HN_INT8_whole); }
static void square_less(const hn_int8_tile *t) { square_of(t, HN_INT8_less); }
static void square_halves(const hn_int8_tile *t) { square_of(t, HN_INT8_halves); }
static void square_halves_less(const hn_int8_tile *t) { square_of(t, HN_INT8_halves_less); }
static void square_steps(const hn_int8_tile *t) { square_of(t, HN_INT8_steps); }

static const hn_int8_squares squares_of_level = {
    .open = open_registers, .close = close_registers,
    .tile = { [HN_INT8_whole] = square_whole, [HN_INT8_less] = square_less, [HN_INT8_halves] = square_halves,
              [HN_INT8_halves_less] = square_halves_less, [HN_INT8_steps] = square_steps },
};

#endif
