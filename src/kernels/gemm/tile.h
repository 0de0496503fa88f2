/* tile.h: the micro-kernel of one level. It keeps MR x NR accumulators in registers: NV registers of
 * columns, one broadcast of A at a time. HN_GEMM_STEP(a, b, acc) is what it does with a lane of each:
 * one fma of f32, unless whoever includes this says otherwise. */
#ifndef HN_KERNELS_GEMM_TILE_H
#define HN_KERNELS_GEMM_TILE_H

#include "kernels/gemm/dots.h"
#include "kernels/simd/ahead.h"
#include "kernels/simd/f32x16.h"

#ifndef HN_GEMM_STEP
#define HN_GEMM_STEP(a, b, acc) f_fma(a, b, acc)
#endif

#if defined(HN_LEVEL_avx512)
enum { MR = 14, NV = 2, KC = 256, NC = 512 };
#elif defined(HN_LEVEL_avx2) || defined(HN_LEVEL_neon)
enum { MR = 6, NV = 1, KC = 256, NC = 512 };
#else
enum { MR = 4, NV = 1, KC = 256, NC = 512 };
#endif
enum { NR = 16 * NV, MC = 8 * MR };

/* A step of twelve fmas has eight loads and four operations that only count, a sixth of all: where another thread has half of the
 * processor, that is what a tile waits for. */
#if defined(HN_LEVEL_avx512)
#define HN_TILE_STEPS
#else
#define HN_TILE_STEPS HN_UNROLL_FOUR
#endif

/* acc = a step for each row and each of `nv` registers of columns. */
HN_INLINE void step_of(const int rows, const int nv, const float *a, const float *b, int64_t apart, f32x16 acc[MR][NV])
{
    f32x16 bv[NV];
    HN_UNROLL
    for (int v = 0; v < nv; v++)
        bv[v] = f_load(b + apart * v);
    HN_UNROLL
    for (int i = 0; i < rows; i++) {
        const f32x16 av = f_set1(a[i]);
        HN_UNROLL
        for (int v = 0; v < nv; v++)
            acc[i][v] = HN_GEMM_STEP(av, bv[v], acc[i][v]);
    }
}

/* `rows` is a constant at every use, so that the accumulators are registers. */
HN_INLINE void tile_of(int rows, int64_t k, const float *a, const float *b, int64_t ldb, int64_t apart, float *c, int64_t ldc,
                       int cols, bool accumulate, hn_ahead *ahead)
{
    f32x16 acc[MR][NV];
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < NV; v++) {
            const int left = cols - 16 * v;
            acc[i][v] = !accumulate  ? f_zero()
                        : left >= 16 ? f_load(c + i * ldc + 16 * v)
                                     : f_load_n(c + i * ldc + 16 * v, left < 0 ? 0 : left);
        }
    if (cols == NR) {
        for (int64_t asked = 0; asked < k; asked += HN_ASK_EVERY) {
            hn_ask(ahead);
            const int n = k - asked < HN_ASK_EVERY ? (int)(k - asked) : HN_ASK_EVERY;
            HN_TILE_STEPS
            for (int p = 0; p < n; p++, a += rows, b += ldb)
                step_of(rows, NV, a, b, apart, acc);
        }
    } else if (NV > 1 && cols <= 16) { /* a low rank, as a rule: nothing for the other registers */
        for (int64_t p = 0; p < k; p++, a += rows, b += ldb) {
            const f32x16 bv = cols == 16 ? f_load(b) : f_load_n(b, cols);
            HN_UNROLL
            for (int i = 0; i < rows; i++)
                acc[i][0] = HN_GEMM_STEP(f_set1(a[i]), bv, acc[i][0]);
        }
    } else {
        for (int64_t p = 0; p < k; p++, a += rows, b += ldb) {
            f32x16 bv[NV];
            HN_UNROLL
            for (int v = 0; v < NV; v++) {
                const int left = cols - 16 * v;
                bv[v] = f_load_n(b + apart * v, left < 0 ? 0 : left > 16 ? 16 : left);
            }
            HN_UNROLL
            for (int i = 0; i < rows; i++) {
                const f32x16 av = f_set1(a[i]);
                HN_UNROLL
                for (int v = 0; v < NV; v++)
                    acc[i][v] = HN_GEMM_STEP(av, bv[v], acc[i][v]);
            }
        }
    }
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < NV; v++) {
            const int left = cols - 16 * v;
            if (left >= 16)
                f_store(c + i * ldc + 16 * v, acc[i][v]);
            else if (left > 0)
                f_store_n(c + i * ldc + 16 * v, acc[i][v], left);
        }
}

static __attribute__((unused)) void tile(int64_t k, const float *a, hn_gemm_columns b, float *c, int64_t ldc, int rows, int cols,
                                         bool accumulate, hn_ahead *ahead)
{
    switch (rows) {
#define ROWS(n)                                                                                \
    case n:                                                                                    \
        if (b.row == NR && b.apart == 16) /* a panel that was packed */                        \
            tile_of(n, k, a, b.at, NR, 16, c, ldc, cols, accumulate, ahead);                   \
        else                                                                                   \
            tile_of(n, k, a, b.at, b.row, b.apart, c, ldc, cols, accumulate, ahead);           \
        return;
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
#if !defined(HN_LEVEL_ref)
            ROWS(5) ROWS(6)
#endif
#if defined(HN_LEVEL_avx512)
                ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14)
#endif
#undef ROWS
    }
}

#endif
