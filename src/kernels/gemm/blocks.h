/* blocks.h: products of bf16 in blocks of 32, and the micro-kernel of one level for them.
 *
 * The reduced index is cut into blocks of 32, counted from 0. In a block, E takes the even elements and O the odd ones:
 *
 *     E = O = +0;  p = 0 .. 15:  E = fma(a[2p], b[2p], E),  O = fma(a[2p+1], b[2p+1], O)
 *     C = C + (E + O)
 *
 * all f32, to nearest even, subnormals kept; C goes on from +0 or from what it holds. Both sides are rounded to bf16 first,
 * and zeros fill a last block, but there is no block of zeros alone. It is what a matrix unit's TDPBF16PS does for
 * normal numbers, so that one may be used; with dots (dots.h) a word holds elements 0 and 2 of every four, and the next one 1
 * and 3, which are two steps of E and of O. O follows E, for as many rows as a chain's tile has; side by side, where the registers
 * are enough for both. */
#ifndef HN_KERNELS_GEMM_BLOCKS_H
#define HN_KERNELS_GEMM_BLOCKS_H

#include "kernels/gemm/tile.h"
#include "kernels/gemv/gemv.h"

enum { BLOCK = HN_SUM_BLOCK };
_Static_assert(KC % BLOCK == 0, "every depth begins at a block");

/* What is known of the elements in a row of a panel: one, or the two that a word holds. */
#ifndef HN_GEMM_HELD
#define HN_GEMM_HELD 1
#endif

/* What was computed lies in memory, and what comes next may have the registers. */
#define HN_FORGET_REGISTERS __asm__ volatile("" ::: "memory")

/* Half a block: `steps` rows of either panel, every other one. */
HN_INLINE void half_block(const int rows, const int nv, int steps, const float *a, const float *b, int64_t ldb, int64_t apart,
                          f32x16 acc[MR][NV])
{
    HN_KEEP_ROLLED
    for (int p = 0; p < steps; p++, a += 2 * rows, b += 2 * ldb)
        step_of(rows, nv, a, b, apart, acc);
}

/* The zeros that fill a block: fma(0, 0, -0) is +0. */
HN_INLINE void fill_half(const int rows, const int nv, f32x16 acc[MR][NV])
{
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < nv; v++)
            acc[i][v] = f_add(acc[i][v], f_zero());
}

HN_INLINE void clear_half(const int rows, const int nv, f32x16 acc[MR][NV])
{
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < nv; v++)
            acc[i][v] = f_zero();
}

HN_INLINE void halves_at_once(const int rows, const int nv, int even, int odd, const float *a, const float *b, int64_t ldb,
                              int64_t apart, f32x16 e[MR][NV], f32x16 o[MR][NV])
{
    clear_half(rows, nv, e);
    clear_half(rows, nv, o);
    HN_KEEP_ROLLED
    for (int p = 0; p < odd; p++, a += 2 * rows, b += 2 * ldb) {
        step_of(rows, nv, a, b, apart, e);
        step_of(rows, nv, a + rows, b + ldb, apart, o);
    }
    if (even > odd)
        step_of(rows, nv, a, b, apart, e);
}

HN_INLINE void one_after_the_other(const int rows, const int nv, int even, int odd, const float *a, const float *b, int64_t ldb,
                                   int64_t apart, f32x16 e[MR][NV], f32x16 o[MR][NV])
{
    clear_half(rows, nv, e);
    _Alignas(64) float kept[MR][NR];
    half_block(rows, nv, even, a, b, ldb, apart, e);
    HN_UNROLL
    for (int i = 0; i < rows; i++) /* to memory: O needs the registers */
        HN_UNROLL
        for (int v = 0; v < nv; v++)
            f_store(&kept[i][16 * v], e[i][v]);
    HN_FORGET_REGISTERS;
    clear_half(rows, nv, o);
    half_block(rows, nv, odd, a + rows, b + ldb, ldb, apart, o);
    HN_FORGET_REGISTERS;
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < nv; v++)
            e[i][v] = f_load(&kept[i][16 * v]);
}

/* One block of `left` (at most 32) elements into sum[rows][NR]. */
HN_INLINE void add_block(const int rows, const int nv, int64_t left, const float *a, const float *b, int64_t ldb, int64_t apart,
                         float sum[MR][NR])
{
    const int even = (int)(left + 2 * HN_GEMM_HELD - 1) / (2 * HN_GEMM_HELD), odd = (int)left / (2 * HN_GEMM_HELD);
    f32x16 e[MR][NV], o[MR][NV];
    if (2 * rows * nv <= MR * NV)
        halves_at_once(rows, nv, even, odd, a, b, ldb, apart, e, o);
    else
        one_after_the_other(rows, nv, even, odd, a, b, ldb, apart, e, o);
    if (left < BLOCK) /* either is enough: E + O is no -0 then */
        fill_half(rows, nv, e);
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < nv; v++)
            f_store(&sum[i][16 * v], f_add(f_load(&sum[i][16 * v]), f_add(e[i][v], o[i][v])));
    HN_FORGET_REGISTERS;
}

HN_INLINE void block_tile_of(const int rows, const int nv, int64_t k, const float *a, const float *b, int64_t ldb, int64_t apart,
                             float *c, int64_t ldc, int cols, bool accumulate, hn_ahead *ahead)
{
    _Alignas(64) float sum[MR][NR];
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < nv; v++) {
            const int left = cols - 16 * v;
            f_store(&sum[i][16 * v], !accumulate  ? f_zero()
                                     : left >= 16 ? f_load(c + i * ldc + 16 * v)
                                                  : f_load_n(c + i * ldc + 16 * v, left < 0 ? 0 : left));
        }
    for (; k >= BLOCK; k -= BLOCK, a += BLOCK / HN_GEMM_HELD * rows, b += BLOCK / HN_GEMM_HELD * ldb) {
        hn_ask(ahead);
        add_block(rows, nv, BLOCK, a, b, ldb, apart, sum);
    }
    if (HN_GEMM_HELD == 1 && k > 0)
        add_block(rows, nv, k, a, b, ldb, apart, sum);
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < nv; v++) {
            const int left = cols - 16 * v;
            if (left >= 16)
                f_store(c + i * ldc + 16 * v, f_load(&sum[i][16 * v]));
            else if (left > 0)
                f_store_n(c + i * ldc + 16 * v, f_load(&sum[i][16 * v]), left);
        }
}

/* k elements of either panel, from a multiple of 32 on; panels of B are whole, whatever lies behind `cols`. */
static void block_tile(int64_t k, const float *a, hn_gemm_columns b, float *c, int64_t ldc, int rows, int cols, bool accumulate,
                       hn_ahead *ahead)
{
    switch (rows) {
#define ROWS(n)                                                                                \
    case n:                                                                                    \
        if (NV > 1 && cols <= 16) /* a low rank, as a rule */                                  \
            block_tile_of(n, 1, k, a, b.at, b.row, b.apart, c, ldc, cols, accumulate, ahead);  \
        else                                                                                   \
            block_tile_of(n, NV, k, a, b.at, b.row, b.apart, c, ldc, cols, accumulate, ahead); \
        return;
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
#if !defined(HN_LEVEL_ref)
        ROWS(5)
        ROWS(6)
#endif
#if defined(HN_LEVEL_avx512)
        ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14)
#endif
#undef ROWS
    }
}

#endif
