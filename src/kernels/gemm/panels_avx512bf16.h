/* panels_avx512bf16.h: products in blocks by dots (dots.h) of weights as they lie in panels of sixteen rows, [k][16] of bf16.
 *
 *     64 bytes        k 0: 16 lanes | k 1: 16 lanes        a word of E takes k 0 and k 2 of its lane, one of O k 1 and k 3:
 *     and the next    k 2           | k 3                  one permutation of both each
 *
 * Packing does the same, and stores and loads the words. By one or two times seven rows, whose E and O of two panels are 28 registers,
 * that takes longer than to make them anew for each seven; by more it does not, for a permutation takes the place of a product. What
 * is known of exponents the first rows find. */
#ifndef HN_KERNELS_GEMM_PANELS_AVX512BF16_H
#define HN_KERNELS_GEMM_PANELS_AVX512BF16_H

#include "kernels/gemm/dots_avx512bf16.h"

enum { PANEL_ROWS = HN_GEMM_PANEL_ROWS, PANELS = 2 };
_Static_assert(16 * PANELS == NR, "as wide as a tile");

typedef f32x16 panel_half[PANEL_ROWS][PANELS];

/* half += a step for each row: words of four of k, in the order that is given. */
HN_INLINE void panel_step(const int rows, const uint16_t *w, int64_t stride, i32x16 order, const float *a, panel_half half)
{
    i32x16 words[PANELS];
    HN_UNROLL
    for (int v = 0; v < PANELS; v++)
        words[v] = _mm512_permutex2var_epi16(_mm512_loadu_si512(w + v * stride), order, _mm512_loadu_si512(w + v * stride + 32));
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < PANELS; v++)
            half[i][v] = HN_GEMM_STEP(f_set1(a[i]), i_float(words[v]), half[i][v]);
}

/* One block into sum[rows][NR]. */
HN_INLINE void panel_block(const int rows, const bool looks, const float *a, const uint16_t *w, int64_t stride,
                           float sum[PANEL_ROWS][NR], seen *s)
{
    /* A word's high half is the first step: of k 0 the lane, and k 2 begins at 32 of both; of k 1 and 3 sixteen more. */
    const i32x16 even = lane_times(0x10001, 32), odd = lane_times(0x10001, 0x100030);
    panel_half e, o;
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < PANELS; v++)
            e[i][v] = o[i][v] = f_zero();
    HN_KEEP_ROLLED
    for (int k = 0; k < BLOCK; k += 4, w += 64, a += 2 * rows) {
        for (int v = 0; looks && v < PANELS; v++) {
            see(s, _mm512_loadu_si512(w + v * stride));
            see(s, _mm512_loadu_si512(w + v * stride + 32));
        }
        panel_step(rows, w, stride, even, a, e);
        panel_step(rows, w, stride, odd, a + rows, o);
    }
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < PANELS; v++)
            f_store(&sum[i][16 * v], f_add(f_load(&sum[i][16 * v]), f_add(e[i][v], o[i][v])));
    HN_FORGET_REGISTERS;
}

HN_INLINE bool panels_of(const int rows, const bool looks, int64_t k, const float *a, const uint16_t *w, int64_t stride, float *c,
                         int64_t ldc, bool accumulate, int least, hn_ahead *ahead)
{
    seen s = nothing_seen();
    _Alignas(64) float sum[PANEL_ROWS][NR];
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < PANELS; v++)
            f_store(&sum[i][16 * v], accumulate ? f_load(c + i * ldc + 16 * v) : f_zero());
    for (; k > 0; k -= BLOCK, a += BLOCK / 2 * rows, w += 16 * BLOCK) {
        hn_ask(ahead);
        panel_block(rows, looks, a, w, stride, sum, &s);
    }
    if (looks && lowest_seen(&s) < least)
        return false;
    HN_UNROLL
    for (int i = 0; i < rows; i++)
        HN_UNROLL
        for (int v = 0; v < PANELS; v++)
            f_store(c + i * ldc + 16 * v, f_load(&sum[i][16 * v]));
    return true;
}

static bool block_panels(int64_t k, const float *a, const uint16_t *w, int64_t stride, float *c, int64_t ldc, int rows,
                         bool accumulate, int least, hn_ahead *ahead)
{
    switch (rows) {
#define ROWS(n)                                                                                \
    case n:                                                                                    \
        return least == HN_GEMM_LOOKED_AT ? panels_of(n, false, k, a, w, stride, c, ldc, accumulate, least, ahead) \
                                          : panels_of(n, true, k, a, w, stride, c, ldc, accumulate, least, ahead);
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
        ROWS(5)
        ROWS(6)
        ROWS(7)
#undef ROWS
    }
    return false;
}

#endif
