/* int8.h: y[rows,n] = x[rows,k] * w[n,k]^T in whole numbers, for weights in block formats.
 *
 * x is cut into blocks of 32 along k. Of each: m = max|x|, d = m / 127, Q = x (127 / m) to the nearest even, within
 * +-127; where d is not a normal number d = 0 and every Q = 0; where an x is not finite d is a NaN. Then, block after
 * block in ascending order, acc from +0, each step rounded once:
 *
 *     whole          s = ws d            acc = fma(I, s, acc)       I = sum of q Q
 *     less           the same, then      acc = fma(-wm, d M, acc)   M = sum of Q
 *     halves         as whole            I = sc0 S0 + sc1 S1        S of sixteen elements each
 *     halves, less   as less             M = m0 sum of Q0 + m1 sum of Q1
 *     steps          as whole, twice a block: sixteen elements each with a scale ws of their own
 *
 * q, ws, wm, sc and m are the format's (unpack.h, kernels/formats). I and M are exact, and below 2^24: so whatever makes them gives the
 * same bits, and the order of the chain is all there is to hold.
 *
 * Weights are unpacked from panels of sixteen rows (decode.h), some blocks at a time, into words that all formats share;
 * one tile a kind multiplies them. A block there, of `words` words for each of sixteen lanes:
 *
 *     | 8 x 16 words: four q + offset of a row each, as bytes without a sign | its scales: 1 to 6 x 16 | */
#ifndef HN_KERNELS_INT8_INT8_H
#define HN_KERNELS_INT8_INT8_H

#include "kernels/decode/decode.h"
#include "kernels/simd/ahead.h"

#include <stdbool.h>

/* clang-format off */
typedef enum hn_int8_kind { /* as types.def calls them */
    HN_INT8_none, HN_INT8_whole, HN_INT8_less, HN_INT8_halves, HN_INT8_halves_less, HN_INT8_steps,
    HN_INT8_KINDS
} hn_int8_kind;
/* clang-format on */

enum {
    HN_INT8_BLOCK = 32,
    HN_INT8_GROUPS = 2,  /* of sixteen columns that a tile takes at a time */
    HN_INT8_COLUMNS = 16 * HN_INT8_GROUPS, /* of a unit */
    HN_INT8_DEEP = 8,    /* blocks that are unpacked at a time for few rows, */
    HN_INT8_DEEPER = 64, /* and for many rows */
    HN_INT8_WALKING = 64, /* the most rows by which panels are walked at any level, */
    HN_INT8_WALKING_ROWS = 16, /* and plain rows: by more, to turn them once for a tile is the better */
    HN_INT8_ASKING = 64, /* rows up to which tiles ask for the next ones */
    HN_INT8_MOST_WORDS = 16 * (8 + 6),
    HN_INT8_SQUARE = 16, /* rows that a matrix unit takes at a time, */
    HN_INT8_SQUARE_DEEP = 32, /* and blocks, which stay in the first cache */
};

/* What is added to q so that it has no sign; and the most that it can be then. */
typedef struct hn_int8_format {
    hn_int8_kind kind;
    int offset, most;
} hn_int8_format;
extern const hn_int8_format hn_int8_formats[HN_N_ELEMS];

/* Words of an unpacked block of sixteen rows. */
static inline int64_t hn_int8_words(hn_int8_kind kind)
{
    static const int scales[HN_INT8_KINDS] = { 0, 1, 2, 3, 6, 2 };
    return 16 * (8 + scales[kind]);
}

/* Rows in blocks: of each block 32 Q, d, d times what its Q add up to, and what its halves of sixteen add up to. */
typedef struct hn_int8_rows {
    int8_t *q;
    float *d, *less;
    int32_t *sum;
    int64_t stride; /* blocks from a row to the next */
} hn_int8_rows;

/* Rows whose lengths are a multiple of 1,024 would fall into few sets of a cache: they lie a line further apart. */
static inline int64_t hn_int8_stride(int64_t k)
{
    const int64_t blocks = k / HN_INT8_BLOCK;
    return blocks % 32 ? blocks : blocks + 2;
}

static inline size_t hn_int8_row_bytes(int64_t k)
{
    return (size_t)hn_int8_stride(k) * (HN_INT8_BLOCK + 2 * sizeof(float) + 2 * sizeof(int32_t));
}

/* Rows of blocks in memory of hn_int8_row_bytes(k) each, aligned as a line is where it can be. */
static inline hn_int8_rows hn_int8_rows_in(void *memory, int64_t rows, int64_t k)
{
    hn_int8_rows x = { .q = memory, .stride = hn_int8_stride(k) };
    const int64_t blocks = rows * x.stride;
    x.d = (float *)(void *)(x.q + blocks * HN_INT8_BLOCK);
    x.less = x.d + blocks;
    x.sum = (int32_t *)(void *)(x.less + blocks);
    return x;
}

static inline hn_int8_rows hn_int8_rows_from(const hn_int8_rows *x, int64_t row, int64_t block)
{
    const int64_t at = row * x->stride + block;
    return (hn_int8_rows){ x->q + at * HN_INT8_BLOCK, x->d + at, x->less + at, x->sum + 2 * at, x->stride };
}

/* Some rows, some blocks of them, some columns. */
typedef struct hn_int8_tile {
    int rows, groups; /* groups of sixteen columns: 1 to HN_INT8_GROUPS, of a walk any number */
    int64_t blocks;
    hn_int8_rows x; /* from the first row's first block on */
    const int32_t *w;
    int64_t group_words; /* from a group's words to the next's */
    int offset, most;
    float *y;
    int64_t ldy;
    bool accumulate, near;
    hn_ahead *ahead; /* what is asked for, once a block; NULL: nothing */
} hn_int8_tile;

typedef void hn_int8_tile_fn(const hn_int8_tile *t);
/* Tiles of HN_INT8_SQUARE rows by a matrix unit, between open and close of the thread that runs them, of words whose offset was
 * taken from them. */
typedef struct hn_int8_squares {
    void (*open)(void);
    void (*close)(void);
    void (*take_offset)(hn_int8_kind kind, int64_t blocks, int offset, int32_t *words);
    hn_int8_tile_fn *tile[HN_INT8_KINDS]; /* NULL: hn_int8_kernels' own is faster */
} hn_int8_squares;
/* One row by sixteen plain rows (along.h), and what it works in. */
enum { HN_INT8_ALONG = 128 }; /* blocks at a time */
typedef struct hn_int8_room {
    float plane[4][16][HN_INT8_ALONG + 16]; /* rows are a line further apart than blocks are many, or all were in one set of a cache */
    float d[HN_INT8_ALONG];
    int32_t of_q[2][HN_INT8_ALONG];
    int8_t tail_q[16 * HN_INT8_BLOCK];
    uint8_t tail[16 * 40]; /* no format has more bytes a block */
} hn_int8_room;
typedef struct hn_int8_along {
    const uint8_t *row[16];
    int64_t blocks;
    hn_int8_rows x;
    hn_int8_room *room;
    bool near;
    float *y; /* sixteen */
} hn_int8_along;
typedef void hn_int8_along_fn(const hn_int8_along *t);
/* Few rows by panels `stride` bytes apart, group after group, each block multiplied as it is unpacked: `w` is not looked at. */
typedef void hn_int8_walk_fn(const hn_int8_tile *t, const uint8_t *panels, int64_t stride);
/* More than one row by sixteen plain rows, as unpack_rows reads them. */
typedef void hn_int8_walk_rows_fn(const hn_int8_tile *t, const char *rows, int64_t stride, const char *ahead);
typedef struct hn_int8_kernels {
    /* One row of k elements into the first one of `to`. */
    void (*quantise)(int64_t k, const float *x, const hn_int8_rows *to);
    /* Blocks of 32 from a panel of sixteen rows: `first` counts them from where `panel` begins. Asks for what is ahead, once a
     * block; NULL: for what lies a little behind them. */
    void (*unpack[HN_N_ELEMS])(int64_t first, int64_t blocks, const uint8_t *panel, hn_ahead *ahead, int32_t *to);
    /* The same from sixteen plain rows, `stride` bytes apart, where these blocks begin; whole blocks of the format. Up to fifteen
     * bytes of each row are read behind them, and as many bytes as all rows have are asked for from `ahead` on. */
    void (*unpack_rows[HN_N_ELEMS])(int64_t blocks, const char *rows, int64_t stride, const char *ahead, int32_t *to);
    hn_int8_tile_fn *tile[HN_INT8_KINDS];
    hn_int8_walk_fn *walk[HN_N_ELEMS];
    hn_int8_walk_rows_fn *walk_rows[HN_N_ELEMS];
    hn_int8_along_fn *along[HN_N_ELEMS];
    int rows;  /* the most that a tile takes, */
    int walks; /* and a walk; */
    int few, again; /* which walks by so few, so often, rather than by more, where blocks are of 32 */
    bool near; /* memory is asked into the first-level cache, not into the second (isa.h) */
    const hn_int8_squares *squares; /* many rows; NULL: there is no matrix unit */
    const hn_decode_kernels *decode; /* turns plain rows */
} hn_int8_kernels;

/* ---- products ---- */

typedef struct hn_int8_args {
    int64_t rows, n, k;
    hn_int8_rows x;
    hn_elem type;
    const void *w; /* panels, or rows `stride` bytes apart */
    bool is_panel16;
    int64_t stride, pairs; /* rows.h: of rows that are not in panels */
    float *y;              /* [rows][n] */
} hn_int8_args;

size_t hn_int8_scratch_bytes(void);
/* Units of a product. */
int64_t hn_int8_units(const hn_int8_args *a);
void hn_int8_run(const hn_int8_kernels *k, const hn_int8_args *a, int64_t first, int64_t end, void *scratch);

#endif
