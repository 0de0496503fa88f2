/* row.h: sums over a row, in the one order that NUMERICS promises.
 *
 * Sixteen f32 lanes, lane l takes elements l, l + 16, ...; then 16 -> 8 -> 4 -> 2 -> 1. A row
 * of more than 4,096 elements is cut in blocks of 4,096 from its start, whose sums are added in
 * ascending order in double. A lane past the end adds +0, which changes no bit because a chain
 * that starts at +0 is never -0. */
#ifndef HN_KERNELS_SIMD_ROW_H
#define HN_KERNELS_SIMD_ROW_H

#include "kernels/simd/f32x16.h"

enum { ROW_BLOCK = 4096 };

/* Asks the second-level cache for the line of p[i], which may be past the end of everything. A
 * pass that only reads asks for what the next one writes, one that writes for the row to come:
 * else memory waits while a row that is already here is computed. The first level has no room.
 */
HN_INLINE void row_fetch(const float *p, int64_t i)
{
    __builtin_prefetch((const void *)((uintptr_t)p + sizeof *p * (uintptr_t)i), 0, 2);
}

/* What two passes over a row ask for, the first of which sums and the second writes y: y, then the row to
 * come; if y goes past the caches, one half of that row each. */
typedef struct row_ahead {
    int shift;
    int64_t next, rest;
} row_ahead;

HN_INLINE row_ahead row_ahead_of(int64_t n, bool streams)
{
    return streams ? (row_ahead){ 1, n, n + n / 2 } : (row_ahead){ 0, n, n };
}

HN_INLINE void row_fetch_first(row_ahead a, const float *x, const float *y, int64_t i)
{
    row_fetch(a.shift ? x + a.next : y, i >> a.shift);
}

HN_INLINE void row_fetch_rest(row_ahead a, const float *x, int64_t i)
{
    row_fetch(x, a.rest + (i >> a.shift));
}

/* Sums into `total` (a double lvalue) over i < n. `step` is an expression for the new value of
 * the f32x16 `acc`; it loads with ROW_LOAD(p), which means elements i .. i + 15 of p, zero past
 * n. */
#define ROW_LOAD(p)             (row_whole ? f_load((p) + i) : f_load_n((p) + i, row_end - i))
#define ROW_SUM(total, n, step) ROW_SUM2(total, row_unused, n, step, acc2)
/* Two sums in one pass; `step2` is the new value of `acc2`. */
#define ROW_SUM2(total, total2, n, step, step2)                                                \
    do {                                                                                       \
        double row_unused = 0;                                                                 \
        (void)row_unused;                                                                      \
        (total) = (total2) = 0;                                                                \
        for (int64_t row_at = 0; row_at < (n); row_at += ROW_BLOCK) {                          \
            const int64_t row_end = row_at + ROW_BLOCK < (n) ? row_at + ROW_BLOCK : (n);       \
            f32x16 acc = f_zero(), acc2 = f_zero();                                            \
            int64_t i = row_at;                                                                \
            for (; i + 16 <= row_end; i += 16) {                                               \
                const bool row_whole = true;                                                   \
                acc = (step);                                                                  \
                acc2 = (step2);                                                                \
            }                                                                                  \
            if (i < row_end) {                                                                 \
                const bool row_whole = false;                                                  \
                acc = (step);                                                                  \
                acc2 = (step2);                                                                \
            }                                                                                  \
            (total) += (double)f_sum(acc);                                                     \
            (total2) += (double)f_sum(acc2);                                                   \
        }                                                                                      \
    } while (0)

/* y[i] = expr for i < n, in the same words. */
#define ROW_MAP(y, n, expr)                                                                    \
    do {                                                                                       \
        const int64_t row_end = (n);                                                           \
        int64_t i = 0;                                                                         \
        for (; i + 16 <= row_end; i += 16) {                                                   \
            const bool row_whole = true;                                                       \
            f_store((y) + i, (expr));                                                          \
        }                                                                                      \
        if (i < row_end) {                                                                     \
            const bool row_whole = false;                                                      \
            f_store_n((y) + i, (expr), row_end - i);                                           \
        }                                                                                      \
    } while (0)

/* The same; `streams`: y is of lines that nobody will read soon, whole and aligned ones. */
#define ROW_MAP_OUT(y, n, streams, expr)                                                       \
    do {                                                                                       \
        if (streams) {                                                                         \
            const bool row_whole = true;                                                       \
            const int64_t row_end = (n);                                                       \
            for (int64_t i = 0; i < row_end; i += 16)                                          \
                f_stream((y) + i, (expr));                                                     \
        } else {                                                                               \
            ROW_MAP(y, n, expr);                                                               \
        }                                                                                      \
    } while (0)

#endif
