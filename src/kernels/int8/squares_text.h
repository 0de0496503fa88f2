/* squares_text.h: sixteen rows of x by columns of unpacked words (int8.h), by the registers of base/tmm.h: the instructions, or C
 * where whoever includes this says so. A block is a product of its own, from zero. Its whole numbers go through memory to the lanes
 * that scale them and hold the sums, sixteen columns at a time:
 *
 *     block     b - 1      b              b + 1         b + 2        b + 3
 *               added      being added    in memory     put there    being multiplied
 *
 * The unit and the lanes of a processor share a port: while it multiplies they wait, sixteen cycles a block beside the 24 that
 * adding one takes at least. Halves of blocks would be products of their own, which take the unit no less time: slower than tile.h. */
#ifndef HN_KERNELS_INT8_SQUARES_TEXT_H
#define HN_KERNELS_INT8_SQUARES_TEXT_H

#include "base/tmm.h"
#include "kernels/int8/int8.h"
#include "kernels/simd/bytes.h"

enum {
    SIDE = HN_INT8_SQUARE,
    LANES = 16,
    WORDS = 8 * LANES,
    LINE = LANES * sizeof(int32_t),
    RING = 4, /* blocks in memory */
};

/* 0 and 1 are C, 2 and 3 rows of x, 4 and 5 words of weights: of even and odd blocks. */
static void open_registers(void)
{
    static const tmm_shapes shapes = { .palette = 1, .row_bytes = { 64, 64, 32, 32, 64, 64 }, .rows = { 16, 16, 16, 16, 8, 8 } };
    TMM_OPEN(&shapes);
}

static void close_registers(void) { TMM_CLOSE(); }

static void take_offset(hn_int8_kind kind, int64_t blocks, int offset, int32_t *words)
{
    for (int64_t b = 0; offset && b < blocks; b++, words += hn_int8_words(kind))
        for (int i = 0; i < WORDS; i += LANES)
            i_store(words + i, signed_bytes(i_load(words + i), offset));
}

/* A square's blocks: sixteen rows, and a group of columns. */
typedef struct square {
    hn_int8_rows x;
    const int32_t *w;
    int64_t blocks;
    _Alignas(64) int32_t ring[RING][SIDE][LANES];
} square;

/* `place` is `block` mod RING, a constant at every use. */
HN_INLINE void multiply(const square *s, const hn_int8_kind kind, int64_t block, const int place)
{
    const int8_t *q = s->x.q + block * HN_INT8_BLOCK;
    const int32_t *w = s->w + block * hn_int8_words(kind);
    const int64_t stride = s->x.stride * HN_INT8_BLOCK;
    if (block >= s->blocks)
        return;
    if (place % 2) {
        TMM_LOAD(3, q, stride);
        TMM_LOAD(5, w, LINE);
        TMM_ZERO(1);
        TMM_DOT_BYTES(1, 3, 5);
    } else {
        TMM_LOAD(2, q, stride);
        TMM_LOAD(4, w, LINE);
        TMM_ZERO(0);
        TMM_DOT_BYTES(0, 2, 4);
    }
}

HN_INLINE void put(square *s, int64_t block, const int place)
{
    if (block >= s->blocks)
        return;
    if (place % 2)
        TMM_STORE(1, s->ring[place][0], LINE);
    else
        TMM_STORE(0, s->ring[place][0], LINE);
}

/* By the definition (int8.h). */
HN_INLINE void add(const square *s, const hn_int8_kind kind, int64_t block, const int place, f32x16 acc[SIDE])
{
    const int32_t *scales = s->w + block * hn_int8_words(kind) + WORDS;
    const f32x16 scale = i_float(i_load(scales)), minimum = kind == HN_INT8_less ? i_float(i_load(scales + LANES)) : scale;
    HN_UNROLL
    for (int row = 0; row < SIDE; row++) {
        const int64_t at = row * s->x.stride + block;
        acc[row] = f_fma(i_to_f(i_load(s->ring[place][row])), f_mul(scale, f_set1(s->x.d[at])), acc[row]);
        if (kind == HN_INT8_less)
            acc[row] = f_fma(minimum, f_set1(s->x.less[at]), acc[row]);
    }
}

/* `kind` is a constant at every use, so that sums are registers. y is asked for ahead: it is written past what the caches hold. */
HN_INLINE void square_of(square *s, const hn_int8_kind kind, float *y, int64_t ldy, bool accumulate)
{
    f32x16 acc[SIDE];
    HN_UNROLL
    for (int row = 0; row < SIDE; row++) {
        __builtin_prefetch(y + row * ldy, 1);
        acc[row] = accumulate ? f_load(y + row * ldy) : f_zero();
    }
    multiply(s, kind, 0, 0);
    multiply(s, kind, 1, 1);
    put(s, 0, 0);
    multiply(s, kind, 2, 2);
    put(s, 1, 1);
    for (int64_t from = 0; from < s->blocks; from += RING)
        HN_UNROLL
        for (int i = 0; i < RING; i++) {
            if (from + i == s->blocks)
                break;
            multiply(s, kind, from + i + 3, (i + 3) % RING);
            put(s, from + i + 2, (i + 2) % RING);
            add(s, kind, from + i, i, acc);
        }
    HN_UNROLL
    for (int row = 0; row < SIDE; row++)
        f_store(y + row * ldy, acc[row]);
}

#define SQUARE(kind)                                                                           \
    static void square_##kind(const hn_int8_tile *t)                                           \
    {                                                                                          \
        square s;                                                                              \
        s.x = t->x;                                                                            \
        s.blocks = t->blocks;                                                                  \
        for (int g = 0; g < t->groups; g++) {                                                  \
            s.w = t->w + g * t->group_words;                                                   \
            square_of(&s, HN_INT8_##kind, t->y + g * LANES, t->ldy, t->accumulate);            \
        }                                                                                      \
    }
SQUARE(whole)
SQUARE(less)

static const hn_int8_squares squares_of_level = {
    .open = open_registers, .close = close_registers, .take_offset = take_offset,
    .tile = { [HN_INT8_whole] = square_whole, [HN_INT8_less] = square_less },
};

#endif
