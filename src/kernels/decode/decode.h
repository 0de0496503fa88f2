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
 *
 * Of bf16 four elements of a row are two words, whose high half is the first of two elements, and words are the units: dots
 * (gemm/dots.h) multiply a panel as it lies, and everybody else has sixteen floats by a shift or a mask.
 *
 *                k 0 1 2 3 | k 4 5 6 7 ...  ->  | k 0, k 2 of rows 0..15 | k 1, k 3 of rows 0..15 | k 4, k 6 ...
 *
 * One to three elements behind the last four are units of their own. So a piece of a panel begins at a multiple of four, and ends
 * at one, or with the row. Behind all panels of bf16 lies a byte for each stretch of 512 elements of each panel: the lowest exponent, as
 * it is stored, of what is not zero in it; 0 is of a subnormal, 255 if there is nothing else than zeros. It is what dots must know.
 */
#ifndef HN_KERNELS_DECODE_DECODE_H
#define HN_KERNELS_DECODE_DECODE_H

#include "kernels/kernel.h"

typedef enum hn_elem { /* the types of types.def that have kernels */
#define HN_ELEM(name, elements, bytes, kernels, ...) HN_ELEM_##name,
#include "quant/types.def"
    HN_N_ELEMS
} hn_elem;

static inline int64_t hn_elem_block(hn_elem type) /* elements */
{
    static const int64_t block[] = {
#define HN_ELEM(name, elements, bytes, kernels, ...) elements,
#include "quant/types.def"
    };
    return block[type];
}

static inline int64_t hn_elem_bytes(hn_elem type) /* of a block */
{
    static const int64_t size[] = {
#define HN_ELEM(name, elements, bytes, kernels, ...) bytes,
#include "quant/types.def"
    };
    return size[type];
}

/* Bytes of `n` elements in a row, n a multiple of the block. */
static inline int64_t hn_elem_span(hn_elem type, int64_t n)
{
    return n / hn_elem_block(type) * hn_elem_bytes(type);
}

/* Four bf16 of a row as the two words of a panel. */
static inline void hn_panel16_four(const uint16_t k[4], uint32_t *even, uint32_t *odd)
{
    *even = (uint32_t)k[0] << 16 | k[2];
    *odd = (uint32_t)k[1] << 16 | k[3];
}

/* Where a piece of a row in a panel may begin and end. */
static inline int64_t hn_panel16_step(hn_elem type) { return type == HN_ELEM_bf16 ? 4 : hn_elem_block(type); }

typedef struct hn_decode_kernels {
    /* y[0..n) from whole blocks. */
    void (*row[HN_N_ELEMS])(int64_t n, const void *x, float *y);
    /* y[p * ld + lane] for p in [0,n): a piece of one panel, sixteen rows at once. */
    void (*panel[HN_N_ELEMS])(int64_t n, const void *x, float *y, int64_t ld);
    /* Sixteen plain rows, `stride` bytes apart, as a panel: n elements of each, whole blocks. */
    void (*turn)(hn_elem type, int64_t n, const char *rows, int64_t stride, uint8_t *panel);
} hn_decode_kernels;

/* A block is a run of fields; each field is so many units of one or two bytes, or of four. Of bf16: what is behind the last four. */
typedef struct hn_panel16_field {
    int n, bytes; /* units, bytes of each */
} hn_panel16_field;
extern const hn_panel16_field hn_panel16_fields[HN_N_ELEMS][4];

#if defined(HN_LEVEL) /* for the texts of this level */
extern const hn_decode_kernels HN_KERNEL_NAME(decode_kernels);
#endif

/* Bytes of a panel16 copy: rows rounded up to sixteen, and all of it to 64. */
size_t hn_panel16_bytes(hn_elem type, int64_t rows, int64_t row_elems);

/* The lowest exponents, [panel][stretch]; NULL of other types than bf16. */
enum { HN_PANEL16_STRETCH = 512 };
static inline int64_t hn_panel16_stretches(int64_t row_elems) { return (row_elems + HN_PANEL16_STRETCH - 1) / HN_PANEL16_STRETCH; }
const uint8_t *hn_panel16_lowest(hn_elem type, int64_t rows, int64_t row_elems, const void *panels);

/* Plain to panel16; row_stride in bytes; panels [first, end) of ceil(rows / 16). Rows that lie in
 * `pairs` (gemm/rows.h; 0: they do not) are put in order. */
void hn_panel16_pack(hn_elem type, int64_t rows, int64_t row_elems, const void *plain,
                     int64_t row_stride, int64_t pairs, void *panels, int64_t first, int64_t end);

/* The same of rows of f32 or f16, rounded to bf16: panels of bf16. */
void hn_panel16_round(hn_elem from, int64_t rows, int64_t row_elems, const void *plain,
                      int64_t row_stride, int64_t pairs, void *panels, int64_t first, int64_t end);

/* One row back in the plain layout: for look-ups. Elements [from, from + n), whole blocks; of bf16 any. */
void hn_panel16_row(hn_elem type, int64_t row_elems, const void *panels, int64_t row,
                    int64_t from, int64_t n, void *plain);

#endif
