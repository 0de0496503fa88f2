/* squares_text.h: sixteen rows of x by columns of unpacked words (int8.h), by the registers of base/tmm.h: the instructions, or C
 * where whoever includes this says so. A block is a product of its own, from zero: its whole numbers go through memory to the
 * lanes that scale them, while the unit multiplies the next one. Halves of blocks would be products of their own, which
 * take the unit no less time: tried, and slower than tile.h. */
#ifndef HN_KERNELS_INT8_SQUARES_TEXT_H
#define HN_KERNELS_INT8_SQUARES_TEXT_H

#include "base/tmm.h"
#include "kernels/gemm/transpose.h"
#include "kernels/int8/int8.h"
#include "kernels/simd/f32x16.h"

#include <string.h>

enum {
    SIDE = HN_INT8_SQUARE,
    LANES = 16,
    WORDS = 8 * LANES,
    LINE = LANES * sizeof(int32_t),
    AT_ONCE = 4, /* blocks */
    SOME = 16,   /* blocks whose factors are turned at a time */
};
_Static_assert(SOME % AT_ONCE == 0 && SIDE % AT_ONCE == 0, "blocks that are added together have one turn, and each its rows");
_Static_assert(SOME == LANES, "a row's factors are a register");

/* 0 and 1 are C, 4 rows of x, 6 and 7 words of weights. */
static void open_registers(void)
{
    static const tmm_shapes shapes = { .palette = 1, .row_bytes = { 64, 64, 0, 0, 32, 0, 64, 64 },
                                       .rows = { 16, 16, 0, 0, 16, 0, 8, 8 } };
    TMM_OPEN(&shapes);
}

static void close_registers(void) { TMM_CLOSE(); }

/* Of sixteen rows in some blocks what is the same for all columns: a line a block, so that a row's is a lane. */
typedef struct factors {
    _Alignas(64) float d[SOME][SIDE];
    float less[SOME][SIDE];     /* d times what its Q add up to */
    int32_t offset[SOME][SIDE]; /* what the format's offset made of that */
} factors;

static void turn_lines(const void *from, int64_t stride, int64_t words, f32x16 turned[LANES])
{
    if (words == LANES) {
        transpose16(from, stride, turned);
        return;
    }
    int32_t lines[SIDE][LANES] = { { 0 } };
    for (int row = 0; row < SIDE; row++)
        memcpy(lines[row], (const char *)from + row * stride, (size_t)words * sizeof(int32_t));
    transpose16((const char *)lines, sizeof *lines, turned);
}

static int64_t at_most(int64_t n, int64_t most) { return n < 0 ? 0 : n < most ? n : most; }

static void take_factors(const hn_int8_tile *t, int64_t block, factors *to)
{
    const int64_t left = at_most(t->blocks - block, SOME), line = t->blocks_of_x * (int64_t)sizeof(float);
    const i32x16 offset = i_set1(t->offset);
    f32x16 turned[LANES];
    turn_lines(t->x.d + block, line, left, turned);
    for (int b = 0; b < SOME; b++)
        f_store(to->d[b], turned[b]);
    for (int64_t from = 0; from < left; from += LANES / 2) {
        turn_lines(t->x.sum + 2 * (block + from), 2 * line, at_most(2 * (left - from), LANES), turned);
        for (int b = 0; b < LANES / 2; b++) {
            const i32x16 of_q = i_add(f_bits(turned[2 * b]), f_bits(turned[2 * b + 1]));
            f_store(to->less[from + b], f_mul(f_load(to->d[from + b]), i_to_f(of_q)));
            i_store(to->offset[from + b], i_mul(of_q, offset));
        }
    }
}

/* [block][group][row] */
typedef struct whole_numbers {
    _Alignas(64) int32_t at[AT_ONCE][HN_INT8_GROUPS][SIDE][LANES];
} whole_numbers;

/* A block into 0 and 1, */
HN_INLINE void multiply_block(const hn_int8_tile *t, const hn_int8_kind kind, const int groups, int64_t block)
{
    const int32_t *w = t->w + block * hn_int8_words(kind);
    TMM_LOAD(4, t->x.q + block * HN_INT8_BLOCK, t->blocks_of_x * HN_INT8_BLOCK);
    TMM_LOAD(6, w, LINE);
    TMM_ZERO(0);
    TMM_DOT_BYTES(0, 4, 6);
    if (groups > 1) {
        TMM_LOAD(7, w + t->group_words, LINE);
        TMM_ZERO(1);
        TMM_DOT_BYTES(1, 4, 7);
    }
}

/* and out of them. */
HN_INLINE void put_block(const int groups, whole_numbers *to, int at)
{
    TMM_STORE(0, to->at[at][0][0], LINE);
    if (groups > 1)
        TMM_STORE(1, to->at[at][1][0], LINE);
}

/* The block that was multiplied goes to memory, and the next one is begun: the unit takes long for one, but is not waited for. */
HN_INLINE void step(const hn_int8_tile *t, const hn_int8_kind kind, const int groups, int64_t block, whole_numbers *to, int at)
{
    if (block < t->blocks)
        put_block(groups, to, at);
    if (block + 1 < t->blocks)
        multiply_block(t, kind, groups, block + 1);
}

/* One row of a block: as the definition has it (int8.h), sixteen columns. */
HN_INLINE f32x16 add_row(const hn_int8_kind kind, const f32x16 scale[2], const int32_t *sums, const factors *f, int64_t b, int row,
                         f32x16 acc)
{
    const i32x16 whole = i_sub(i_load(sums), i_set1(f->offset[b][row]));
    acc = f_fma(i_to_f(whole), f_mul(scale[0], f_set1(f->d[b][row])), acc);
    return kind == HN_INT8_less ? f_fma(scale[1], f_set1(f->less[b][row]), acc) : acc;
}

typedef struct sums_of_square {
    _Alignas(64) float at[HN_INT8_GROUPS][SIDE][LANES];
} sums_of_square;

/* Rows [from, end) of `n` blocks from `block` on, whose whole numbers are `sums` from its `at` on. While they are added the unit multiplies
 * the blocks to come, one for each share of the rows: what `next` is, if there are any. */
HN_INLINE void add_blocks(const hn_int8_tile *t, const hn_int8_kind kind, const int groups, const int n, int64_t block,
                          whole_numbers *sums, int at, const factors *f, sums_of_square *y, whole_numbers *next)
{
    f32x16 scale[AT_ONCE][HN_INT8_GROUPS][2];
    HN_UNROLL
    for (int b = 0; b < n; b++)
        HN_UNROLL
        for (int g = 0; g < groups; g++) {
            const int32_t *at_scales = t->w + (block + b) * hn_int8_words(kind) + g * t->group_words + WORDS;
            scale[b][g][0] = i_float(i_load(at_scales));
            if (kind == HN_INT8_less)
                scale[b][g][1] = i_float(i_load(at_scales + LANES));
        }
    for (int row = 0; row < SIDE; row++) {
        const int share = row / (SIDE / n);
        if (next && row % (SIDE / n) == 0)
            step(t, kind, groups, block + n + share, next, share);
        HN_UNROLL
        for (int line = 0; line < n * HN_INT8_BLOCK; line += 64) /* of the rows behind these */
            __builtin_prefetch(t->x.q + ((row + SIDE) * t->blocks_of_x + block) * HN_INT8_BLOCK + line);
        HN_UNROLL
        for (int g = 0; g < groups; g++) {
            f32x16 acc = f_load(y->at[g][row]);
            HN_UNROLL
            for (int b = 0; b < n; b++)
                acc = add_row(kind, scale[b][g], sums->at[at + b][g][row], f, block % SOME + b, row, acc);
            f_store(y->at[g][row], acc);
        }
    }
}

/* C stays here until its blocks are at their end: rows of it in memory are often 4,096 bytes apart, and fall into one set of a cache.
 * `kind` and `groups` are constants at every use. */
HN_INLINE void square_of(const hn_int8_tile *t, const hn_int8_kind kind, const int groups)
{
    enum { n = AT_ONCE };
    whole_numbers sums[2];
    sums_of_square y;
    factors f;
    for (int row = 0; row < SIDE; row++)
        for (int g = 0; g < groups; g++)
            f_store(y.at[g][row], t->accumulate ? f_load(t->y + row * t->ldy + LANES * g) : f_zero());
    multiply_block(t, kind, groups, 0);
    for (int b = 0; b < n; b++)
        step(t, kind, groups, b, &sums[0], b);
    for (int64_t block = 0; block < t->blocks; block += n) {
        whole_numbers *now = &sums[block / n % 2], *next = &sums[(block / n + 1) % 2];
        if (block % SOME == 0)
            take_factors(t, block, &f);
        if (block + n <= t->blocks)
            add_blocks(t, kind, groups, n, block, now, 0, &f, &y, next);
        else
            for (int b = 0; block + b < t->blocks; b++)
                add_blocks(t, kind, groups, 1, block + b, now, b, &f, &y, NULL);
    }
    for (int row = 0; row < SIDE; row++)
        for (int g = 0; g < groups; g++)
            f_store(t->y + row * t->ldy + LANES * g, f_load(y.at[g][row]));
}

#define SQUARE(kind)                                                                           \
    static void square_##kind(const hn_int8_tile *t)                                           \
    {                                                                                          \
        if (t->groups > 1)                                                                     \
            square_of(t, HN_INT8_##kind, 2);                                                   \
        else                                                                                   \
            square_of(t, HN_INT8_##kind, 1);                                                   \
    }
SQUARE(whole)
SQUARE(less)

static const hn_int8_squares squares_of_level = {
    .open = open_registers, .close = close_registers,
    .tile = { [HN_INT8_whole] = square_whole, [HN_INT8_less] = square_less },
};

#endif
