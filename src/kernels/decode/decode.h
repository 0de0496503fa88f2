/* decode.h: stored weights to f32. Each value is its format's formula with the roundings in
 * written order, so every level and both layouts give the same bits.
 *
 * Layouts of W[rows, row_elems]:
 *   plain    row after row, as files store them;
 *   panel16  sixteen rows interleaved unit by unit (a unit is a byte, or two for halves, or
 *            four: an f32, all of q4_k, the weights of q8_0 and q5_0), so that one load brings the same unit of sixteen rows:
 *
 *                row 0   | u0 u1 u2 ...        panel  | u0 of rows 0..15 | u1 of rows 0..15 |
 * ... row 1   | u0 u1 u2 ...   ->
 *                  ...                         the last panel is filled up with zero bytes
 */
#ifndef HN_KERNELS_DECODE_DECODE_H
#define HN_KERNELS_DECODE_DECODE_H

#include "kernels/kernel.h"

/*  name, elements a block, bytes a block, bytes of a unit (0: mixed, see decode.c) */
#define HN_ELEM_LIST(X)                                                                        \
    X(f32, 1, 4, 4)                                                                            \
    X(f16, 1, 2, 2)                                                                            \
    X(bf16, 1, 2, 2)                                                                           \
    X(q8_0, 32, 34, 0)                                                                         \
    X(q4_0, 32, 18, 0)                                                                         \
    X(q4_k, 256, 144, 0)                                                                       \
    X(q6_k, 256, 210, 0)                                                                       \
    X(q4_1, 32, 20, 0)                                                                         \
    X(q5_0, 32, 22, 0)                                                                         \
    X(q5_1, 32, 24, 0)                                                                         \
    X(q2_k, 256, 84, 0)                                                                        \
    X(q3_k, 256, 110, 0)                                                                       \
    X(q5_k, 256, 176, 0)                                                                       \
    X(iq4_nl, 32, 18, 0)                                                                       \
    X(iq4_xs, 256, 136, 0)                                                                     \
    X(mxfp4, 32, 17, 0)                                                                        \
    X(nvfp4, 64, 36, 0)                                                                        \
    X(tq1_0, 256, 54, 0)                                                                       \
    X(tq2_0, 256, 66, 0)                                                                       \
    X(q1_0, 128, 18, 0)                                                                        \
    X(q2_0, 64, 18, 0)

typedef enum hn_elem {
#define HN_ELEM_ENUM(name, elems, bytes, unit) HN_ELEM_##name,
    HN_ELEM_LIST(HN_ELEM_ENUM)
#undef HN_ELEM_ENUM
        HN_N_ELEMS
} hn_elem;

static inline int64_t hn_elem_block(hn_elem type) /* elements */
{
#define HN_ELEM_CASE(name, elems, bytes, unit) elems,
    static const int64_t block[] = { HN_ELEM_LIST(HN_ELEM_CASE) };
#undef HN_ELEM_CASE
    return block[type];
}

static inline int64_t hn_elem_bytes(hn_elem type) /* of a block */
{
#define HN_ELEM_CASE(name, elems, bytes, unit) bytes,
    static const int64_t size[] = { HN_ELEM_LIST(HN_ELEM_CASE) };
#undef HN_ELEM_CASE
    return size[type];
}

/* Bytes of `n` elements in a row, n a multiple of the block. */
static inline int64_t hn_elem_span(hn_elem type, int64_t n)
{
    return n / hn_elem_block(type) * hn_elem_bytes(type);
}

typedef struct hn_decode_kernels {
    /* y[0..n) from whole blocks. */
    void (*row[HN_N_ELEMS])(int64_t n, const void *x, float *y);
    /* y[p * ld + lane] for p in [0,n): whole blocks of one panel, sixteen rows at once. */
    void (*panel[HN_N_ELEMS])(int64_t n, const void *x, float *y, int64_t ld);
} hn_decode_kernels;

#if defined(HN_LEVEL) /* for the texts of this level */
extern const hn_decode_kernels HN_KERNEL_NAME(decode_kernels);
#endif

/* Bytes of a panel16 copy: rows rounded up to sixteen. */
size_t hn_panel16_bytes(hn_elem type, int64_t rows, int64_t row_elems);

/* Plain to panel16; row_stride in bytes; panels [first, end) of ceil(rows / 16). Rows that lie in
 * `pairs` (gemm/rows.h; 0: they do not) are put in order. */
void hn_panel16_pack(hn_elem type, int64_t rows, int64_t row_elems, const void *plain,
                     int64_t row_stride, int64_t pairs, void *panels, int64_t first, int64_t end);

/* The same of rows of f32 or f16, rounded to bf16: panels of bf16. */
void hn_panel16_round(hn_elem from, int64_t rows, int64_t row_elems, const void *plain,
                      int64_t row_stride, int64_t pairs, void *panels, int64_t first, int64_t end);

/* One row back in the plain layout: for look-ups. Elements [from, from + n), whole blocks. */
void hn_panel16_row(hn_elem type, int64_t row_elems, const void *panels, int64_t row,
                    int64_t from, int64_t n, void *plain);

#endif
