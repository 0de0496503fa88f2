/* tile.h: the small products inside attention, and what forward and backward share.
 *
 * Blocks of up to 64 rows (queries of one kv head) meet tiles of 64 keys; everything between
 * is in [64][64] or [width][64] arrays, so that strides are constants. */
#ifndef HN_KERNELS_ATTN_TILE_H
#define HN_KERNELS_ATTN_TILE_H

#include "kernels/attn/attn.h"
#include "kernels/gemm/transpose.h"
#include "kernels/simd/f32x16.h"

#if defined(HN_LEVEL_avx512)
enum { ATTN_MR = 14, ATTN_NV = 2 };
#elif defined(HN_LEVEL_avx2) || defined(HN_LEVEL_neon)
enum { ATTN_MR = 6, ATTN_NV = 1 };
#else
enum { ATTN_MR = 4, ATTN_NV = 1 };
#endif
enum { TILE = HN_ATTN_TILE, ROWS = HN_ATTN_ROWS };

/* How A lies: A_BY_K a[p * 64 + i], A_BY_ROW a[i * 64 + p]. */
typedef enum a_order { A_BY_K, A_BY_ROW } a_order;

#define UNROLLED _Pragma("GCC unroll 16")

HN_INLINE f32x16 load_upto(const float *p, int64_t left)
{
    return left >= 16 ? f_load(p) : f_load_n(p, left < 0 ? 0 : left);
}

/* acc += a b over k; rows, order and whole are constants. */
HN_INLINE void chains(const int rows, const a_order order, const bool whole, int64_t k,
                      const float *a, const float *b, int64_t ldb, int64_t cols,
                      f32x16 acc[ATTN_MR][ATTN_NV])
{
    for (int64_t p = 0; p < k; p++, b += ldb) {
        f32x16 bv[ATTN_NV];
        UNROLLED for (int v = 0; v < ATTN_NV; v++) bv[v] =
            whole ? f_load(b + 16 * v) : load_upto(b + 16 * v, cols - 16 * v);
        UNROLLED for (int i = 0; i < rows; i++)
        {
            const f32x16 av = f_set1(order == A_BY_K ? a[p * 64 + i] : a[i * 64 + p]);
            UNROLLED for (int v = 0; v < ATTN_NV; v++) acc[i][v] = f_fma(av, bv[v], acc[i][v]);
        }
    }
}

/* c[rows, cols] (=|+=) a[rows, k] * b[k, cols], cols <= 16 * NV. */
HN_INLINE void product_of(const int rows, const a_order order, const bool whole, int64_t k,
                          const float *a, const float *b, int64_t ldb, float *c, int64_t ldc,
                          int64_t cols, bool more)
{
    f32x16 acc[ATTN_MR][ATTN_NV];
    UNROLLED for (int i = 0; i < rows; i++)
    {
        UNROLLED for (int v = 0; v < ATTN_NV; v++) acc[i][v] = f_zero();
    }
    if (more) {
        UNROLLED for (int i = 0; i < rows; i++)
        {
            UNROLLED for (int v = 0; v < ATTN_NV; v++) acc[i][v] =
                whole ? f_load(c + i * ldc + 16 * v)
                      : load_upto(c + i * ldc + 16 * v, cols - 16 * v);
        }
    }
    chains(rows, order, whole, k, a, b, ldb, cols, acc);
    UNROLLED for (int i = 0; i < rows; i++)
    {
        UNROLLED for (int v = 0; v < ATTN_NV; v++)
        {
            const int64_t left = cols - 16 * v;
            if (whole || left >= 16)
                f_store(c + i * ldc + 16 * v, acc[i][v]);
            else if (left > 0)
                f_store_n(c + i * ldc + 16 * v, acc[i][v], left);
        }
    }
}

#define PRODUCT_ROWS(n)                                                                        \
    case n:                                                                                    \
        if (cols == 16 * ATTN_NV)                                                              \
            product_of(n, order, true, k, a, b, ldb, c, ldc, cols, more);                      \
        else                                                                                   \
            product_of(n, order, false, k, a, b, ldb, c, ldc, cols, more);                     \
        break;
#define PRODUCT(name, how)                                                                     \
    static void name##_panel(int rows, int64_t k, const float *a, const float *b, int64_t ldb, \
                             float *c, int64_t ldc, int64_t cols, bool more)                   \
    {                                                                                          \
        const a_order order = how;                                                             \
        switch (rows) {                                                                        \
            PRODUCT_ROWS(1) PRODUCT_ROWS(2) PRODUCT_ROWS(3) PRODUCT_ROWS(4) PRODUCT_MORE       \
        }                                                                                      \
    }                                                                                          \
    /* rows <= MR, any number of columns */                                                    \
    static void name(int rows, int64_t k, const float *a, const float *b, int64_t ldb,         \
                     float *c, int64_t ldc, int64_t cols, bool more)                           \
    {                                                                                          \
        for (int64_t j = 0; j < cols; j += 16 * ATTN_NV)                                       \
            name##_panel(rows, k, a, b + j, ldb, c + j, ldc,                                   \
                         cols - j < 16 * ATTN_NV ? cols - j : 16 * ATTN_NV, more);             \
    }
#if defined(HN_LEVEL_avx512)
#define PRODUCT_MORE                                                                           \
    PRODUCT_ROWS(5)                                                                            \
    PRODUCT_ROWS(6)                                                                            \
    PRODUCT_ROWS(7) PRODUCT_ROWS(8) PRODUCT_ROWS(9) PRODUCT_ROWS(10) PRODUCT_ROWS(11)          \
        PRODUCT_ROWS(12) PRODUCT_ROWS(13) PRODUCT_ROWS(14)
#elif defined(HN_LEVEL_ref)
#define PRODUCT_MORE
#else
#define PRODUCT_MORE PRODUCT_ROWS(5) PRODUCT_ROWS(6)
#endif
PRODUCT(product_by_k, A_BY_K)
PRODUCT(product_by_row, A_BY_ROW)

/* A range of 0..64. */
typedef struct range {
    int from, to; /* empty when from >= to */
} range;

static inline int least_int(int a, int b) { return a < b ? a : b; }

static inline int most_int(int a, int b) { return a > b ? a : b; }

/* Rows [first, end) of c go on over their own ranges of k, each ascending: what all rows of a
 * panel share is done together, what comes before and after row by row. */
HN_INLINE void products_over(const a_order order, const range *over, int first, int end,
                             const float *a, const float *b, int64_t ldb, float *c, int64_t ldc,
                             int64_t cols)
{
    for (int at = first, height; at < end; at += height) {
        const int panels = (end - at + ATTN_MR - 1) / ATTN_MR;
        height = (end - at + panels - 1) / panels;
        int from = 0, to = 64;
        for (int i = at; i < at + height; i++)
            from = most_int(from, over[i].from), to = least_int(to, over[i].to);
        to = most_int(to, from);
#define ONE(i, lo, hi)                                                                         \
    if ((lo) < (hi))                                                                           \
    product_by_row(1, (hi) - (lo), order == A_BY_ROW ? a + (i)*64 + (lo) : row, b + (lo)*ldb,  \
                   ldb, c + (i)*ldc, ldc, cols, true)
        for (int i = at; i < at + height; i++) {
            float row[64];
            const int lo = over[i].from, hi = least_int(over[i].to, from);
            if (order == A_BY_K)
                for (int p = lo; p < hi; p++)
                    row[p - lo] = a[p * 64 + i];
            ONE(i, lo, hi);
        }
        if (from < to && order == A_BY_ROW)
            product_by_row(height, to - from, a + at * 64 + from, b + from * ldb, ldb,
                           c + at * ldc, ldc, cols, true);
        else if (from < to)
            product_by_k(height, to - from, a + from * 64 + at, b + from * ldb, ldb,
                         c + at * ldc, ldc, cols, true);
        for (int i = at; i < at + height; i++) {
            float row[64];
            const int lo = most_int(over[i].from, to), hi = over[i].to;
            if (order == A_BY_K)
                for (int p = lo; p < hi; p++)
                    row[p - lo] = a[p * 64 + i];
            ONE(i, lo, hi);
        }
#undef ONE
    }
}

/* The keys that token t sees: [from, to) in rows of k. */
typedef struct keys {
    int64_t from, to;
} keys;

static inline keys keys_of(const hn_attn_args *x, int64_t token)
{
    const hn_attn_span *s = x->spans + token;
    keys v = { s->first, x->is_causal ? (int64_t)s->self + 1 : s->end };
    if (x->window > 0) {
        const int64_t low = (int64_t)s->self - x->window + 1,
                      high = (int64_t)s->self + x->window;
        v.from = low > v.from ? low : v.from;
        v.to = high < v.to ? high : v.to;
    }
    v.to = v.to > v.from ? v.to : v.from;
    return v;
}

static inline float *row_at(const hn_attn_rows *x, int64_t token, int64_t head)
{
    return (float *)x->data + token * x->token_stride + head * x->head_stride;
}

/* Row `token` of stored k or v, decoded. */
HN_INLINE void decode_row(const hn_attn_rows *x, hn_elem type, int64_t token, int64_t head,
                          int64_t n, float *y)
{
    const int64_t at = token * x->token_stride + head * x->head_stride;
    if (type == HN_ELEM_f32)
        memcpy(y, (const float *)x->data + at, (size_t)n * sizeof *y);
    else
        HN_KERNEL_NAME(decode_kernels).row[type](n, (const char *)x->data + hn_elem_span(type, at), y);
}

/* The tile after this one, asked for while this one is multiplied: its rows are short and lie apart, so that nothing else follows them. */
typedef struct ahead {
    const char *row[2];  /* of k, and of v */
    int64_t stride[2], bytes[2];
    int left, share; /* rows: to ask for, and at a time */
} ahead;

/* So many rows more, line by line. */
static inline void ask(ahead *a, int rows)
{
    for (; rows > 0 && a->left > 0; rows--, a->left--)
        for (int i = 0; i < 2; i++) {
            const char *end = a->row[i] + a->bytes[i];
            for (const char *line = a->row[i] - ((uintptr_t)a->row[i] & 63); line < end; line += 64)
                __builtin_prefetch(line, 0, 3);
            a->row[i] += a->stride[i];
        }
}

/* turned[d][64]: columns [from, to) of a tile that begins at key `base`; `plain` is [64][n] for
 * what must be decoded. Other columns of the groups of sixteen touched become zero. Returns the
 * tile's rows, decoded, with their stride. */
static const float *turn_tile(const hn_attn_rows *x, hn_elem type, int64_t base, range hull,
                              int64_t head, int64_t n, float *turned, float *plain,
                              int64_t *stride, ahead *next)
{
    const float *rows = plain;
    *stride = n;
    if (type == HN_ELEM_f32) {
        rows = row_at(x, base, head);
        *stride = x->token_stride;
    } else {
        for (int i = hull.from; i < hull.to; i++)
            decode_row(x, type, base + i, head, n, plain + i * n);
    }
    if (!turned)
        return rows;
    for (int at = hull.from & ~15; at < hull.to; at += 16) {
        const int lo = most_int(at, hull.from), hi = least_int(at + 16, hull.to);
        if (next)
            ask(next, next->share);
        if (lo > at)
            for (int64_t p = 0; p < n; p++)
                f_store(turned + p * 64 + at, f_zero());
        if (lo == at)
            transpose_rows((const char *)(rows + at * *stride), *stride * 4, hi - at, n,
                           turned + at, 64);
        else
            for (int i = lo; i < hi; i++)
                for (int64_t p = 0; p < n; p++)
                    turned[p * 64 + i] = rows[i * *stride + p];
    }
    return rows;
}

HN_INLINE float lane0(f32x16 x)
{
    float lanes[16];
    f_store(lanes, x);
    return lanes[0];
}

#endif
